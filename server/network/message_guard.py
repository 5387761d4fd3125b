"""Messages that cannot be decoded end their call with INVALID_ARGUMENT and one line in the log.

Without the guard gRPC would end the call with UNKNOWN and write a traceback. gRPC deserializes
before the handler runs, or while the handler asks for the next message. So the deserializer returns
a marker, and a wrapper around the handler refuses it. The guard holds for every service of the
daemon.

A stream whose messages take long to decode has to pause, see loop_time.py.

The guard also keeps gRPC from holding on to messages, which may take 32 MiB when they are decoded.
gRPC's generator keeps the last message until the next one comes, so gRPC gets messages in
envelopes, which are emptied here. gRPC also keeps the error that aborts a call, and the error's
frames, in a reference cycle until the garbage collector runs, so errors leave here without frames.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from graphzero.server.network.loop_time import LoopTime
from grpc import StatusCode

log = logging.getLogger("graphzero.server")

_UNDECODABLE = object()


class _Envelope:
    """A message that is on its way through gRPC."""

    def __init__(self, message: Any) -> None:
        self._message = message

    def take(self) -> Any:
        """Empties the envelope. To be called once."""
        message, self._message = self._message, None
        return message


class MessageGuard(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    def __init__(self) -> None:
        self._streams: set[_Messages] = set()  # of all calls under way

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> Any:
        handler = await continuation(details)
        if handler is None:  # no such method, which gRPC answers by itself
            return None
        time_spent = LoopTime()  # of this call only: each call gets a handler of its own
        if handler.request_streaming:
            kind = "stream_stream" if handler.response_streaming else "stream_unary"
            guarded = _guard_stream(getattr(handler, kind), time_spent, self._streams)
        else:
            kind = "unary_stream" if handler.response_streaming else "unary_unary"
            guarded = _guard_unary(getattr(handler, kind))
        make = getattr(grpc, f"{kind}_rpc_method_handler")
        decode = _decoder(handler.request_deserializer, time_spent)
        return make(guarded, decode, _encoder(handler.response_serializer))


def _decoder(deserialize: Callable[[bytes], Any], time_spent: LoopTime) -> Callable[[bytes], Any]:
    def decode(data: bytes) -> Any:
        try:
            with time_spent:
                return _Envelope(deserialize(data))
        except DecodeError:
            return _Envelope(_UNDECODABLE)

    return decode


def _encoder(serialize: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Lets handlers write answers that are serialized already."""
    return lambda answer: answer if isinstance(answer, bytes) else serialize(answer)


class _Messages:
    """The messages of a client's stream. Refuses the first that cannot be decoded."""

    def __init__(
        self,
        messages: AsyncIterator[Any],
        context: Any,
        time_spent: LoopTime,
        streams: set[_Messages],
    ) -> None:
        self._messages = aiter(messages)
        self._context = context
        self._time_spent = time_spent
        self._streams = streams

    def __enter__(self) -> _Messages:
        self._streams.add(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._streams.discard(self)

    def __aiter__(self) -> _Messages:
        return self

    async def __anext__(self) -> Any:
        await self._time_spent.pay(len(self._streams))
        message = (await anext(self._messages)).take()
        if message is _UNDECODABLE:
            await _refuse(self._context)
        return message


def _guard_stream(behaviour: Any, time_spent: LoopTime, streams: set[_Messages]) -> Any:
    if inspect.isasyncgenfunction(behaviour):

        async def generate(messages: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
            with _Messages(messages, context, time_spent, streams) as guarded:
                try:
                    async for answer in behaviour(guarded, context):
                        yield answer
                except grpc.aio.AbortError as error:
                    raise _without_frames(error) from None

        return generate

    async def run(messages: AsyncIterator[Any], context: Any) -> Any:
        with _Messages(messages, context, time_spent, streams) as guarded:
            try:
                return await behaviour(guarded, context)
            except grpc.aio.AbortError as error:
                raise _without_frames(error) from None

    return run


def _guard_unary(behaviour: Any) -> Any:
    if inspect.isasyncgenfunction(behaviour):

        async def generate(envelope: _Envelope, context: Any) -> AsyncIterator[Any]:
            message = envelope.take()
            if message is _UNDECODABLE:
                await _refuse(context)
            answers = behaviour(message, context)
            del message
            try:
                async for answer in answers:
                    yield answer
            except grpc.aio.AbortError as error:
                raise _without_frames(error) from None

        return generate

    async def run(envelope: _Envelope, context: Any) -> Any:
        message = envelope.take()
        if message is _UNDECODABLE:
            await _refuse(context)
        answer = behaviour(message, context)
        del message
        try:
            return await answer
        except grpc.aio.AbortError as error:
            raise _without_frames(error) from None

    return run


def _without_frames(error: Any) -> Any:
    error.__context__ = None
    return error.with_traceback(None)


async def _refuse(context: Any) -> None:
    log.warning("refused a message of %s that cannot be decoded", context.peer())
    await context.abort(
        StatusCode.INVALID_ARGUMENT,
        "a message cannot be decoded: it is none of graphzero.v1, or was damaged on its way",
    )
