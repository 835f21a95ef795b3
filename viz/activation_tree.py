"""The tree of tags: the activations of a run, each with its arguments and results."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from ..core.errors import plural
from ..core.graph.graph import Graph
from ..core.tag import ENVIRONMENT, ROOT, Site, Tag
from ..core.types import OPAQUE_CLASSES
from ..core.value import Value
from ..interp.machine.event import Event
from ..interp.queries.calls import Gate, PhaseGates, RootArgument, gate_order
from .collapse import MAX_BOXES
from .labels import MAX_LIST_LENGTH, abbreviate_list, short_name
from .state_view import abbreviate_value
from .view import Badge, BoxKind, View

MAX_SIBLINGS = 12
"""The most children shown below an activation, if the tree is too large to show them all."""


def activation_tree_view(
    graph: Graph, arguments: Sequence[Value], events: Sequence[Event], most: int = MAX_BOXES
) -> View:
    """The tree of all activations that the events of a run opened, with the number of firings in each. If there are
    more than `most`, only those opened first, and at most MAX_SIBLINGS below each."""
    tree = ActivationTree(graph, arguments, events)
    view = View(graph.name, f"{graph.name}: {plural(len(tree.tags), 'activation')}")
    shown_tags = tree.tags if len(tree.tags) <= most else first_tags(tree.tags, most)
    names = {tag: f"t{number}" for number, tag in enumerate(shown_tags)}
    for tag, name in names.items():
        kind: BoxKind = "iteration" if tag.site.kind == "loop" else "activation"
        tooltip = f"{tag}: {tree.full_title(tag)}"
        view.root.add_box(name, kind, tree.title(tag), tree.describe_firings(tag), tooltip)
        if tag not in tree.closed:
            badge = Badge("open", "", "", f"{tag} is open")
            view.root.boxes[name] = view.root.boxes[name]._replace(badges=(badge,))
        if tag.parent is not None:
            view.add_arrow(names[tag.parent], name, "below")
    omitted = Counter(tag.parent for tag in tree.tags if tag not in names and tag.parent in names)
    for parent, count in omitted.items():
        assert parent is not None
        view.root.add_box(f"{names[parent]}_more", "folded", f"{count:,} more", "with all below")
        view.add_arrow(names[parent], f"{names[parent]}_more", "below")
    return view


def first_tags(tags: Sequence[Tag], most: int) -> list[Tag]:
    """The first `most` of these tags: each with its parent, and at most MAX_SIBLINGS below one."""
    child_counts: dict[Tag, int] = {}
    """The number of children of each shown tag."""
    for tag in tags:
        if len(child_counts) == most:
            break
        if tag.parent is None or child_counts.get(tag.parent, MAX_SIBLINGS) < MAX_SIBLINGS:
            child_counts[tag] = 0
            if tag.parent is not None:
                child_counts[tag.parent] += 1
    return list(child_counts)


class Gates(PhaseGates):
    """The nodes at which tokens enter and leave activations, and the text of the calls."""

    def describe_phases(
        self,
        inputs: Iterable[tuple[Gate, Value]],
        outputs: Iterable[tuple[Gate, Value]],
        max_length: int = MAX_LIST_LENGTH,
        outer: Collection[Value] = (),
    ) -> Iterator[tuple[str, str]]:
        """The inputs and the outputs of each phase of a call, as text: `3.0`, `6.0`; empty if there are none yet. At
        most as many as fit in `max_length` characters. Arrays that are among the values `outer` are left out."""
        phase_inputs, phase_outputs = (
            [(self.phase_of(gate), value) for gate, value in values] for values in (inputs, outputs)
        )
        for phase in dict.fromkeys([0, *sorted(phase for phase, _ in phase_inputs)]):
            arguments, results = (
                [value for at, value in phase_values if at == phase] for phase_values in (phase_inputs, phase_outputs)
            )
            yield (
                abbreviate_list(argument_texts(arguments, outer), max_length),
                abbreviate_list(map(abbreviate_value, results), max_length),
            )


def without_captures(graph: Graph, inputs: Iterable[tuple[Gate, Value]]) -> list[tuple[Gate, Value]]:
    """The inputs of an activation without the values that the function of the run captures."""
    count = len(graph.arguments) - graph.hidden_count - graph.capture_count
    return [(gate, value) for gate, value in inputs if not isinstance(gate, RootArgument) or gate.position < count]


def argument_texts(arguments: Iterable[Value], outer: Collection[Value]) -> Iterator[str]:
    """The arguments of a call as texts, with `\u2026` in place of arrays that the caller got, too, such as
    weights that a recursion passes on.

    >>> table = np.array([1, -1, -1])
    >>> list(argument_texts([table, np.array([2, 0, 0]), 2], outer=[table, 5])), list(argument_texts([5], outer=[5]))
    (['\u2026', '[2, 0, 0]', '2'], ['5'])
    """
    for is_passed_on, values in groupby(arguments, lambda value: is_array_among(value, outer)):
        yield from ["\u2026"] if is_passed_on else map(abbreviate_value, values)


def variable_texts(graph: Graph, variables: Iterable[tuple[Gate, Value]]) -> list[str]:
    """Loop variables with their values, `i = 2`, with `\u2026` in place of arrays of which only the type would be
    visible, unless there are no others."""
    texts = [
        (f"{gate_name(graph, gate)} = {abbreviate_value(value)}", is_shown_as_type(value)) for gate, value in variables
    ]
    if all(is_type for _, is_type in texts):
        return [text for text, _ in texts]
    groups = groupby(texts, lambda pair: pair[1])
    return [text for is_type, pairs in groups for text in (["\u2026"] if is_type else [text for text, _ in pairs])]


def is_shown_as_type(value: Value) -> bool:
    """Whether a value is an array that is too large to show its elements.

    >>> is_shown_as_type(np.zeros(9)), is_shown_as_type(np.zeros(2)), is_shown_as_type(3)
    (True, False, False)
    """
    if isinstance(value, OPAQUE_CLASSES) or not np.ndim(value):
        return False
    text = abbreviate_value(value)
    return not text.startswith("[") and "(" not in text


MAX_COMPARED_SIZE = 1024
"""The most elements of arrays that are compared; larger ones are the same only if they are one object."""


def is_array_among(value: Value, others: Iterable[Value]) -> bool:
    """Whether a value is an array, and one of the others."""
    if isinstance(value, OPAQUE_CLASSES) or not np.ndim(value):
        return False
    is_small = np.size(value) <= MAX_COMPARED_SIZE
    return any(
        other is value or (is_small and not isinstance(other, OPAQUE_CLASSES) and np.array_equal(value, other))
        for other in others
    )


def describe_call(name: str, phases: Iterable[tuple[str, str]]) -> str:
    """A call with all its phases; later phases, which compute gradients, are titled `∂`, `∂2` and so on.

    >>> describe_call("square", [("3.0", "9.0"), ("1.0", "6.0")]), describe_call("f", [("2", "")])
    ('square(3.0) = 9.0, ∂(1.0) = 6.0', 'f(2)')
    """
    titled = ((f"\u2202{at if at > 1 else ''}" if at else name, phase) for at, phase in enumerate(phases))
    return ", ".join(
        f"{title}({inputs}) = {outputs}" if outputs else f"{title}({inputs})" for title, (inputs, outputs) in titled
    )


class ActivationTree:
    """The activations of a run, with their inputs and results, collected from its events."""

    def __init__(self, graph: Graph, arguments: Sequence[Value], events: Iterable[Event]) -> None:
        self.graph = graph
        self.gates = Gates(graph)
        self.callees: Mapping[Site, str] = {**dict(graph.calls), ENVIRONMENT: graph.name}
        self.firings: Counter[Tag] = Counter()
        self.closed: set[Tag] = set()
        visible = graph.arguments[graph.hidden_count :]
        pairs = enumerate(zip(visible, arguments, strict=True))
        self.inputs: dict[Tag, dict[Gate, Value]] = {ROOT: {RootArgument(at): value for at, (_, value) in pairs}}
        """The inputs of each activation, by the gate that they enter through."""
        self.returns: dict[Tag, dict[int, Value]] = {}
        """The values that each activation returned, by return node."""
        for event in events:
            self.record_event(event)
        self.tags = list(self.inputs)

    def record_event(self, event: Event) -> None:
        """Add one event to the tree."""
        if event.is_firing:
            tag, node = event.token.tag, self.graph.nodes[event.token.node]
            self.firings[tag] += 1
            for token in self.gates.entering_tokens(event):
                self.inputs.setdefault(token.tag, {})[token.node] = token.value
            if node.op == "return" and event.outputs:
                self.returns.setdefault(tag, {})[event.token.node] = event.outputs[0][1]
        self.closed.update(closed.tag for closed in event.closed)

    def title(self, tag: Tag) -> str:
        """A call as `fib(3) = 2`, without arrays that the activation around it got, too, and without what the function
        captures; an iteration as `loop[2]: i = 2, s = 1`, without arrays of which only the type would be visible."""
        if tag.site.kind == "loop":
            return f"{tag.last_step}: {abbreviate_list(variable_texts(self.graph, self.parameter_inputs(tag)))}"
        return describe_call(
            self._callee_name(tag), self._describe_phases(tag, MAX_LIST_LENGTH, self._outer_values(tag))
        )

    def full_title(self, tag: Tag) -> str:
        """The title with all arguments or loop variables."""
        if tag.site.kind == "loop":
            return f"{tag.last_step}: {self._describe_all_variables(self.parameter_inputs(tag))}"
        return describe_call(self._callee_name(tag), self._describe_phases(tag, sys.maxsize, ()))

    def describe_call(self, tag: Tag) -> str:
        """A call without its results: `fib(3)`; an iteration with its initial variables, without adjoints."""
        if tag.site.kind == "loop":
            return f"{tag.last_step}: {abbreviate_list(variable_texts(self.graph, self._initial_variables(tag)))}"
        inputs, _ = next(iter(self._describe_phases(tag, MAX_LIST_LENGTH, self._outer_values(tag))))
        return f"{self._callee_name(tag)}({inputs})"

    def describe_full_call(self, tag: Tag) -> str:
        """A call with all its arguments, or an iteration with all its initial variables."""
        if tag.site.kind == "loop":
            return f"{tag.last_step}: {self._describe_all_variables(self._initial_variables(tag))}"
        inputs, _ = next(iter(self._describe_phases(tag, sys.maxsize, ())))
        return f"{self._callee_name(tag)}({inputs})"

    def _outer_values(self, tag: Tag) -> Collection[Value]:
        """The inputs of the activation around a tag."""
        return () if tag.parent is None else self.inputs.get(tag.parent, {}).values()

    def _initial_variables(self, tag: Tag) -> list[tuple[Gate, Value]]:
        return [(gate, value) for gate, value in self.parameter_inputs(tag) if not self.gates.phase_of(gate)]

    def _describe_all_variables(self, variables: Iterable[tuple[Gate, Value]]) -> str:
        return ", ".join(f"{gate_name(self.graph, gate)} = {abbreviate_value(value)}" for gate, value in variables)

    def describe_results(self, tag: Tag) -> str:
        """The results of a call and of its further phases; empty if there are none yet."""
        return self.title(tag).removeprefix(self.describe_call(tag)).removeprefix(" = ").removeprefix(", ")

    def _callee_name(self, tag: Tag) -> str:
        return self.callees.get(tag.site, "?")

    def _describe_phases(self, tag: Tag, max_length: int, outer: Collection[Value]) -> Iterator[tuple[str, str]]:
        outputs = sorted(self.returns.get(tag, {}).items())
        inputs = self.parameter_inputs(tag)
        shown_inputs = inputs if max_length == sys.maxsize else without_captures(self.graph, inputs)
        return self.gates.describe_phases(shown_inputs, outputs, max_length, outer)

    def describe_firings(self, tag: Tag) -> str:
        firings = plural(self.firings[tag], "firing")
        return firings if tag.site.kind == "loop" or tag == ROOT else f"{tag.last_step}, {firings}"

    def parameter_inputs(self, tag: Tag) -> list[tuple[Gate, Value]]:
        """The inputs of an activation in the order of parameters, without triggers."""
        return [(gate, self.inputs[tag][gate]) for gate in parameter_gates(self.graph, self.inputs[tag])]


def gate_name(graph: Graph, gate: Gate) -> str:
    """The short name of the parameter or loop variable that enters through a gate."""
    if isinstance(gate, RootArgument):
        return graph.arguments[graph.hidden_count + gate.position][0]
    return short_name(graph.nodes[gate].name)


def parameter_gates(graph: Graph, gates: Iterable[Gate]) -> list[Gate]:
    """Gates in the order of parameters, without those of triggers, which lowering adds."""
    return [
        gate
        for gate in sorted(gates, key=gate_order)
        if isinstance(gate, RootArgument) or not gate_name(graph, gate).startswith("trigger")
    ]
