"""Answers of the daemon as JSON documents."""

from typing import Any


def message_fields(message: Any) -> dict[str, Any]:
    """Every field of a protobuf message, zeros included. Numbers stay numbers, whereas protobuf's
    own JSON writes those of 64 bits as texts."""

    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.hex()
        return message_fields(value) if hasattr(value, "DESCRIPTOR") else value

    document = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        repeated = hasattr(value, "append") or hasattr(value, "add")
        document[field.name] = [plain(one) for one in value] if repeated else plain(value)
    return document
