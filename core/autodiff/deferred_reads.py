"""Reads of cells that wait, in differentiated code: D4, checked where it is known what is active.

An adjoint goes back along the handle: that of what a get reads reaches the puts before it, and no others. So a get that
waits for a put behind it would be a constant. That it waits is known of cells that are empty there, and of a cell that
a put fills which follows in the same region, or around it; elsewhere only a run knows the index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple, TypeAlias

from ..errors import Invalid
from ..program.program import Node, Operand, Var
from ..types import HandleType
from .activity import Activity, Area, is_float, operands_of
from .cells import having

Handle: TypeAlias = tuple[int, str]
"""A name in an area."""
Steps: TypeAlias = defaultdict[Handle, list[Handle]]


class _Use(NamedTuple):
    """A node that reads cells, or puts to them."""

    area: Area
    node: Node
    handle: Handle


def waiting(activity: Activity, putting: Set[str]) -> Iterator[Invalid]:
    """What breaks D4: reads that an adjoint comes to, of what is put later and depends on what is differentiated by.
    `putting` are the functions that put to cells."""
    reading = having(activity.program, "get", "collect")
    if not (putting and reading):
        return
    threads = _Threads(activity, putting, reading)
    for read in threads.reads:
        if any(result.name in read.area.useful for result in read.node.results):
            for later in threads.later(read):
                sure = [put for put in later if _is_same_cell(read, put)]
                for put in filter(_is_varied, sure or later):
                    yield _problem(read.node, put.node)


class _Threads:
    """Where handles of cells of floats go, and what is done with them."""

    def __init__(self, activity: Activity, putting: Set[str], reading: Set[str]) -> None:
        self.activity = activity
        self.putting, self.reading = putting, reading
        self.reads: list[_Use] = []
        self.puts: defaultdict[Handle, list[_Use]] = defaultdict(list)
        """By the handle that they are given."""
        self.making = having(activity.program, "cells")
        self.made: dict[Handle, None] = {}
        """The handles of new cells; of what a function makes, those of each call, too."""
        self.after: Steps = defaultdict(list)
        """By a handle, those that it becomes in the same call of a function."""
        self.down: Steps = defaultdict(list)
        """Those that it becomes in functions that are called."""
        self.up: Steps = defaultdict(list)
        """Those that it becomes where its function was called."""
        self.calls: dict[int, tuple[Area, list[_Use]]] = {}
        """The calls of each function, by the identity of its area."""
        self.around: dict[Handle, Handle] = {}
        """By the handle that a branch or a loop begins with, the one that it was given."""
        self.put_to = set[Handle]()
        """Those that a put gives, or a call that puts."""
        for area in activity.areas.values():
            self.area(area)
        while self.come_back():
            pass
        self.empty: defaultdict[Handle, list[Set[Handle]]] = defaultdict(list)
        """By a handle, all handles of each array that it may be of to which nothing was put by then."""
        for made in self.made:
            thread, filled = self.thread(made)
            for handle in _reached([made], self.after, self.down):  # where it is called, it is another one in each call
                if handle not in filled:
                    self.empty[handle].append(thread)

    def area(self, area: Area) -> None:
        for node in (each for phase in area.phases for each in phase.nodes):
            made = id(area), node.name
            use = _Use(area, node, (id(area), str(next(iter(node.inputs), ""))))
            if node.op == "cells" and is_float(node.results[0]):
                self.made[made] = None
            elif node.op in ("get", "collect"):
                self.reads.append(use)
            elif node.op == "put":
                self.puts[use.handle].append(use)
                self.after[use.handle].append(made)
                self.put_to.add(made)
            elif node.op in ("cond", "while_loop"):
                for inner in area.inner[node.name]:
                    self.through(use, inner)
                    self.area(inner)
            elif node.op == "call":
                callee = node.attribute("function")
                if callee in self.activity.areas:
                    self.through(use, self.activity.areas[callee])
                else:
                    self.past(use, callee)

    def through(self, use: _Use, inner: Area) -> None:
        """What goes into a region, and out of it."""
        parameters, results = inner.phases[0].parameters, inner.phases[0].results
        is_call = use.node.op == "call"
        self.go(self.down if is_call else self.after, use.area, operands_of(use.node), inner, parameters)
        self.go(self.up if is_call else self.after, inner, results, use.area, use.node.results)
        if is_call:
            self.calls.setdefault(id(inner), (inner, []))[1].append(use)
        else:
            pairs = zip(operands_of(use.node), parameters, strict=True)
            self.around |= {(id(inner), each.name): (id(use.area), str(name)) for name, each in pairs}
        if use.node.op == "while_loop":
            self.go(self.after, inner, results, inner, parameters)
            self.go(self.after, use.area, use.node.inputs, use.area, use.node.results)

    def past(self, use: _Use, callee: str) -> None:
        """What goes through a function that is not differentiated, and may come out anywhere."""
        made = [(id(use.area), each.name) for each in use.node.results if _is_cells(each)]
        parameters = self.activity.program[callee].body.parameters
        for name, variable in zip(use.node.inputs, parameters, strict=True):
            if _is_cells(variable):
                handle = id(use.area), str(name)
                self.after[handle] += made
                if callee in self.putting:
                    self.puts[handle].append(use._replace(handle=handle))
                elif callee in self.reading:
                    self.reads.append(use._replace(handle=handle))
        if callee in self.putting:
            self.put_to.update(made)
        elif callee in self.making and not any(map(_is_cells, parameters)):
            self.made |= dict.fromkeys(made)

    def go(self, steps: Steps, area: Area, names: tuple[Operand, ...], to: Area, variables: tuple[Var, ...]) -> None:
        for name, variable in zip(names, variables, strict=True):
            if isinstance(name, str) and _is_cells(variable):
                steps[id(area), name].append((id(to), variable.name))

    def come_back(self) -> bool:
        """Note which results of calls are handles that they were given, or of new cells, and which of them were put to:
        of each call by itself, since what goes up from a function goes to all that call it. Whether that is more than
        was known."""
        known, new = self.extent(), _reached(self.made, self.after)
        for inner, uses in self.calls.values():
            begun = inner.phases[0]
            ends = [(id(inner), name) for name in begun.results]
            given = [(at, each.name) for at, each in enumerate(begun.parameters) if _is_cells(each)]
            there = {at: _reached([(id(inner), name)], self.after) for at, name in given}
            for at, reached in (*there.items(), (None, new)):
                put_to = _reached((each for each in reached if each in self.put_to), self.after)
                for use, number in ((use, number) for use in uses for number, end in enumerate(ends) if end in reached):
                    result = id(use.area), use.node.results[number].name
                    if at is None:
                        self.made[result] = None
                    elif result not in self.after[id(use.area), str(operands_of(use.node)[at])]:
                        self.after[id(use.area), str(operands_of(use.node)[at])].append(result)
                    if ends[number] in put_to:
                        self.put_to.add(result)
        return known != self.extent()

    def extent(self) -> tuple[int, int, int]:
        """How much is known."""
        return len(self.made), len(self.put_to), sum(map(len, self.after.values()))

    def thread(self, made: Handle) -> tuple[Set[Handle], Set[Handle]]:
        """The handles of a new array, and those of them to which something may have been put. An array goes up to where
        its function was called, and down into what is called there, from where it comes back to that call alone."""
        above = _reached([made], self.after, self.up)
        thread = _reached(above, self.after, self.down)
        filled = _reached((each for each in above if each in self.put_to), self.after, self.up)
        below = (each for each in thread if each in self.put_to or each in filled)
        return thread, _reached(below, self.after, self.down)

    def later(self, read: _Use) -> Iterator[list[_Use]]:
        """What is put later that a read may wait for: of each array that is empty there all of it; and of any what
        surely comes later, and to this cell."""
        for thread in self.empty[read.handle]:
            yield [put for handle in thread for put in self.puts[handle] if _may_be_same_cell(read, put)]
        yield self.following(read)

    def following(self, read: _Use) -> list[_Use]:
        """What is put behind a read, in its region or around it, to its cell."""
        handles, found = [read.handle], list[_Use]()
        for handle in handles:  # grows while it is walked
            puts = [put for put in self.puts[handle] if put.node.op == "put"]
            found += [put for put in puts if read.node.op == "collect" or _is_same_cell(read, put)]
            handles += [(id(put.area), put.node.name) for put in puts]
            handles += [self.around[handle]] if handle in self.around else []
        return found


def _reached(handles: Iterable[Handle], *steps: Steps) -> Set[Handle]:
    """These, and those that they become by these steps, in an order that is always the same."""
    found = dict.fromkeys(handles)
    due = list(found)
    for handle in due:  # grows while it is walked
        more = [to for each in steps for to in each[handle] if to not in found]
        found.update(dict.fromkeys(more))
        due += more
    return found.keys()


def _is_cells(variable: Var) -> bool:
    return isinstance(variable.type.dtype, HandleType) and is_float(variable)


def _is_varied(put: _Use) -> bool:
    """Whether what is put depends on what is differentiated by."""
    given = put.node.inputs[2:] if put.node.op == "put" else put.node.inputs
    return any(isinstance(each, str) and each in put.area.varied for each in given)


def _may_be_same_cell(read: _Use, put: _Use) -> bool:
    if read.node.op != "get" or put.node.op != "put":
        return True
    one, other = read.node.inputs[1], put.node.inputs[1]
    return isinstance(one, str) or isinstance(other, str) or one.value == other.value


def _is_same_cell(read: _Use, put: _Use) -> bool:
    """Whether a read and a put are surely of one cell."""
    if read.node.op != "get" or put.node.op != "put":
        return False
    one, other = read.node.inputs[1], put.node.inputs[1]
    if isinstance(one, str) or isinstance(other, str):
        return one == other and read.area is put.area
    return bool(one.value == other.value)


def _problem(read: Node, put: Node) -> Invalid:
    return Invalid(
        f"cells that are differentiated are read behind their puts: {read.name} waits for what {put.name} puts later",
        rule="D4",
        where=read.location or read.name,
        hint="read by the handle that the put gives: a = tl.put(a, i, x), and then tl.get(a, i)",
    )
