"""One session: a stream, the regions its results lie in, and the blocks on their way back.

Responses are turned into arrays, and reported to whoever opened the session, on the thread that the
stream calls back on; a thread of the session only asks the stream for more. Another one waits for
blocks that no tensor views any more and sends their ids within milliseconds, unless a request takes
them along before that. If they only rode on requests, a loader that waits for memory and a daemon
that waits for releases could wait for each other.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero._dtypes import DataType
from graphzero.client.errors import (
    ClientError,
    RequestCancelled,
    ServerError,
    ServerUnavailable,
    SharedMemoryUnavailable,
    exception_for,
)
from graphzero.client.stream import Stream
from graphzero.proto.graphzero_pb2 import (
    TRANSPORT_INLINE,
    TRANSPORT_SHARED_MEMORY,
    Cancel,
    Hello,
    RegionMapped,
    RegionOffer,
    Release,
    Result,
    SessionRequest,
    SessionResponse,
    TensorRef,
    Welcome,
)

PROTOCOL_VERSION = 1

_DTYPES = {dtype.label: dtype for dtype in DataType}

# How long the thread that sends releases sleeps when there are none; a release wakes it at once.
_IDLE_S = 1.0
# How long a release waits for a request that takes it along.
_LINGER_S = 0.004


@dataclass(frozen=True)
class SessionOptions:
    """What a session asks for in its Hello."""

    dataset: str
    inline: bool
    window: int

    def hello(self) -> Hello:
        return Hello(
            protocol_version=PROTOCOL_VERSION,
            dataset=self.dataset,
            transport=TRANSPORT_INLINE if self.inline else TRANSPORT_SHARED_MEMORY,
            window=self.window,
            client_name=f"{Path(sys.argv[0]).name or 'python'}[{os.getpid()}]",
        )


@dataclass(frozen=True)
class Tensor:
    """An array of a result. bfloat16, which NumPy does not have, is held as int16."""

    array: npt.NDArray[Any]
    dtype: DataType


@dataclass(frozen=True)
class Reply:
    """A result whose tensors can be read. They keep their block until the last one dies."""

    tensors: dict[str, Tensor]
    result: Result


OnReply = Callable[[int, "Reply | ClientError"], None]
OnEnd = Callable[["Session", ClientError], None]


class Session:
    """An open session. Thread-safe. on_reply is called on the stream's thread
    and must not wait for another answer; on_end is called on a thread of the session."""

    def __init__(
        self,
        stream: Stream,
        options: SessionOptions,
        *,
        timeout: float,
        on_reply: OnReply,
        on_end: OnEnd,
    ) -> None:
        self._stream = stream
        self._on_reply = on_reply
        self._on_end = on_end
        self._releases = _engine.ReleaseQueue()
        self._regions: dict[int, _engine.RegionView] = {}
        self._chunks: dict[int, bytearray] = {}
        self._answered = threading.Event()
        self._welcome: Welcome | None = None
        self.end: ClientError | None = None
        """Why the session is over, once it is."""
        self._closing = False
        self._sending = threading.Lock()
        self._releaser = threading.Thread(
            target=self._send_releases, name="graphzero-release", daemon=True
        )
        stream.send(SessionRequest(hello=options.hello()))
        threading.Thread(target=self._receive, name="graphzero-receive", daemon=True).start()
        self._await_welcome(timeout)
        self._releaser.start()
        _sessions.add(self)

    @property
    def welcome(self) -> Welcome:
        assert self._welcome is not None  # the constructor waited for it
        return self._welcome

    def send(self, messages: Sequence[SessionRequest]) -> None:
        """Sends a request's messages, and with them the releases there are."""
        block_ids = self._releases.take()
        with self._sending:
            for message in messages:
                if block_ids:
                    # A copy: a retry sends the messages again, and releases belong to this session.
                    message, block_ids = _with_releases(message, block_ids), []
                self._stream.send(message)

    def cancel(self, request_id: int) -> None:
        self._stream.send(SessionRequest(request_id=request_id, cancel=Cancel()))

    def close(self) -> None:
        """Ends the session; the daemon frees what it holds. Tensors in hand stay valid."""
        self._closing = True
        self._releases.close()
        self._stream.close()
        # A client that nobody closed is collected on any thread, also on this one.
        if self._releaser.is_alive() and self._releaser is not threading.current_thread():
            self._releaser.join()

    def _await_welcome(self, timeout: float) -> None:
        answered = self._answered.wait(timeout)
        if self._welcome is None:
            self.close()
            raise (
                self.end
                if answered and self.end
                else ServerUnavailable(f"the daemon did not answer within {timeout:g} s")
            )

    def _receive(self) -> None:
        end: ClientError = ServerUnavailable("the daemon ended the session")
        try:
            self._stream.receive(self._handle)
        except ClientError as error:
            end = error
        except Exception as error:  # a bug here must not leave anyone waiting
            end = ServerError(f"cannot read the daemon's messages: {error!r}")
        self._finish(end)

    def _finish(self, end: ClientError) -> None:
        if self._closing:
            end = RequestCancelled("the client was closed")
        elif self._welcome is not None and isinstance(end, (RequestCancelled, ServerError)):
            # However gRPC words it: the daemon or the connection to it went away.
            end = ServerUnavailable(f"the session ended: {end}")
        self.end = end
        self._closing = True
        self._releases.close()
        self._stream.close()
        # From now on only tensors keep regions mapped, and the daemon counts them for so long.
        self._regions.clear()
        self._answered.set()
        if self._welcome is not None:
            self._on_end(self, end)

    def _handle(self, response: SessionResponse) -> None:
        kind = response.WhichOneof("body")
        request_id = response.request_id
        if kind == "result":
            self._on_reply(request_id, self._readable(request_id, response.result))
        elif kind == "error":
            self._chunks.pop(request_id, None)
            error = response.error
            self._on_reply(request_id, exception_for(error.code, error.message))
        elif kind == "chunk":
            self._chunks.setdefault(request_id, bytearray()).extend(response.chunk.data)
        elif kind == "region_offer":
            self._map_region(response.region_offer)
        elif kind == "region_drop":
            self._regions.pop(response.region_drop.region_id, None)
        elif kind == "welcome":
            self._welcome = response.welcome
            self._answered.set()

    def _map_region(self, offer: RegionOffer) -> None:
        try:
            self._regions[offer.region_id] = _engine.RegionView.open(offer.name, offer.byte_size)
        except OSError as error:
            self._confirm_region(offer.region_id, str(error))
            raise SharedMemoryUnavailable(
                f"cannot open the daemon's shared memory {offer.name}: {error.strerror}; "
                "trainer and daemon must see the same /dev/shm (containers: share it, or use one "
                'IPC namespace); otherwise connect with transport="inline"'
            ) from error
        self._confirm_region(offer.region_id, "")

    def _confirm_region(self, region_id: int, error: str) -> None:
        mapped = RegionMapped(region_id=region_id, error=error)
        self._stream.send(SessionRequest(region_mapped=mapped))

    def _readable(self, request_id: int, result: Result) -> Reply | ClientError:
        inline = self._chunks.pop(request_id, bytearray())
        try:
            if result.HasField("block"):
                tensors = self._tensors_in_block(result)
            else:
                tensors = {ref.name: _tensor_in_bytes(inline, ref) for ref in result.tensors}
        except (ValueError, TypeError, IndexError, KeyError) as error:
            return ServerError(f"the daemon described a result that cannot be read: {error}")
        return Reply(tensors, result)

    def _tensors_in_block(self, result: Result) -> dict[str, Tensor]:
        block = result.block
        lease = _engine.BlockLease.make(
            self._regions[block.region_id],
            self._releases,
            block_id=block.block_id,
            offset=block.offset,
            size=block.byte_size,
        )
        return {
            ref.name: Tensor(
                lease.array(ref.offset, list(ref.shape), ref.dtype), _DTYPES[ref.dtype]
            )
            for ref in result.tensors
        }

    def _send_releases(self) -> None:
        while not self._closing:
            block_ids = self._releases.take_left_over(_IDLE_S, _LINGER_S)
            if block_ids:
                self._stream.send(SessionRequest(release=Release(block_ids=block_ids)))


def _with_releases(message: SessionRequest, block_ids: list[int]) -> SessionRequest:
    copy = SessionRequest(released_block_ids=block_ids)
    copy.MergeFrom(message)
    return copy


def _tensor_in_bytes(data: bytearray, ref: TensorRef) -> Tensor:
    dtype = _DTYPES[ref.dtype]
    shape = tuple(ref.shape)
    if 0 in shape:
        return Tensor(np.empty(shape, dtype.storage), dtype)
    return Tensor(np.ndarray(shape, dtype.storage, buffer=data, offset=ref.offset), dtype)


# Open ones, and ended ones whose threads may still run.
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def _close_sessions() -> None:
    # A thread that comes back from native code while the interpreter ends would end the process
    # with it, so none may be there.
    for session in list(_sessions):
        session.close()


atexit.register(_close_sessions)
os.register_at_fork(after_in_child=_sessions.clear)
