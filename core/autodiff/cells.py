"""Cells in differentiated code: their gradient rules, and the two checks of D4, made before anything is differentiated.

`check_cell_threads`: each array of cells has one thread of handles.

`check_deferred_reads`: no read waits for a later put. An adjoint flows back along the thread of handles: the adjoint of
a get reaches the puts before it, and no others. A get that waits for a later put would therefore be a constant. The
check reports three cases: a get where the array is still empty; a get of a cell with a literal index in a function that
receives the array empty in some calls and filled in others; and a get whose cell is put later in the same region or one
around it. In other cases the index is known only at run time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

from ..errors import Invalid
from ..ops.op import OpBuilder
from ..program.program import FunctionDef, Node, Operand, Program, Region, Var, operand_names, used_names
from ..types import HandleType, Type
from .activity import ActivityAnalysis, RegionActivity, is_differentiable, region_operands

Contributions: TypeAlias = list[tuple[Operand, Operand]]
"""Pairs of an operand and a term to add to its adjoint."""


def _put_adjoints(builder: OpBuilder, adjoint: Operand, inputs: Sequence[Operand]) -> Contributions:
    """The adjoint of the value that was put is the adjoint of its cell. The array before the put keeps the same
    adjoint: no other put reads the adjoint of this cell."""
    handle, index, value = inputs
    return [(handle, adjoint), (value, builder("take", adjoint, index, axis=0))]


def _collect_adjoints(builder: OpBuilder, adjoint: Operand, inputs: Sequence[Operand]) -> Contributions:
    return [(inputs[0], adjoint)]


CELL_GRADIENTS: Mapping[str, Callable[[OpBuilder, Operand, Sequence[Operand]], Contributions]] = {
    "put": _put_adjoints,
    "collect": _collect_adjoints,
}
"""The gradient rules of cells. The adjoint of an array of cells is an array that flows back along the thread of
handles. A get adds to that array, so it needs no rule here."""


def check_cell_threads(function: FunctionDef, functions_with_puts: Set[str]) -> Iterator[Invalid]:
    """The violations of D4 in a differentiated function."""

    def puts(node: Node) -> bool:
        nodes = (node, *(inner for region in node.regions for inner in region.walk()))
        return any(n.op == "put" or (n.op == "call" and n.attribute("function") in functions_with_puts) for n in nodes)

    yield from _check_region(function.body, puts)


def functions_with_ops(program: Program, *ops: str) -> Set[str]:
    """The functions that contain one of these ops, or call one that does: a fixed point."""
    callers: set[str] = set()
    while True:
        new_callers = {
            function.name
            for function in program.functions
            for node in function.body.walk()
            if node.op in ops or (node.op == "call" and node.attribute("function") in callers)
        }
        if new_callers == callers:
            return callers
        callers = new_callers


def _check_region(region: Region, puts: Callable[[Node], bool]) -> Iterator[Invalid]:
    types: dict[str, Type] = {}
    replaced_handles: dict[str, Node] = {}
    """The handles that a put has replaced, with the node that put."""
    used_values = used_names(region)
    for phase in region.phases():
        types.update(phase.parameters)
        for node in phase.nodes:
            handles = [name for name in operand_names(node.inputs) if _is_float_handle(name, types)]
            for name in handles:
                if name in replaced_handles and node.op != "cell_zeros":
                    yield _thread_error(
                        node, f"{name} is used again after a put to it, by {replaced_handles[name].name}"
                    )
            if puts(node):
                replaced_handles.update((name, node) for name in handles)
            if node.op == "put" and handles and node.name not in used_values:
                yield _thread_error(node, "the handle that a put returns is not used")
            for inner in node.regions:
                yield from _check_region(inner, puts)
            types.update(node.results)
        for name in (name for name in operand_names(phase.results) if name in replaced_handles):
            yield _thread_error(replaced_handles[name], f"{name} leaves a region after a put to it")


def _is_float_handle(name: str, types: dict[str, Type]) -> bool:
    type_ = types.get(name)
    return type_ is not None and isinstance(type_.dtype, HandleType) and is_differentiable(Var(name, type_))


def _thread_error(node: Node, problem: str) -> Invalid:
    return Invalid(
        f"after a put, differentiated code uses only the handle that it returned: {problem}",
        rule="D4",
        where=node.location or node.name,
        hint="continue with the handle that the last put returned: a = tl.put(a, i, x)",
    )


HandleKey: TypeAlias = tuple[int, str]
"""The identity of a region's activity, and a name in that region."""
HandleFlow: TypeAlias = defaultdict[HandleKey, list[HandleKey]]


class _CellUse(NamedTuple):
    """A node that reads cells or puts to them."""

    activity: RegionActivity
    node: Node
    handle: HandleKey


def check_deferred_reads(analysis: ActivityAnalysis, functions_with_puts: Set[str]) -> Iterator[Invalid]:
    """The violations of D4 by active reads of values that are put later and depend on the inputs of the gradient."""
    functions_with_reads = functions_with_ops(analysis.program, "get", "collect")
    if not (functions_with_puts and functions_with_reads):
        return
    flow = _HandleFlowAnalysis(analysis, functions_with_puts, functions_with_reads)
    for read in flow.reads:
        if any(result.name in read.activity.useful for result in read.node.results):
            for later_puts in flow.later_puts(read):
                certain_puts = [put for put in later_puts if _is_same_cell(read, put)]
                for put in filter(_puts_varied_value, certain_puts or later_puts):
                    yield _deferred_read_error(read.node, put.node)


class _HandleFlowAnalysis:
    """The flow of handles of float cells, and their reads and puts."""

    def __init__(
        self, analysis: ActivityAnalysis, functions_with_puts: Set[str], functions_with_reads: Set[str]
    ) -> None:
        self.analysis = analysis
        self.functions_with_puts, self.functions_with_reads = functions_with_puts, functions_with_reads
        self.reads: list[_CellUse] = []
        self.puts: defaultdict[HandleKey, list[_CellUse]] = defaultdict(list)
        """The puts to each handle."""
        self.functions_with_cells = functions_with_ops(analysis.program, "cells")
        self.new_handles: dict[HandleKey, None] = {}
        """The handles of new arrays. An array that a function makes counts once for each of its calls."""
        self.local_flow: HandleFlow = defaultdict(list)
        """For each handle, the handles that it becomes in the same call of a function."""
        self.call_flow: HandleFlow = defaultdict(list)
        """For each handle, the parameters that it becomes in called functions."""
        self.return_flow: HandleFlow = defaultdict(list)
        """For each handle, the results that it becomes at the call sites of its function."""
        self.calls_by_region: dict[int, tuple[RegionActivity, list[_CellUse]]] = {}
        """The calls of each function, by the identity of its region's activity."""
        self.enclosing_handles: dict[HandleKey, HandleKey] = {}
        """For each parameter of a branch or loop, the handle that it receives."""
        self.written_handles = set[HandleKey]()
        """The handles returned by puts, and by calls of functions that put."""
        for activity in analysis.regions.values():
            self.visit_region(activity)
        while self.propagate_call_results():
            pass
        self.empty_threads: defaultdict[HandleKey, list[Set[HandleKey]]] = defaultdict(list)
        """For each handle, the threads of the arrays that it may denote and that are still empty there."""
        self.maybe_empty_threads: defaultdict[HandleKey, list[Set[HandleKey]]] = defaultdict(list)
        """For each handle in a called function, the threads of the arrays that are empty there in some of its calls,
        and filled in others."""
        for array in self.new_handles:
            thread, filled_handles = self.trace_thread(array)
            for handle in _reachable_handles(
                [array], self.local_flow, self.call_flow
            ):  # not `return_flow`: each call returns its own array
                if handle not in filled_handles:
                    self.empty_threads[handle].append(thread)
            for handle in self.maybe_empty_handles(array, filled_handles):
                self.maybe_empty_threads[handle].append(thread)

    def visit_region(self, activity: RegionActivity) -> None:
        for node in (node for phase in activity.phases for node in phase.nodes):
            result = id(activity), node.name
            use = _CellUse(activity, node, (id(activity), str(next(iter(node.inputs), ""))))
            if node.op == "cells" and is_differentiable(node.results[0]):
                self.new_handles[result] = None
            elif node.op in ("get", "collect"):
                self.reads.append(use)
            elif node.op == "put":
                self.puts[use.handle].append(use)
                self.local_flow[use.handle].append(result)
                self.written_handles.add(result)
            elif node.op in ("cond", "while_loop"):
                for inner in activity.inner_regions[node.name]:
                    self.connect_region(use, inner)
                    self.visit_region(inner)
            elif node.op == "call":
                callee = node.attribute("function")
                if callee in self.analysis.regions:
                    self.connect_region(use, self.analysis.regions[callee])
                else:
                    self.connect_opaque_call(use, callee)

    def connect_region(self, use: _CellUse, inner: RegionActivity) -> None:
        """Add the flow into a region and out of it."""
        parameters, results = inner.phases[0].parameters, inner.phases[0].results
        is_call = use.node.op == "call"
        self.add_flow(
            self.call_flow if is_call else self.local_flow, use.activity, region_operands(use.node), inner, parameters
        )
        self.add_flow(self.return_flow if is_call else self.local_flow, inner, results, use.activity, use.node.results)
        if is_call:
            self.calls_by_region.setdefault(id(inner), (inner, []))[1].append(use)
        else:
            pairs = zip(region_operands(use.node), parameters, strict=True)
            self.enclosing_handles |= {
                (id(inner), parameter.name): (id(use.activity), str(name)) for name, parameter in pairs
            }
        if use.node.op == "while_loop":
            self.add_flow(self.local_flow, inner, results, inner, parameters)
            self.add_flow(self.local_flow, use.activity, use.node.inputs, use.activity, use.node.results)

    def connect_opaque_call(self, use: _CellUse, callee: str) -> None:
        """Add the flow through a call that is not differentiated: any operand may be returned as any result."""
        results = [(id(use.activity), result.name) for result in use.node.results if _is_cell_handle(result)]
        parameters = self.analysis.program[callee].body.parameters
        for name, variable in zip(use.node.inputs, parameters, strict=True):
            if _is_cell_handle(variable):
                handle = id(use.activity), str(name)
                self.local_flow[handle] += results
                if callee in self.functions_with_puts:
                    self.puts[handle].append(use._replace(handle=handle))
                elif callee in self.functions_with_reads:
                    self.reads.append(use._replace(handle=handle))
        if callee in self.functions_with_puts:
            self.written_handles.update(results)
        elif callee in self.functions_with_cells and not any(map(_is_cell_handle, parameters)):
            self.new_handles |= dict.fromkeys(results)

    def add_flow(
        self,
        steps: HandleFlow,
        activity: RegionActivity,
        names: tuple[Operand, ...],
        target: RegionActivity,
        variables: tuple[Var, ...],
    ) -> None:
        for name, variable in zip(names, variables, strict=True):
            if isinstance(name, str) and _is_cell_handle(variable):
                steps[id(activity), name].append((id(target), variable.name))

    def propagate_call_results(self) -> bool:
        """Record which results of calls alias an operand or a new array, and which of them were put to.

        This looks at each call by itself, since `return_flow` mixes all callers of a function. Returns whether it added
        a fact.
        """
        fact_count, new_array_handles = self.count_facts(), _reachable_handles(self.new_handles, self.local_flow)
        for inner, uses in self.calls_by_region.values():
            phase = inner.phases[0]
            ends = [(id(inner), name) for name in phase.results]
            parameters = [
                (position, variable.name)
                for position, variable in enumerate(phase.parameters)
                if _is_cell_handle(variable)
            ]
            aliases = {
                position: _reachable_handles([(id(inner), name)], self.local_flow) for position, name in parameters
            }
            for position, reachable in (*aliases.items(), (None, new_array_handles)):
                put_to = _reachable_handles(
                    (handle for handle in reachable if handle in self.written_handles), self.local_flow
                )
                for use, number in (
                    (use, number) for use in uses for number, end in enumerate(ends) if end in reachable
                ):
                    result = id(use.activity), use.node.results[number].name
                    if position is None:
                        self.new_handles[result] = None
                    elif result not in self.local_flow[id(use.activity), str(region_operands(use.node)[position])]:
                        self.local_flow[id(use.activity), str(region_operands(use.node)[position])].append(result)
                    if ends[number] in put_to:
                        self.written_handles.add(result)
        return fact_count != self.count_facts()

    def count_facts(self) -> tuple[int, int, int]:
        """The number of facts found so far; it grows until the fixed point."""
        return len(self.new_handles), len(self.written_handles), sum(map(len, self.local_flow.values()))

    def trace_thread(self, array: HandleKey) -> tuple[Set[HandleKey], Set[HandleKey]]:
        """The handles of a new array, and the handles among them through which something may have been put.

        An array flows up to the callers of its function, and down into the functions called there, which return it to
        that call only.
        """
        handles_above = _reachable_handles([array], self.local_flow, self.return_flow)
        thread = _reachable_handles(handles_above, self.local_flow, self.call_flow)
        filled_handles = _reachable_handles(
            (handle for handle in handles_above if handle in self.written_handles), self.local_flow, self.return_flow
        )
        handles_below = (handle for handle in thread if handle in self.written_handles or handle in filled_handles)
        return thread, _reachable_handles(handles_below, self.local_flow, self.call_flow)

    def maybe_empty_handles(self, array: HandleKey, filled_handles: Set[HandleKey]) -> Set[HandleKey]:
        """The handles in called functions that denote a new array while it is empty in some calls, and later in
        others."""
        filled_in_function = _reachable_handles(self.written_handles, self.local_flow)
        empty = dict.fromkeys(
            handle
            for handle in _reachable_handles([array], self.local_flow, self.return_flow)
            if handle not in filled_handles
        )
        worklist = list(empty)
        for handle in worklist:  # a worklist: the loop appends to it
            successors = [*self.call_flow[handle], *self.local_flow[handle]]
            new = [
                successor for successor in successors if successor not in empty and successor not in filled_in_function
            ]
            empty.update(dict.fromkeys(new))
            worklist += new
        return dict.fromkeys(handle for handle in empty if handle in filled_handles).keys()

    def later_puts(self, read: _CellUse) -> Iterator[list[_CellUse]]:
        """The later puts that a read may wait for: every put to an array that is still empty there; the puts to the
        same cell of an array that is still empty there in some calls; and the puts that certainly follow and fill the
        same cell."""
        for thread in self.empty_threads[read.handle]:
            yield [put for handle in thread for put in self.puts[handle] if _may_be_same_cell(read, put)]
        for thread in self.maybe_empty_threads[read.handle]:
            yield [put for handle in thread for put in self.puts[handle] if _is_same_cell(read, put)]
        yield self.following_puts(read)

    def following_puts(self, read: _CellUse) -> list[_CellUse]:
        """The puts to the cell of a read that follow it in its region or one around it."""
        handles, following_uses = [read.handle], list[_CellUse]()
        for handle in handles:  # a worklist: the loop appends to it
            puts = [put for put in self.puts[handle] if put.node.op == "put"]
            following_uses += [put for put in puts if read.node.op == "collect" or _is_same_cell(read, put)]
            handles += [(id(put.activity), put.node.name) for put in puts]
            handles += [self.enclosing_handles[handle]] if handle in self.enclosing_handles else []
        return following_uses


def _reachable_handles(handles: Iterable[HandleKey], *flows: HandleFlow) -> Set[HandleKey]:
    """The handles reachable along these flows, in a deterministic order."""
    reachable = dict.fromkeys(handles)
    worklist = list(reachable)
    for handle in worklist:  # a worklist: the loop appends to it
        successors = [target for flow in flows for target in flow[handle] if target not in reachable]
        reachable.update(dict.fromkeys(successors))
        worklist += successors
    return reachable.keys()


def _is_cell_handle(variable: Var) -> bool:
    return isinstance(variable.type.dtype, HandleType) and is_differentiable(variable)


def _puts_varied_value(put: _CellUse) -> bool:
    """Whether the value put depends on the inputs of the gradient."""
    operands = put.node.inputs[2:] if put.node.op == "put" else put.node.inputs
    return any(isinstance(operand, str) and operand in put.activity.varied for operand in operands)


def _may_be_same_cell(read: _CellUse, put: _CellUse) -> bool:
    if read.node.op != "get" or put.node.op != "put":
        return True
    first, second = read.node.inputs[1], put.node.inputs[1]
    return isinstance(first, str) or isinstance(second, str) or first.value == second.value


def _is_same_cell(read: _CellUse, put: _CellUse) -> bool:
    """Whether a read and a put certainly use the same cell."""
    if read.node.op != "get" or put.node.op != "put":
        return False
    first, second = read.node.inputs[1], put.node.inputs[1]
    if isinstance(first, str) or isinstance(second, str):
        return first == second and read.activity is put.activity
    return bool(first.value == second.value)


def _deferred_read_error(read: Node, put: Node) -> Invalid:
    return Invalid(
        f"cells in differentiated code are read after their puts: {read.name} waits for {put.name}, a later put",
        rule="D4",
        where=read.location or read.name,
        hint="read through the handle that the put returns: a = tl.put(a, i, x), and then tl.get(a, i)",
    )
