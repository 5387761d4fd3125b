"""Regions as pinned memory, so that copies to a GPU go at full speed and in the background.

A region is registered with CUDA once, and unregistered before it is unmapped. While it is
registered, a call that copies with non_blocking=True only begins the copy: the GPU reads the block
later. So there is a rule: **a block goes back to the daemon, which writes the next batch there,
only when the GPU has read all it was asked to.** Users need not keep anything for that:

- `Batch.to(device)` records an event after its copies, and the client holds the block's lease until
  the event has happened, even if the batch is dropped at once.
- A tensor that was handed out may have been copied by code outside of the client, on any stream.
  When the last such tensor is gone, the client waits for everything that the devices were asked to
  do until then.

One thread of the session does all of that waiting, and each call that may fail. It starts when the
first region is registered, so trainers without a GPU do not have it.

CUDA is initialised by the user's own first use of it, not here, unless `pin=True` asks for it: a
process that has initialised CUDA can no longer fork workers that use it.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from graphzero import _engine
from graphzero.client.memory import cuda
from graphzero.client.process.threads import keep_from_users

log = logging.getLogger("graphzero.client")

Job = Callable[[], None]


@dataclass(eq=False)
class PinnedRegion:
    """A region as CUDA sees it."""

    view: _engine.RegionView
    asked: bool = False  # whether it is to be registered
    answered: threading.Event = field(default_factory=threading.Event)  # registered, or refused
    registered: bool = False
    retired: bool = False  # no copies may begin any more
    copiers: int = 0  # threads that are beginning copies at this moment


@dataclass(eq=False)
class BlockUse:
    """What is remembered of a block until it goes back."""

    region: PinnedRegion
    handed_out: bool = True  # whether users got tensors of it, which they may have copied


@dataclass(frozen=True, eq=False)
class HeldBlock:
    """A block that a batch holds."""

    memory: PinnedMemory
    lease: _engine.BlockLease
    use: BlockUse

    def hand_out(self) -> None:
        self.use.handed_out = True

    def watch(self) -> None:
        """From now on hand_out() is called whenever a tensor of the block is handed out."""
        self.use.handed_out = False


class PinnedMemory:
    """The regions of one session, and the copies from them that are under way. Thread-safe."""

    def __init__(self, pin: bool | None, release: Callable[[list[int]], None]) -> None:
        """`release` sends ids of blocks to the daemon."""
        self._at_once = pin is True
        self._release = release
        self._owner = os.getpid()
        # Re-entrant: an object that the garbage collector finalizes meanwhile may send a request.
        self._changed = threading.Condition(threading.RLock())
        self._regions: dict[int, PinnedRegion] = {}
        self._blocks: dict[int, BlockUse] = {}
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False

    def add_region(self, region_id: int, view: _engine.RegionView) -> None:
        region = PinnedRegion(view)
        with self._changed:
            self._regions[region_id] = region
            if self._at_once or cuda.is_in_use():
                self._ask(region)

    def drop_region(self, region_id: int) -> None:
        with self._changed:
            region = self._regions.pop(region_id, None)
            if region is not None:
                self._retire(region)

    def hold(self, region_id: int, block_id: int, lease: _engine.BlockLease) -> HeldBlock:
        use = BlockUse(self._regions[region_id])
        self._blocks[block_id] = use
        return HeldBlock(self, lease, use)

    def free_now(self, block_ids: list[int]) -> list[int]:
        """Of blocks that no tensor views, returns those that may go back now. The thread releases
        the others later."""
        later = set()
        with self._changed:
            for block_id in block_ids:
                use = self._blocks.pop(block_id, None)
                if use is not None and use.handed_out and use.region.registered:
                    later.add(block_id)
            if later:
                self._put(lambda: self._finish_and_release(sorted(later)))
        return [found for found in block_ids if found not in later] if later else block_ids

    def end(self) -> None:
        """The session is over. Tensors stay valid, but their memory is pinned no longer."""
        with self._changed:
            if self._ended:
                return
            for region in self._regions.values():
                self._retire(region)
            self._regions.clear()
            self._ended = True
            self._jobs.put(None)

    def join(self, timeout: float) -> None:
        """Waits for what end() began."""
        if self._thread is not None:
            self._thread.join(timeout)

    @contextmanager
    def copying(self, block: HeldBlock, device: Any) -> Iterator[None]:
        """Around calls that copy tensors of a block to a CUDA device on its current stream."""
        region = block.use.region
        # In a forked child locks and threads are the parent's, and CUDA does not work.
        if os.getpid() != self._owner or not self._begin_copies(region):
            yield
            return
        try:
            yield
        finally:  # also when one of several copies failed: the others are under way
            self._hold_until_copied(block, device)

    def _begin_copies(self, region: PinnedRegion) -> bool:
        """Registers the region, if that was not tried before. Returns whether the client must wait
        for copies from it."""
        with self._changed:
            if not region.asked and not region.retired:
                self._ask(region)
        if region.asked:
            region.answered.wait()
        with self._changed:
            if not region.registered or region.retired:
                return False
            region.copiers += 1
            return True

    def _hold_until_copied(self, block: HeldBlock, device: Any) -> None:
        try:
            event = cuda.record_event(device)
        except RuntimeError:
            block.hand_out()  # then its release waits for everything
            raise
        else:
            lease = [block.lease]
            self._put(lambda: _wait_and_drop(event, lease))
        finally:
            with self._changed:
                block.use.region.copiers -= 1
                self._changed.notify_all()

    # The methods below run on the thread of _work(), except for _put(), _ask() and _retire().

    def _put(self, job: Job) -> None:
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="graphzero-pinned", daemon=True
                )
                self._thread.start()
        self._jobs.put(job)

    def _ask(self, region: PinnedRegion) -> None:
        region.asked = True
        try:
            self._put(lambda: self._register(region))
        except RuntimeError as error:  # the system refuses a thread
            region.answered.set()
            _warn_once(region.view.size, error)

    def _retire(self, region: PinnedRegion) -> None:
        region.retired = True
        if region.asked and self._thread is not None:
            self._put(lambda: self._unregister(region))

    def _work(self) -> None:
        keep_from_users()
        ends = False
        while not (ends and self._jobs.empty()):  # also waits for copies that began before the end
            job = self._jobs.get()
            if job is None:
                ends = True
            else:
                self._do(job)
            del job  # frees what it holds now, not when the next job comes

    def _do(self, job: Job) -> None:
        try:
            job()
        except Exception:  # a bug here must not keep later blocks from going back
            log.exception("a job of pinned memory failed")

    def _register(self, region: PinnedRegion) -> None:
        try:
            cuda.host_register(region.view.address, region.view.size)
            region.registered = True
        except (RuntimeError, AssertionError) as error:
            _warn_once(region.view.size, error)
        finally:
            region.answered.set()

    def _unregister(self, region: PinnedRegion) -> None:
        with self._changed:
            self._changed.wait_for(lambda: region.copiers == 0)
        if region.registered:
            with suppress(RuntimeError):  # the GPU failed, and reads no more
                cuda.finish_everything()
            with suppress(RuntimeError):
                cuda.host_unregister(region.view.address)

    def _finish_and_release(self, block_ids: list[int]) -> None:
        with suppress(RuntimeError):
            cuda.finish_everything()
        self._release(block_ids)


def _wait_and_drop(event: Any, lease: list[_engine.BlockLease]) -> None:
    """Waits for the event and drops the lease: the block then goes back in the usual way, unless
    tensors still view it."""
    with suppress(RuntimeError):
        event.synchronize()
    lease.clear()


_warned = False


def _warn_once(size: int, error: BaseException) -> None:
    global _warned
    if _warned:
        return
    _warned = True
    warnings.warn(
        f"cannot pin {size} bytes of shared memory: {error}; batches are copied to the GPU from "
        "ordinary memory, which is slower and waits for the copy. Raise the limit of locked memory "
        "(ulimit -l), or say connect(pin=False)",
        RuntimeWarning,
        stacklevel=2,
    )


@contextmanager
def copying(block: HeldBlock | None, device: Any) -> Iterator[None]:
    """Around calls that copy the tensors of a batch to a device; `block` is the batch's, if any."""
    if block is None:
        yield
    elif cuda.is_cuda(device):
        with block.memory.copying(block, device):
            yield
    else:
        block.hand_out()  # users get the same tensors if the device is the one where they are
        yield
