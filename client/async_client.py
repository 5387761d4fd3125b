"""`AsyncClient`: batches from a daemon, awaited on an event loop. `aconnect` makes one."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.client_calls import ClientCalls
from graphzero.client.connect import ConnectOptions, open_client
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.requests.request import Call, RequestFuture
from graphzero.client.signatures import with_arguments_of
from graphzero.embedded.results import Walks

T = TypeVar("T")


class AsyncClient(ClientCalls):
    """A Client for asyncio, made by aconnect(): the same methods with the same arguments, awaited
    but for info(), which asks the daemon nothing.

        async with gz.aconnect() as client:
            batches = await asyncio.gather(*(client.sample([n], [10, 5]) for n in nodes))

    It is to Client what httpx.AsyncClient is to httpx.Client: a class of its own with equal names,
    because one class in which every method has a second name for the other kind of program is
    harder to read, and easier to use wrongly, than two.

    Any number of requests may be under way on one event loop. They share one session and need no
    threads; the daemon answers them in the order in which it has finished them. Errors, time limits
    and the life of results are those of Client: a block of shared memory is free when the last
    tensor over it dies, and `window` (see connect()) says how many of the largest batches may be
    held at a time before others wait for memory.

    Cancelling the task that awaits a call gives the request up: the daemon stops its work on it and
    takes its memory back.

    It belongs to no event loop: it may be used on several, one after the other or at the same time
    in several threads. Loaders are Client's, since they prefetch by themselves.
    """

    def __init__(self, options: ConnectOptions) -> None:
        super().__init__(options)
        self._connection = self._pool.direct()

    @with_arguments_of(ClientCalls._sample_request)
    def sample(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Batch | TypedBatch]:
        """As Client.sample()."""
        return self._run(self._sample(*args, **kwargs))

    @with_arguments_of(ClientCalls._sample_links)
    def sample_links(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Batch | TypedBatch]:
        """As Client.sample_links()."""
        return self._run(self._sample_links(*args, **kwargs))

    @with_arguments_of(ClientCalls._random_walk)
    def random_walk(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Walks]:
        """As Client.random_walk()."""
        return self._run(self._random_walk(*args, **kwargs))

    @with_arguments_of(ClientCalls._gather)
    def gather(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """As Client.gather()."""
        return self._run(self._gather(*args, **kwargs))

    @with_arguments_of(ClientCalls._original_ids)
    def original_ids(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """As Client.original_ids()."""
        return self._run(self._original_ids(*args, **kwargs))

    @with_arguments_of(ClientCalls._categories)
    def categories(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, list[Any]]:
        """As Client.categories()."""
        return self._run(self._categories(*args, **kwargs))

    @with_arguments_of(ClientCalls._find_nodes)
    def find_nodes(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """As Client.find_nodes()."""
        return self._run(self._find_nodes(*args, **kwargs))

    async def datasets(self) -> list[DatasetInfo]:
        """As Client.datasets()."""
        return await _on_a_thread(self._datasets)

    async def column(self, name: str) -> Any:
        """As Client.column()."""
        found = await _on_a_thread(partial(self._mapped_column, name))
        return await self._run(self._dealt_column(name)) if found is None else found

    async def aclose(self) -> None:
        """Ends the session. Tensors in hand stay valid; calls under way raise RequestCancelled.

        Harmless when repeated.
        """
        await _on_a_thread(self._close)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _run(self, call: Call[T]) -> T:
        answer: Any = None
        while True:
            try:
                request = call.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result
            answer = await self._answer(self._connection.submit_soon(request))

    async def _answer(self, future: RequestFuture[T]) -> T:
        """The result of a request, or its exception.

        The thread that reads the answer wakes the loop by itself. asyncio.wrap_future() would go
        through the thread of callbacks (process/threads.py), one more to wake for every answer.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            future.when_done(partial(_wake_referent, weakref.ref(waiter)))
            with future.waits.waiting():
                await _until_done(future, waiter)
            return future.result()
        finally:
            future.cancel()  # does nothing if the request is done
            del future  # or an exception of it would be in a cycle of references


async def _until_done(future: RequestFuture[Any], waiter: asyncio.Future[None]) -> None:
    patience = future.patience()
    while not future.done():
        # The loop's clock runs on while the process is stopped, the deadline's does not. The loop's
        # timer also keeps the waiting task alive, so that nothing else has to: the waker has only a
        # weak reference, since its thread must not destroy a task.
        await asyncio.wait([waiter], timeout=patience.remaining())
        if not future.done() and not patience.remaining():
            raise future.not_answered()


class Connecting:
    """What aconnect() returns: `async with` it, or await it and aclose() the client yourself."""

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._client: AsyncClient | None = None

    def __await__(self) -> Generator[Any, None, AsyncClient]:
        return _on_a_thread(partial(open_client, AsyncClient, self._options)).__await__()

    async def __aenter__(self) -> AsyncClient:
        self._client = await self
        return self._client

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._client is not None
        await self._client.aclose()


@with_arguments_of(ConnectOptions)
def aconnect(*args: Any, **kwargs: Any) -> Connecting:
    """As connect(), for programs with an event loop:

        async with gz.aconnect() as client: ...

    or `client = await gz.aconnect()`, and `await client.aclose()` at the end.
    """
    return Connecting(ConnectOptions(*args, **kwargs))


async def _on_a_thread(work: Callable[[], T]) -> T:
    """Runs `work`, which may take long, and returns its result.

    It runs on a thread of its own, not on the loop's executor, because asyncio.run() would wait for
    the executor at its end even if nobody awaits the work any more.
    """
    future: Future[T] = Future()
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    threading.Thread(
        target=_work_for, args=(work, future, waiter), name="graphzero-work", daemon=True
    ).start()
    await waiter
    try:
        return future.result()
    finally:
        del future  # or an exception of it would be in a cycle of references


def _work_for(work: Callable[[], T], future: Future[T], waiter: asyncio.Future[None]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
    finally:
        del future  # as above: the traceback has this frame too
    _wake(waiter)


def _wake(waiter: asyncio.Future[None]) -> None:
    """Ends the waiting, from any thread."""
    with suppress(RuntimeError):  # the loop was closed: nobody waits there any more
        waiter.get_loop().call_soon_threadsafe(_end, waiter)


def _wake_referent(reference: weakref.ref[asyncio.Future[None]]) -> None:
    waiter = reference()
    if waiter is not None:
        _wake(waiter)


def _end(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
