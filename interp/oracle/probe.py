"""Probes: the first token that a backend gets wrong, by node and tag.

A probe of a value is a program with two more results: the number of firings of the value's node, and the values that it
computes, in program order. It needs no support from the backend: the count and the values are threaded through loops,
conds and calls as two more values of each. A probe may move the fault, because the optimiser sees a different program.
So a probe counts only if the backend's own results stay wrong in the same bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from ...core import dtypes
from ...core.graph.lower import lower
from ...core.program.program import FunctionDef, Node, Operand, Program, Region, UniqueNames, Var, defined_names
from ...core.tag import Tag
from ...core.types import HandleType, Type
from ...core.value import Literal, Value, abbreviate, admit, is_same_value, literal
from ...core.world import World
from ..engines.reference import run_graph
from ..exchange.export.walker import Refusal
from ..outcome.program_order import TaggedNode, program_order
from .judge import DEFAULT_LIMITS, is_within, program_window
from .protocol import Answer

COUNT = Type(dtypes.int64)
ProbeState: TypeAlias = tuple[Operand, Operand]
"""The count of firings so far, and a buffer with the values of the first ones."""


RECORDING_OP = "where"
"""The op by which a probe records a value in its array."""


class ProbedValue(NamedTuple):
    """A result of a node of a function, or a variable of a loop at the start of an iteration. `sender` is the node of
    the graph that sends it: for a loop variable the switch, whose output 0 leads into the body. `construct` is the
    innermost cond or loop around it."""

    function: str
    variable: Var
    op: str
    sender: str
    construct: str | None
    is_loop_variable: bool = False

    def __str__(self) -> str:
        return f"{self.function}.{self.variable.name}"


class WrongToken(NamedTuple):
    """A token that a backend gets wrong: the node that sends it and its tag, and in words the values of the reference
    and of the backend. `events` is the number of events of the reference up to there, `rank` its place in program
    order."""

    node: str
    tag: str
    required: str
    actual: str
    events: int
    rank: float

    def __str__(self) -> str:
        return f"{self.node} under {self.tag}: required {self.required}, got {self.actual}"

    def to_json(self) -> dict[str, object]:
        """The token as JSON data, without its rank."""
        return {key: value for key, value in self._asdict().items() if key != "rank"}


class ProbeReport(NamedTuple):
    """The findings of probes. `first` is the first wrong token in program order, and so one whose operands are
    right."""

    first: WrongToken | None
    faithful_count: int
    """The probes under which the backend's results stay wrong in the same bits."""
    unfaithful_probes: tuple[str, ...]
    """The values whose probes change the wrong results: they move the fault, or hide it."""
    refusals: tuple[tuple[str, str], ...]
    """The values that have no probe on this backend, with the reason."""

    def __str__(self) -> str:
        lines = []
        if self.first is not None:
            lines.append(f"first wrong token: {self.first}")
        elif self.faithful_count:
            lines.append("all tokens of the probed nodes are right: the fault is in a node that only passes tokens on")
        else:
            lines.append("the wrong results disappear under every probe")
        if self.unfaithful_probes:
            lines.append(f"probes of these values change the wrong results: {', '.join(self.unfaithful_probes)}")
        lines.extend(f"{value} has no probe: {reason}" for value, reason in self.refusals)
        return "\n".join(lines)


class Firing(NamedTuple):
    """A firing of the reference: its place in program order, its tag, its value, and the number of events up to it."""

    rank: float
    tag: Tag
    value: Value
    events: int


def find_wrong_token(
    program: Program, arguments: Sequence[Value], answer: Answer, run: Callable[[Program], Answer]
) -> ProbeReport:
    """Probe every value of a program whose results on a backend are wrong.

    Args:
        answer: what the backend returned for the program.
        run: runs a program on the backend, with the same arguments.
    """
    firings = reference_firings(program, arguments)
    window = program_window(program)
    wrong_tokens: list[tuple[WrongToken, ProbedValue]] = []
    changing_probes: list[str] = []
    refusals: list[tuple[str, str]] = []
    unchanging_count = 0
    for value in probed_values(program):
        try:
            probe = add_probe(program, value, len(firings[value.sender]) + 1)
        except Refusal as refusal:
            refusals.append((str(value), refusal.message))
            continue
        reply = run(probe)
        results = reply.results[: len(answer.results)]
        if reply.kind == "refused":
            refusals.append((str(value), reply.message))
        elif reply.kind != "returned" or not all(map(is_same_value, results, answer.results)):
            changing_probes.append(str(value))
        else:
            unchanging_count += 1
            count, buffer = reply.results[-2:]
            token = compare_firings(value, firings, count, buffer, window)
            wrong_tokens.extend([(token, value)] if token is not None else [])
    for token, value in sorted(wrong_tokens, key=lambda pair: pair[0].rank):
        if value.op == RECORDING_OP or is_recordable(program, value, token, firings[value.sender], run):
            return ProbeReport(token, unchanging_count, tuple(changing_probes), tuple(refusals))
        refusals.append((str(value), f"the backend changes {token.required} where a probe records it"))
    return ProbeReport(None, unchanging_count, tuple(changing_probes), tuple(refusals))


def is_recordable(
    program: Program,
    value: ProbedValue,
    token: WrongToken,
    firings: Sequence[Firing],
    run: Callable[[Program], Answer],
) -> bool:
    """Whether a probe that records the reference's value, in place of the value of a wrong token, returns that value.
    If not, the recording op itself is wrong on this backend, and only nodes of that op can be blamed."""
    index = next((index for index, firing in enumerate(firings) if firing.rank == token.rank), None)
    if index is None:  # the reference has no such token
        return True
    required = firings[index].value
    reply = run(add_probe(program, value, len(firings) + 1, literal(required)))
    if reply.kind != "returned" or int(np.asarray(reply.results[-2])) <= index:
        return True
    return is_same_value(required, admit(np.asarray(reply.results[-1])[index]))


def reference_firings(program: Program, arguments: Sequence[Value]) -> defaultdict[str, list[Firing]]:
    """The firings of each node that send a value by output 0, by the node's name, in program order."""
    graph = lower(program)
    run = run_graph(graph, arguments, limits=DEFAULT_LIMITS, keep="events", world=World(lambda line: None))
    ranks = program_order(graph, [(event.token.tag, event.token.node) for event in run.events if event.outputs])
    last_ranks = last_ranks_within(ranks)
    firings: defaultdict[str, list[Firing]] = defaultdict(list)
    for position, event in enumerate(run.events):
        if event.outputs and event.outputs[0][0] == 0:
            node, tag = graph.nodes[event.token.node], event.token.tag
            rank = last_ranks[tag] + 0.5 if node.op == "return" else ranks[tag, event.token.node]
            firings[str(node)].append(Firing(rank, tag, event.outputs[0][1], position + 1))
    for events in firings.values():
        events.sort(key=lambda firing: (firing.rank, -firing.tag.depth))
    return firings


def last_ranks_within(ranks: Mapping[TaggedNode, int]) -> dict[Tag, int]:
    """For each tag the last rank under it and the tags below it: a call returns behind all that it calls."""
    last_ranks: dict[Tag, int] = {}
    for (tag, _), rank in ranks.items():
        last_ranks[tag] = max(rank, last_ranks.get(tag, -1))
    for tag in sorted(last_ranks, key=lambda tag: -tag.depth):
        if tag.parent is not None:
            last_ranks[tag.parent] = max(last_ranks[tag], last_ranks.get(tag.parent, -1))
    return last_ranks


def compare_firings(
    value: ProbedValue, firings: Mapping[str, Sequence[Firing]], count: Value, buffer: Value, window: int = 0
) -> WrongToken | None:
    """The first firing of a backend that differs from the reference's by more than `window` ulp; one that is missing or
    too many differs, too.

    Args:
        count: how often the node fires on the backend.
        buffer: the values of the first firings.
    """
    expected, actual_count, values = firings[value.sender], int(np.asarray(count)), np.asarray(buffer)
    for index, firing in enumerate(expected):
        actual = admit(values[index]) if index < actual_count else None
        if actual is None or not (
            is_same_value(firing.value, actual) or is_within(firing.value, actual, window, has_open_zeros=False)
        ):
            words = "no token" if actual is None else abbreviate(actual)
            return WrongToken(str(value), str(firing.tag), abbreviate(firing.value), words, firing.events, firing.rank)
    if actual_count <= len(expected):
        return None
    surplus_value = abbreviate(admit(values[len(expected)]))
    if expected:
        last = expected[-1]
        return WrongToken(
            str(value), f"a tag behind {last.tag}", "no token", surplus_value, last.events, last.rank + 0.5
        )
    construct_firings = firings[value.construct] if value.construct is not None else []
    if not construct_firings:
        return WrongToken(str(value), "some tag", "no token", surplus_value, 0, np.inf)
    place = f"a tag inside {value.construct} under {construct_firings[0].tag}"
    return WrongToken(
        str(value), place, "no token", surplus_value, construct_firings[0].events, construct_firings[0].rank - 0.5
    )


def probed_values(program: Program) -> Iterator[ProbedValue]:
    """The results of all nodes of the functions that a program uses, and the first variable of each loop at the start
    of an iteration, which shows the iterations."""

    def walk(function: str, region: Region, construct: str | None) -> Iterator[ProbedValue]:
        for node in region.nodes:
            name = f"{function}.{node.name}"
            if node.op == "while_loop":
                variable = node.regions[1].parameters[0]
                yield ProbedValue(
                    function, variable, node.op, f"{name}.switch_{variable.name}", name, is_loop_variable=True
                )
            for inner in node.regions:
                yield from walk(function, inner, name)
            for result in node.results:
                yield ProbedValue(function, result, node.op, f"{function}.{result.name}", construct)

    for function in program.reachable_functions():
        yield from walk(function.name, function.body, None)


def add_probe(program: Program, value: ProbedValue, capacity: int, substitute: Literal | None = None) -> Program:
    """The program with two more results: how often a node fires, and an array of the first `capacity` values of one of
    its results, in program order, or of a substitute for each of them.

    Raises Refusal for a value whose size is known at run time only, and for one that a loop's condition computes.
    """
    if isinstance(value.variable.type.dtype, HandleType):
        raise Refusal("construct", "it is a handle of cells")
    if value.variable.type.shape is None or None in value.variable.type.shape:
        raise Refusal("shape", "its size is known at run time only")
    return _ProbeThreading(program, value, capacity, substitute).probed_program()


class _ProbeThreading:
    """Threads the state of a probe through every region that leads to the probed node."""

    def __init__(self, program: Program, value: ProbedValue, capacity: int, substitute: Literal | None) -> None:
        self.program, self.value, self.capacity, self.substitute = program, value, capacity, substitute
        self.zeros = literal(
            np.zeros(
                (capacity, *(size or 0 for size in value.variable.type.shape or ())), value.variable.type.dtype.numpy
            )
        )
        self.carriers = {
            function.name
            for function in program.functions
            if any(callee.name == value.function for callee in program.reachable_functions(function.name))
        }
        """The functions that may call the one with the probed node, and that one."""
        self.function = ""
        """The name of the function that is being threaded."""
        self.names = UniqueNames()
        """The names of values in that function."""

    def probed_program(self) -> Program:
        """The functions with the state as parameters and results, and an entry that supplies its start."""
        entry = self.program.main
        functions = [
            self.thread_function(function) if function.name in self.carriers else function
            for function in self.program.functions
        ]
        parameters = tuple(parameter.name for parameter in entry.body.parameters)
        self.names = UniqueNames(parameters)
        results = tuple(Var(self.names.fresh_name("result"), type_) for type_ in entry.results) + self.state_variables()
        start: ProbeState = literal(np.int64(0)), self.zeros
        call = Node("call", (*parameters, *start), results, attributes=(("function", entry.name),))
        body = Region(entry.body.parameters, (call,), tuple(result.name for result in results))
        name = UniqueNames(function.name for function in functions).fresh_name("probe")
        probe = FunctionDef(name, body, tuple(result.type for result in results))
        return Program((*functions, probe), name)

    def thread_function(self, function: FunctionDef) -> FunctionDef:
        self.function = function.name
        self.names = UniqueNames(defined_names(function))
        results = (*function.results, COUNT, self.zeros.type)
        return replace(function, body=self.thread_region(function.body), results=results)

    def thread_region(self, region: Region, *, is_probed_loop: bool = False) -> Region:
        """The region with the state as its last two parameters and results."""
        parameters = self.state_variables()
        state: ProbeState = parameters[0].name, parameters[1].name
        nodes: list[Node] = []
        if is_probed_loop:
            nodes, state = self.record_value(region.parameters[0].name, state)
        for node in region.nodes:
            threaded_node = node
            if self.leads_to_probe(node):
                threaded_node, state = self.thread_node(node, state)
            nodes.append(threaded_node)
            if self.has_probed_result(node):
                recording, state = self.record_value(self.value.variable.name, state)
                nodes.extend(recording)
        return Region((*region.parameters, *parameters), tuple(nodes), (*region.results, *state))

    def has_probed_result(self, node: Node) -> bool:
        is_here = self.function == self.value.function and not self.value.is_loop_variable
        return is_here and self.value.variable in node.results

    def is_probed_loop(self, node: Node) -> bool:
        """Whether the probed value is the first variable of a loop."""
        return self.value.is_loop_variable and self.value.construct == f"{self.function}.{node.name}"

    def leads_to_probe(self, node: Node) -> bool:
        """Whether the value may be sent inside of a node."""
        if node.op == "call":
            return node.attribute("function") in self.carriers
        return self.is_probed_loop(node) or any(map(self.region_leads_to_probe, node.regions))

    def region_leads_to_probe(self, region: Region) -> bool:
        return any(self.has_probed_result(node) or self.leads_to_probe(node) for node in region.nodes)

    def thread_node(self, node: Node, state: ProbeState) -> tuple[Node, ProbeState]:
        """The node with the state as its last two operands and results."""
        results = self.state_variables()
        regions: tuple[Region, ...]
        if node.op == "while_loop":
            condition, body = node.regions
            if self.region_leads_to_probe(condition):
                raise Refusal("construct", "it is computed in the condition of a loop")
            condition = replace(condition, parameters=(*condition.parameters, *self.state_variables()))
            regions = (condition, self.thread_region(body, is_probed_loop=self.is_probed_loop(node)))
        else:
            regions = tuple(map(self.thread_region, node.regions))
        inputs = (*node.inputs, *state)
        threaded_node = replace(node, inputs=inputs, results=(*node.results, *results), regions=regions)
        return threaded_node, (results[0].name, results[1].name)

    def record_value(self, name: str, state: ProbeState) -> tuple[list[Node], ProbeState]:
        """Nodes that count a firing, and put the value into the buffer, at the index of the old count."""
        count, buffer = state
        shape = tuple(1 for _ in self.value.variable.type.shape or ())
        nodes: list[Node] = []

        def emit(op: str, operands: tuple[Operand, ...], result: Type, **attributes: object) -> str:
            variable = Var(self.names.fresh_name(f"probe_{op}"), result)
            nodes.append(Node(op, operands, (variable,), attributes=tuple(attributes.items())))
            return variable.name

        is_here = emit("equal", (literal(np.arange(self.capacity)), count), Type(dtypes.bool, (self.capacity,)))
        if shape:
            is_here = emit(
                "reshape", (is_here,), Type(dtypes.bool, (self.capacity, *shape)), shape=(self.capacity, *shape)
            )
        recorded_value = name if self.substitute is None else self.substitute
        values = emit(RECORDING_OP, (is_here, recorded_value, buffer), self.zeros.type)
        return nodes, (emit("add", (count, literal(np.int64(1))), COUNT), values)

    def state_variables(self) -> tuple[Var, Var]:
        count = Var(self.names.fresh_name("probe_count"), COUNT)
        return count, Var(self.names.fresh_name("probe_values"), self.zeros.type)
