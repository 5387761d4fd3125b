"""Messages that cannot be decoded end their call with INVALID_ARGUMENT and one line in the log.

gRPC would end it with UNKNOWN and write a traceback for each. It deserializes before the handler
runs, or while the handler asks for the next message, so the deserializer hands over a marker, and
what stands in front of the handler refuses it. That holds for every service of the daemon.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc import StatusCode

log = logging.getLogger("graphzero.server")

_UNDECODABLE = object()


class MessageGuard(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> Any:
        handler = await continuation(details)
        if handler is None:  # no such method, which gRPC answers by itself
            return None
        if handler.request_streaming:
            kind = "stream_stream" if handler.response_streaming else "stream_unary"
            guarded = _guard_stream(getattr(handler, kind))
        else:
            kind = "unary_stream" if handler.response_streaming else "unary_unary"
            guarded = _guard_unary(getattr(handler, kind))
        make = getattr(grpc, f"{kind}_rpc_method_handler")
        return make(guarded, _decoder(handler.request_deserializer), handler.response_serializer)


def _decoder(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def decode(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return _UNDECODABLE

    return decode


class _Messages:
    """What a client sends, as long as it can be decoded."""

    def __init__(self, messages: AsyncIterator[Any], context: Any) -> None:
        self._next = aiter(messages).__anext__
        self._context = context

    def __aiter__(self) -> _Messages:
        return self

    async def __anext__(self) -> Any:
        message = await self._next()
        if message is _UNDECODABLE:
            await _refuse(self._context)
        return message


def _guard_stream(behaviour: Any) -> Any:
    if inspect.isasyncgenfunction(behaviour):

        async def generate(messages: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
            async for answer in behaviour(_Messages(messages, context), context):
                yield answer

        return generate

    async def run(messages: AsyncIterator[Any], context: Any) -> Any:
        return await behaviour(_Messages(messages, context), context)

    return run


def _guard_unary(behaviour: Any) -> Any:
    if inspect.isasyncgenfunction(behaviour):

        async def generate(message: Any, context: Any) -> AsyncIterator[Any]:
            if message is _UNDECODABLE:
                await _refuse(context)
            async for answer in behaviour(message, context):
                yield answer

        return generate

    async def run(message: Any, context: Any) -> Any:
        if message is _UNDECODABLE:
            await _refuse(context)
        return await behaviour(message, context)

    return run


async def _refuse(context: Any) -> None:
    log.warning("refused a message of %s that cannot be decoded", context.peer())
    await context.abort(
        StatusCode.INVALID_ARGUMENT,
        "a message cannot be decoded: it is none of graphzero.v1, or was damaged on its way",
    )
