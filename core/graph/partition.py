"""Partitions: a graph on several devices, with a send and a recv for each value and device that needs it.

A *device* has a name, such as `/job:ps/task:1`. A *constraint* is a device's name or a part of one, `/job:ps` or
`/task:1`: for a node or all nodes of a function by name, or for all nodes traced inside `with tl.device(...)`.
`place_nodes` finds a device for each node, and `partition` cuts the graph: where an edge goes from one device to
another, the source device gets a send, the destination a recv. All consumers of a value on a device use the same recv.
Both are `identity` nodes, so the graph with them runs on every engine; a message is a firing of a recv, and has the
recv, its tag and the value.

In systems that must start each recv, every part of a loop gets a control loop, which makes the tags again and is told
whether there is another iteration. Here a message has its tag, and a node fires when all its operands have arrived
under one tag, so a part consists of its nodes only.

Sources: M. Abadi and others, TensorFlow: a system for large-scale machine learning (OSDI 2016), section 3.3; Y. Yu and
others, Dynamic control flow in large-scale machine learning (EuroSys 2018); from descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from ..errors import Usage
from ..program.device import FIRST_DEVICE, DeviceName, parse_device
from ..program.program import TracedLocation, scope_device
from .graph import Edge, Graph, GraphNode, NodeOutput

_ENTRY_OPS = ("call", "enter", "next_iteration", "reenter", "back")
"""The ops that feed the entry merges of functions and loops, which must see them directly (V11, V12, V16)."""


class Transfer(NamedTuple):
    """A value that travels: its name, the nodes that send and receive it, and the positions of their devices."""

    value: str
    send: int
    recv: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A graph on several devices. `graph` is the whole graph, with its sends and recvs; `places` has the position,
    among `devices`, of the device of each node. The first device has the arguments and the results."""

    graph: Graph
    devices: tuple[DeviceName, ...]
    places: tuple[int, ...]
    transfers: tuple[Transfer, ...]

    def part(self, place: int) -> Graph:
        """The part of a device as a graph: its nodes in order, without the recvs. Its arguments are the values that it
        receives, under any tag: arguments of the whole graph, and values that other devices send. Its results are the
        results of the whole graph on this device. A part does not keep the rules V10 to V16, which hold for whole
        graphs."""
        recvs = {transfer.recv: transfer.value for transfer in self.transfers}
        numbers = [n for n, node_place in enumerate(self.places) if node_place == place and n not in recvs]
        positions = {number: position for position, number in enumerate(numbers)}

        def keep_local_edges(output: NodeOutput) -> NodeOutput:
            edges = (Edge(positions[edge.node], edge.port) for edge in output.edges if edge.node in positions)
            return replace(output, edges=tuple(edges))

        nodes = (self.graph.nodes[number] for number in numbers)
        arguments = [(name, keep_local_edges(output)) for name, output in self.graph.arguments]
        received = [
            (f"recv_{value}".replace(".", "_"), keep_local_edges(self.graph.nodes[recv].outputs[0]))
            for recv, value in recvs.items()
            if self.places[recv] == place
        ]
        return replace(
            self.graph,
            nodes=tuple(replace(node, outputs=tuple(map(keep_local_edges, node.outputs))) for node in nodes),
            arguments=tuple(argument for argument in arguments if argument[1].edges or place == 0) + tuple(received),
            results=tuple(positions[number] for number in self.graph.results if number in positions),
            hidden_count=self.graph.hidden_count if place == 0 else 0,
        )


def partition(graph: Graph, places: Sequence[int], devices: Sequence[DeviceName]) -> Partition:
    """Cut a graph whose nodes have these `places` among the devices. Edges from arguments to merges are not cut: the
    arguments of a run enter a function as those of a call do (V12).

    Raises Usage where the places are not one position among the devices for each node.
    """
    if len(places) != len(graph.nodes) or not all(place in range(len(devices)) for place in places):
        required = f"{len(graph.nodes)} positions among {len(devices)} devices"
        raise Usage("a partition does not name one device for each node", required=required, got=str(places)[:200])
    nodes, all_places, transfers = list(graph.nodes), list(places), []

    def cut_output(name: str, function: str, output: NodeOutput, source: int, uncut: Sequence[Edge] = ()) -> NodeOutput:
        """An output whose edges stay on its device, except those to sends, one for each other device."""
        edges = [edge for edge in output.edges if places[edge.node] == source or edge in uncut]
        away = [edge for edge in output.edges if edge not in edges]
        for target in sorted({places[edge.node] for edge in away}):
            send, recv = len(nodes), len(nodes) + 1
            suffix = f".device{target}" if len(devices) > 2 else ""
            send_output = NodeOutput(output.type, (Edge(recv, 0),))
            recv_output = NodeOutput(output.type, tuple(edge for edge in away if places[edge.node] == target))
            nodes.append(GraphNode(f"send.{name}{suffix}", "identity", (None,), (send_output,), function))
            nodes.append(GraphNode(f"recv.{name}{suffix}", "identity", (None,), (recv_output,), function))
            all_places.extend((source, target))
            transfers.append(Transfer(f"{function}.{name}", send, recv, source, target))
            edges.append(Edge(send, 0))
        return replace(output, edges=tuple(sorted(edges)))

    def merge_edges(output: NodeOutput) -> list[Edge]:
        return [edge for edge in output.edges if graph.nodes[edge.node].op == "merge"]

    arguments = tuple(
        (name, cut_output(name, graph.name, output, 0, merge_edges(output))) for name, output in graph.arguments
    )
    for number, node in enumerate(graph.nodes):
        names = [node.name if output == 0 else f"{node.name}.output{output}" for output in range(len(node.outputs))]
        pairs = zip(names, node.outputs, strict=True)
        outputs = tuple(cut_output(name, node.function, output, places[number]) for name, output in pairs)
        nodes[number] = replace(node, outputs=outputs)
    whole = replace(graph, nodes=tuple(nodes), arguments=arguments)
    return Partition(whole, tuple(devices), tuple(all_places), tuple(transfers))


def colocation_groups(graph: Graph) -> list[int]:
    """For each node, the number of a node that represents its group. The nodes of a group have one device: a merge and
    the calls, entries and steps of loops that feed it; a `back` and the merge that feeds it; a `reenter` and the exit
    from which it gets the trip count; a value and its returns to call sites, since only one of these gets the value
    (S10), and the others would get a useless message; and all nodes that are colocated with one variable."""
    leaders = list(range(len(graph.nodes)))

    def leader(number: int) -> int:
        while leaders[number] != number:
            leaders[number] = leaders[leaders[number]]
            number = leaders[number]
        return number

    colocated: dict[int, int] = {}
    """By variable, the first node that is colocated with it."""
    for number, node in enumerate(graph.nodes):
        for scope in node.location.scopes if isinstance(node.location, TracedLocation) and node.op != "return" else ():
            if scope.variable is not None:
                leaders[leader(number)] = leader(colocated.setdefault(scope.variable, number))
    for edge, sources in graph.sources().items():
        op = graph.nodes[edge.node].op
        is_return = op == "return" and edge.node not in graph.results
        for source in sources:
            if source.node < 0:
                continue
            source_op = graph.nodes[source.node].op
            is_entry = op == "merge" and source_op in _ENTRY_OPS
            is_way_back = (op == "back" and source_op == "merge") or (op == "reenter" and edge.port == 1)
            if is_entry or is_return or is_way_back:
                leaders[leader(source.node)] = leader(edge.node)
    return [leader(number) for number in range(len(graph.nodes))]


Constraints: TypeAlias = dict[str, DeviceName]
"""The names of devices, or parts of them, that a node requires, by a description of the constraint."""


def node_constraints(graph: Graph, constraints: Mapping[str, str] | None = None) -> list[Constraints]:
    """The constraints of each node: those of `constraints`, by the name of a function or of a node, and that of
    `tl.device` in its source. The return of a call has no constraint from its source, since it is on the device of the
    function's result.

    Raises Usage for an unknown name, and for a text that is not a device.
    """
    required: list[Constraints] = [{} for _ in graph.nodes]
    functions = {node.function for node in graph.nodes}
    for name, text in (constraints or {}).items():
        device = parse_device(text)
        members = [n for n, node in enumerate(graph.nodes) if node.function == name and n not in graph.results]
        for number in members if name in functions else graph.find(name):
            required[number][f"{name} on {device}"] = device
    for node, device_by_reason in zip(graph.nodes, required, strict=True):
        if node.op != "return" and (device_in_source := _device_in_source(node)) is not None:
            description, device = device_in_source
            device_by_reason[description] = device
    return required


def _device_in_source(node: GraphNode) -> tuple[str, DeviceName] | None:
    """A description of the constraint by `tl.device` on a node, with the line of the innermost one, and the device;
    None if there is no constraint."""
    scopes = node.location.scopes if isinstance(node.location, TracedLocation) else ()
    placing_scopes = [scope for scope in scopes if scope.device is not None]
    device = scope_device(placing_scopes)
    if device is None:
        return None
    innermost = placing_scopes[-1]
    variable = "" if innermost.variable is None else f", with {innermost.name}"
    return f"{device} ({innermost.location}{variable})", device


def list_devices(constraints: Sequence[Constraints]) -> list[DeviceName]:
    """The devices that constraints name: the first device, then the full names in order, then, for each partial name
    that admits none of these, a device that has this part and the other part of the first device."""
    names = {device for reasons in constraints for device in reasons.values()}
    full_names = sorted(name for name in names if None not in name)
    devices = list(dict.fromkeys([FIRST_DEVICE, *full_names]))
    for name in sorted(names - set(full_names), key=str):
        if not any(name.admits(device) for device in devices):
            devices.append(name.or_else(FIRST_DEVICE))
    return devices


def place_nodes(graph: Graph, constraints: Mapping[str, str], devices: Sequence[DeviceName]) -> list[int]:
    """The position of a device for each node: the first device that all constraints of its group admit, by name
    (`node_constraints`) and by `tl.device`. A node without a constraint is on the device of the calls of its function,
    or else on the first device, where the results are as well.

    Raises Usage for an unknown name, and if no device satisfies the constraints, or none is given.
    """
    if not devices:
        raise Usage("a placement needs a device", required="devices, as in [parse_device('/task:0')]", got="none")
    required = node_constraints(graph, constraints)
    for number in graph.results:
        required[number][f"the results on {devices[0]}"] = devices[0]
    return [place or 0 for place in find_places(graph, required, devices)]


def find_places(
    graph: Graph, constraints: Sequence[Constraints], devices: Sequence[DeviceName], *, is_soft: bool = False
) -> list[int | None]:
    """`place_nodes` for the constraints of each node; None for a node that may be on any device. With `is_soft`, a
    group whose constraints no device admits is on the closest one (`closest_device`)."""
    groups = colocation_groups(graph)
    members: dict[int, list[int]] = {}
    """The nodes of each group."""
    for number, group in enumerate(groups):
        members.setdefault(group, []).append(number)
    places: dict[int, int | None] = {}
    for group, numbers in members.items():
        required: Constraints = {}
        for number in numbers:
            required |= constraints[number]
        if required:
            names = [str(graph.nodes[number]) for number in numbers]
            places[group] = closest_device(required, devices) if is_soft else first_admitted(names, required, devices)
    defaults = _function_places(graph, groups, places)
    for group, numbers in members.items():
        inner = (number for number in numbers if graph.nodes[number].op not in ("call", "return"))
        function = graph.nodes[next(inner, numbers[0])].function
        places.setdefault(group, defaults[function])
    return [places[group] for group in groups]


def _function_places(graph: Graph, groups: Sequence[int], places: Mapping[int, int | None]) -> dict[str, int | None]:
    """For each function, the place of its calls: that of their groups, or else that of its first caller; None for any
    place."""
    callers: dict[str, str] = {}
    own_places: dict[str, int | None] = {}
    for number, node in enumerate(graph.nodes):
        for edge in node.outputs[0].edges if node.op == "call" else ():
            callee = graph.nodes[edge.node].function
            callers.setdefault(callee, node.function)
            if own_places.get(callee) is None:
                own_places[callee] = places.get(groups[number])
    defaults: dict[str, int | None] = {}
    for function in dict.fromkeys(node.function for node in graph.nodes):  # a function is after its first caller
        own = own_places.get(function)
        defaults[function] = defaults.get(callers.get(function, "")) if own is None else own
    return defaults


def closest_device(constraints: Constraints, devices: Sequence[DeviceName]) -> int:
    """The position of the device that most constraints of a group admit; of several, the one with which their parts
    agree most; of several, the first."""

    def closeness(position: int) -> tuple[int, int, int]:
        device, names = devices[position], constraints.values()
        return sum(name.admits(device) for name in names), sum(name.agreement(device) for name in names), -position

    return max(range(len(devices)), key=closeness)


def unmet_constraints(
    constraints: Sequence[Constraints], places: Sequence[int | None], devices: Sequence[DeviceName]
) -> tuple[str, ...]:
    """The constraints that the devices of their nodes do not meet, each once, with the device: as `/job:ps/task:1
    (model.py:8) is on /job:worker/task:0`."""
    unmet = (
        f"{description} is on {devices[place]}"
        for reasons, place in zip(constraints, places, strict=True)
        for description, name in reasons.items()
        if place is not None and not name.admits(devices[place])
    )
    return tuple(dict.fromkeys(unmet))


def first_admitted(names: list[str], constraints: Constraints, devices: Sequence[DeviceName]) -> int:
    """The position of the first device that all constraints of a group admit; raises Usage if there is none. `names`
    are the names of the group's nodes."""
    for position, device in enumerate(devices):
        if all(constraint.admits(device) for constraint in constraints.values()):
            return position
    raise Usage(
        f"no device satisfies the constraints of {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}",
        required="; ".join(constraints),
        got=", ".join(map(str, devices)),
        hint="they are on one device: a function is in the graph once, with all its calls" if len(names) > 1 else None,
    )
