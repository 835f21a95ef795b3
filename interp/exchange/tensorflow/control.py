"""The conditions under which a node of a graph with Switch, Merge and frames gets live values.

A Switch sends its value to one of its outputs, and a dead one to the others; a node with a dead input gives dead
outputs; a Merge passes on the value that is live, even if its control edges are dead. A control edge comes from a
node, not from one of its outputs, so one from a Switch is dead only if the Switch itself is dead. A ControlTrigger is
live behind dead nodes, too. The conditions are found before the run, from the graph alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ....core.errors import Malformed
from ..refusals import unsupported
from .graph import Endpoint, ForeignGraph, ForeignNode


class Gate(NamedTuple):
    """A condition: this value chooses this output of the Switches that it decides."""

    predicate: Endpoint
    port: int


Gates = frozenset[Gate]
SWITCHES = frozenset({"Switch", "_SwitchN"})
PASSING = SWITCHES | {"Identity", "Enter"}
"""Ops whose live output is their first input."""


@dataclass(eq=False)
class LoopFrame:
    """A frame: the loop variables, each a Merge of an Enter and a NextIteration, and the Switch that takes the
    variable out of the loop or into the body."""

    name: str
    merges: list[str] = field(default_factory=list)
    enters: dict[str, str] = field(default_factory=dict)
    """The Enter of each Merge."""
    next_values: dict[str, Endpoint] = field(default_factory=dict)
    """The input of the NextIteration of each Merge."""
    next_controls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The nodes after which the NextIteration of each Merge runs."""
    switches: dict[str, list[str]] = field(default_factory=dict)
    """The Switches of each Merge."""
    condition: str = ""
    """The LoopCond."""
    body_port: int = 1
    """The output of the Switches that leads into the body."""


class BranchGroup(NamedTuple):
    """The Merges of one conditional. `sides` has the input of each Merge by the output of the Switches from which it
    comes."""

    predicate: Endpoint
    merges: tuple[str, ...]
    sides: dict[str, dict[int, int]]


class ControlAnalysis:
    """The conditions, frames and conditionals of a graph."""

    def __init__(self, graph: ForeignGraph) -> None:
        self.graph, self.nodes = graph, graph.nodes
        self.gates_of_nodes: dict[str, Gates] = {}
        self.groups: dict[str, BranchGroup] = {}

    @cached_property
    def frames(self) -> dict[str, LoopFrame]:
        """The frames, by the names of their Merges, Exits and LoopConds."""
        result: dict[str, LoopFrame] = {}
        frames: dict[str, LoopFrame] = {}
        for node in self.nodes.values():
            if node.op == "Merge" and any(self.nodes[source.node].op == "NextIteration" for source in node.inputs):
                self.add_variable(node, frames, result)
        for frame in frames.values():
            self.close_frame(frame, result)
        return result

    def add_variable(self, merge: ForeignNode, frames: dict[str, LoopFrame], result: dict[str, LoopFrame]) -> None:
        """Add a Merge to its frame."""
        kinds = {self.nodes[source.node].op: self.nodes[source.node] for source in merge.inputs}
        if set(kinds) != {"Enter", "NextIteration"} or len(merge.inputs) != 2:
            required = "one Enter and one NextIteration"
            raise Malformed(
                f"Merge {merge.name} does not begin a loop variable", required=required, got=", ".join(kinds)
            )
        enter, next_iteration = kinds["Enter"], kinds["NextIteration"]
        name = frame_name(enter)
        frame = frames.setdefault(name, LoopFrame(name))
        frame.merges.append(merge.name)
        frame.enters[merge.name] = enter.name
        frame.next_values[merge.name] = next_iteration.inputs[0]
        frame.next_controls[merge.name] = next_iteration.controls
        frame.switches[merge.name] = []
        result[merge.name] = frame
        for consumer in self.graph.consumers[merge.name]:
            if consumer.op == "Switch" and self.nodes[consumer.inputs[-1].node].op == "LoopCond":
                condition = consumer.inputs[-1].node
                if frame.condition not in ("", condition):
                    raise Malformed(f"frame {name!r} has several LoopConds", got=f"{frame.condition}, {condition}")
                frame.condition = condition
                frame.switches[merge.name].append(consumer.name)

    def close_frame(self, frame: LoopFrame, result: dict[str, LoopFrame]) -> None:
        """Find the Exits of a frame, and into which output of its Switches the body goes."""
        if not frame.condition:
            raise Malformed(f"frame {frame.name!r} has no LoopCond, so it does not end")
        result[frame.condition] = frame
        exits = []
        for switches in frame.switches.values():
            for switch in switches:
                exits += [consumer for consumer in self.graph.consumers[switch] if consumer.op == "Exit"]
        ports = {exit_node.inputs[0].port for exit_node in exits} or {0}
        if len(ports) > 1:
            raise Malformed(f"the Exits of frame {frame.name!r} take both outputs of Switches")
        frame.body_port = 1 - ports.pop()
        for exit_node in exits:
            result[exit_node.name] = frame

    def inputs_of(self, name: str) -> Iterator[str]:
        """The nodes whose conditions determine the condition of a node: its inputs; for a Merge of a frame, only its
        Enter; for an Exit or a LoopCond, all Enters of the frame."""
        node = self.nodes[name]
        if name in self.frames:
            frame = self.frames[name]
            if node.op == "Merge":
                yield frame.enters[name]
            else:
                yield from frame.enters.values()
        else:
            yield from node.predecessors

    def gates(self, endpoint: Endpoint) -> Gates:
        """The conditions under which an output is live."""
        node = self.nodes[endpoint.node]
        gates = self.node_gates(endpoint.node)
        return gates | {Gate(self.root(node.inputs[1]), endpoint.port)} if node.op in SWITCHES else gates

    def node_gates(self, name: str) -> Gates:
        """The conditions under which a node has live inputs."""
        pending, opened = [name], set()
        while pending:
            current = pending[-1]
            if current in self.gates_of_nodes:
                pending.pop()
                continue
            pending_sources = [source for source in self.inputs_of(current) if source not in self.gates_of_nodes]
            if not pending_sources:
                self.gates_of_nodes[current] = self.combine_gates(current)
                pending.pop()
            elif current in opened:
                raise Malformed("the graph has a cycle that is not a loop", got=f"node {current}")
            else:
                opened.add(current)
                pending += pending_sources
        return self.gates_of_nodes[name]

    def combine_gates(self, name: str) -> Gates:
        """The conditions of a node, from the conditions of its inputs."""
        node = self.nodes[name]
        if name in self.frames:
            return frozenset().union(*(self.gates_of_nodes[source] for source in self.inputs_of(name)))
        if node.op == "Merge":
            predicate, _ = self.choose_predicate(node)
            common = frozenset.intersection(*(self.gates(source) for source in node.inputs))
            return frozenset(gate for gate in common if gate.predicate != predicate)
        data = (self.gates(source) for source in node.inputs)
        gates: Gates = frozenset().union(*data, *(self.gates_of_nodes[source] for source in node.controls))
        if node.op == "ControlTrigger":  # is live when the nodes before it are dead, too
            return frozenset(gate for gate in gates if gate.predicate.node in self.frames)
        return gates

    def choose_predicate(self, merge: ForeignNode) -> tuple[Endpoint, dict[int, int]]:
        """The value that decides which input of a Merge is live, and the input for each of its choices."""
        gates = [{gate.predicate: gate.port for gate in self.gates(source)} for source in merge.inputs]
        is_ever_live = all(
            len(choices) == len(self.gates(source)) for choices, source in zip(gates, merge.inputs, strict=True)
        )
        for predicate in gates[0] if gates and is_ever_live else ():
            if all(predicate in choices for choices in gates):
                sides = {choices[predicate]: position for position, choices in enumerate(gates)}
                other_conditions = [
                    {key: port for key, port in choices.items() if key != predicate} for choices in gates
                ]
                if (
                    len(sides) == len(gates)
                    and len(sides) > 1
                    and all(conditions == other_conditions[0] for conditions in other_conditions)
                ):
                    return predicate, sides
        message = f"Merge {merge.name} may get two live values or none: its inputs are not the two sides of a Switch"
        raise unsupported("construct", message)

    def sort_gates(self, gates: Gates) -> list[Gate]:
        """Conditions in an order in which the predicate of each is live if those before hold."""
        return sorted(gates, key=lambda gate: (len(self.gates(gate.predicate)), gate))

    def switch_of(self, endpoint: Endpoint, gate: Gate) -> ForeignNode:
        """The Switch that makes an output dead where one of its conditions does not hold."""
        while True:
            node = self.nodes[endpoint.node]
            if node.op in SWITCHES and Gate(self.root(node.inputs[1]), endpoint.port) == gate:
                return node
            inputs = (
                [] if node.name in self.frames else [source for source in node.inputs if gate in self.gates(source)]
            )
            sources = (Endpoint(name, -1) for name in self.inputs_of(node.name) if gate in self.node_gates(name))
            endpoint = next(iter([*inputs, *sources]))

    def root(self, endpoint: Endpoint) -> Endpoint:
        """The output from which a value comes unchanged, through Identity, Switch and Enter."""
        return self.graph.source(endpoint, PASSING)

    @cached_property
    def conditionals(self) -> dict[tuple[Endpoint, Gates], dict[str, dict[int, int]]]:
        """The Merges that belong to no frame, with their sides, by predicate and by the conditions under which they
        run."""
        result: dict[tuple[Endpoint, Gates], dict[str, dict[int, int]]] = {}
        for node in self.nodes.values():
            if node.op == "Merge" and node.name not in self.frames:
                predicate, sides = self.choose_predicate(node)
                result.setdefault((predicate, self.node_gates(node.name)), {})[node.name] = sides
        return result

    def group(self, name: str) -> BranchGroup:
        """The conditional of a Merge: the Merges of the same predicate and conditions that depend on as many others of
        these, so none depends on another."""
        if name not in self.groups:
            predicate, _ = self.choose_predicate(self.nodes[name])
            candidates = self.conditionals[predicate, self.node_gates(name)]
            ancestors = {merge: self.ancestors(merge) for merge in candidates}
            levels = {merge: sum(other in ancestors[merge] for other in candidates) for merge in candidates}
            merges_by_level: dict[int, list[str]] = {}
            for merge, level in levels.items():
                merges_by_level.setdefault(level, []).append(merge)
            for merges in merges_by_level.values():
                group = BranchGroup(predicate, tuple(merges), {merge: candidates[merge] for merge in merges})
                self.groups.update(dict.fromkeys(merges, group))
        return self.groups[name]

    def ancestors(self, name: str) -> set[str]:
        """The nodes on which a node depends in one iteration."""
        reached: set[str] = set()
        pending = list(self.inputs_of(name))
        while pending:
            current = pending.pop()
            if current not in reached:
                reached.add(current)
                pending += self.inputs_of(current)
        return reached


def frame_name(enter: ForeignNode) -> str:
    """The name of the frame that an Enter enters."""
    name = enter.attribute("frame_name")
    if not isinstance(name, str) or not name:
        raise Malformed(f"Enter {enter.name} has no frame_name")
    return name
