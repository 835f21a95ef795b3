"""Who does what generated code leaves to Python, and waits for.

Effects are performed by the thread that waits for the run, which is the one that the program was called on: one after
another, in program order, and what they call finds everything that belongs to a thread as the reference leaves it. An
op that has no machine code belongs to no thread: the kernel of its row is called on the thread of the run.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol
from weakref import WeakMethod

from ....core.ops.effect import formatted
from ....core.ops.op import OPS, Kernel, kernel, trap_message
from ....core.program.program import Node
from ....core.types import Type
from ....core.value import Value
from ....core.world import Failed, World
from ..jit.state import DONE, FAILED, LEFT, UNFIT
from .call_buffer import Words
from .text import Trapping


class Thread(Protocol):
    """A thread at work."""

    def is_done(self, seconds: float) -> bool: ...


class Waiter:
    """Waits for a run that asks for nothing."""

    trap: str | None = None
    """Why the effect trapped that was asked for last."""
    raised: BaseException | None = None
    """What an op raised, which none may."""

    def end(self) -> None:
        """The run is over: nobody is to wait for it any longer."""

    def give_up(self) -> None:
        """Nothing that is asked for from now on is done."""

    def drop(self) -> None:
        """Let go of what was asked for and not done."""

    def is_over(self, thread: Thread, seconds: float) -> bool:
        """Do what is asked for, for so many seconds, or until the run has ended; whether it has."""
        return thread.is_done(seconds)


def _callable(weak: WeakMethod[Callable[[int], int]]) -> object:
    """What generated code calls, of a method that it does not keep alive: the two would keep each other, and all that a
    run has, until Python looks for cycles."""

    def ask(number: int) -> int:
        found = weak()
        return LEFT if found is None else found(number)

    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(ask)


class Performer(Waiter):
    """Performs what one run asks for."""

    def __init__(self, asking: Sequence[Trapping], words: Words, world: World) -> None:
        self.asking, self.words, self.world = asking, words, world
        self.asked = SimpleQueue[int | None]()
        self.answers = SimpleQueue[int]()
        self._kernels: dict[int, Kernel] = {}
        self._function = _callable(WeakMethod(self._ask))  # lives as long as this does
        words.perform_by(self._function)

    def _ask(self, number: int) -> int:
        node = self.asking[number].node
        if isinstance(node, Node) and node.op in OPS:
            return self._computed(number, node)
        self.asked.put(number)
        return self.answers.get()

    def _computed(self, number: int, node: Node) -> int:
        """Compute an op; what generated code is answered. Why it trapped, its row says again, and nothing else may
        raise: no exception passes through generated code."""
        types, result, row = self.asking[number].types, node.results[0].type, OPS[node.op]
        try:
            operands = tuple(self.words.lent(at, type_) for at, type_ in enumerate(types))
            if trap_message(row, operands, node.attributes) is not None:
                return FAILED
            if number not in self._kernels:
                self._kernels[number] = kernel(row, types, result, node.attributes)
            self.words.answer(self._kernels[number](*operands), result)
        except MemoryError:
            return UNFIT
        except BaseException as error:
            self.raised = error
            self.words.stop()  # there is no result to go on with
            return LEFT
        return DONE

    def end(self) -> None:
        self.asked.put(None)

    def give_up(self) -> None:
        self.answers.put(LEFT)

    def drop(self) -> None:
        while not self.asked.empty():
            number = self.asked.get()
            if number is not None:
                self._operands(self.asking[number].types)

    def is_over(self, thread: Thread, seconds: float) -> bool:
        ends = time.monotonic() + seconds
        while True:
            try:
                number = self.asked.get(timeout=max(0.0, ends - time.monotonic()))
            except Empty:
                return False
            if number is None:
                return True
            asking = self.asking[number]
            self.answers.put(self._performed(asking.node, self._operands(asking.types)))
            if time.monotonic() >= ends:
                return False

    def _operands(self, types: Sequence[Type]) -> tuple[Value, ...]:
        return tuple(self.words.operand(at, type_) for at, type_ in enumerate(types))

    def _performed(self, node: object, operands: tuple[Value, ...]) -> int:
        """Perform an effect; what generated code is answered. Raises what the world does."""
        assert isinstance(node, Node)
        if node.op == "print":
            self.world.print(formatted(node.attribute("text"), operands))
            return DONE
        try:
            value: Value = self.world.call(node.attribute("function"), operands, node.attribute("returns"))
        except Failed as failed:
            self.trap = str(failed)
            return FAILED
        self.words.answer(value, node.attribute("returns"))
        return DONE
