"""Who is called when memory comes free, in every order in which the news may arrive."""

from __future__ import annotations

from graphzero.server.memory.gate import MemoryGate


class Budget:
    def __init__(self) -> None:
        self.ready: list[int] = []

    def take_ready(self) -> list[int]:
        ready, self.ready = self.ready, []
        return ready


class Scene:
    def __init__(self) -> None:
        self.budget = Budget()
        self.gate = MemoryGate(self.budget)
        self.called: list[int] = []

    def wait(self, number: int) -> None:
        self.gate.wait(number, lambda: self.called.append(number))

    def name(self, *numbers: int) -> None:
        self.budget.ready += numbers
        self.gate.call_ready()


def test_only_those_who_are_named_are_called_and_once() -> None:
    scene = Scene()
    for number in (1, 2, 3):
        scene.wait(number)
    scene.name(2)
    assert scene.called == [2]
    scene.name()
    assert scene.called == [2]
    scene.name(1, 3)
    assert scene.called == [2, 1, 3]


def test_one_who_is_named_before_it_waits_is_called_at_once() -> None:
    scene = Scene()
    scene.name(1)
    assert scene.called == []
    scene.wait(1)
    assert scene.called == [1]
    scene.wait(1)
    assert scene.called == [1]  # the next time it is named


def test_one_who_left_is_called_when_it_waits_again() -> None:
    # Its request was answered, the next one asks: what it is named for meanwhile is for that one.
    scene = Scene()
    scene.wait(1)
    scene.gate.leave(1)
    scene.name(1)
    assert scene.called == []
    scene.wait(1)
    assert scene.called == [1]


def test_nothing_is_kept_of_a_session_that_has_ended() -> None:
    scene = Scene()
    scene.wait(1)
    scene.gate.forget(1)
    scene.name(2)
    scene.gate.forget(2)
    scene.wait(2)
    scene.wait(1)
    assert scene.called == []
