"""What all batches can do with the memory that their tensors lie in: move, copy and release it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from graphzero.base.lazy_torch import import_torch
from graphzero.client.memory.pinned import HeldBlock, copying
from graphzero.client.memory.tensors import (
    as_numpy,
    as_torch,
    clone,
    require_accelerator,
    to_device,
)

B = TypeVar("B", bound="BatchMemory")


class BatchMemory(ABC):
    """A batch of any kind. Each kind implements how its tensors are changed one by one (_map()) and
    dropped (release())."""

    _block: HeldBlock | None

    def numpy(self: B) -> B:
        """The same batch with NumPy arrays over the same memory."""
        self._hand_out()
        return self._map(as_numpy)

    def to(self: B, device: Any, non_blocking: bool = False) -> B:
        """The batch on a torch device. If it is there already, the tensors are the same.

        With non_blocking=True this returns while the copies to a GPU go on, on its current stream.
        This batch may be dropped at once: its block is kept until they are done (see
        connect(pin=)).
        """
        import_torch("a device needs torch")
        with copying(self._block, device):
            return self._map(lambda tensor: to_device(tensor, device, non_blocking))

    def pin_memory(self: B) -> B:
        """A copy in page-locked memory, from which copies to a GPU do not block.

        Raises RuntimeError where torch finds no GPU or other accelerator.
        """
        require_accelerator()
        self._hand_out()  # torch returns tensors that are already pinned as they are
        return self._map(lambda tensor: as_torch(tensor).pin_memory())

    def clone(self: B) -> B:
        """A copy in memory of its own, which costs the daemon nothing however long it is kept."""
        return self._map(clone)

    @abstractmethod
    def release(self) -> None:
        """Drops the batch's own references."""

    def __enter__(self: B) -> B:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    @abstractmethod
    def _map(self: B, change: Callable[[Any], Any]) -> B:
        """The same batch with every tensor changed."""

    def _hand_out(self) -> None:
        """Tells the block that users get its tensors, which they may copy anywhere unseen."""
        if self._block is not None:
            self._block.hand_out()
