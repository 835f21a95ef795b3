"""The signatures of a SavedModel, and the keys of its variables in the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

from ....core.errors import Malformed, Usage
from .graph import Endpoint, ForeignGraph, read_function, read_library, read_nodes
from .messages import Message
from .tensors import StringArray, read_tensor

INITIALIZER = "__saved_model_init_op"
"""The signature that only restores a model."""


def choose_meta_graph(model: Message) -> Message:
    """The graph for serving, or the only one."""
    graphs = model.meta_graphs
    serving = [candidate for candidate in graphs if "serve" in candidate.meta_info_def.tags]
    if not graphs:
        raise Malformed("this is not a SavedModel", required="a graph")
    graph: Message = (serving or graphs)[0]
    return graph


def choose_signature(meta: Message, name: str | None) -> tuple[str, Message]:
    """The name of a signature, and the signature. Raises Usage if there is none of this name; without a name, if there
    are several signatures and none is the default."""
    signatures = {key: value for key, value in meta.signature_def.items() if key != INITIALIZER}
    signature_name = name or ("serving_default" if "serving_default" in signatures else next(iter(signatures), ""))
    if signature_name not in signatures or (
        name is None and signature_name != "serving_default" and len(signatures) > 1
    ):
        required = ", ".join(sorted(signatures)) or "a signature: tf.saved_model.save(..., signatures=...)"
        raise Usage("the SavedModel does not have this signature", required=required, got=repr(name or "none"))
    return signature_name, signatures[signature_name]


def variable_keys(meta: Message) -> Mapping[str, str]:
    """The keys of variables in the checkpoint, by the names of their nodes, as the op that restores the model assigns
    them."""
    library = read_library(meta.graph_def)
    nodes = read_nodes(meta.graph_def.node, library, [])
    main = ForeignGraph("restore", nodes, [], [])
    keys = assigned_keys(main, {name: name for name in nodes})
    restore = nodes.get(meta.saver_def.restore_op_name.partition(":")[0])
    if restore is None:
        return keys
    for name in main.reachable_nodes([restore.name]):
        called = nodes[name].attribute("f", nodes[name].op)
        if called in library.definitions:
            body = read_function(library.definitions[called], library)
            if len(body.arguments) != len(nodes[name].inputs):
                raise Malformed(f"function {called} takes the wrong number of values", required=len(body.arguments),
                                got=len(nodes[name].inputs))  # fmt: skip
            operands = zip(body.arguments, nodes[name].inputs, strict=True)
            keys |= assigned_keys(body, {argument.node: endpoint.node for argument, endpoint in operands})
    return keys


def assigned_keys(graph: ForeignGraph, variables: Mapping[str, str]) -> dict[str, str]:
    """The keys of the variables to which a graph assigns restored values, by the names in `variables`."""
    keys = {}
    for node in graph.nodes.values():
        if node.op not in ("AssignVariableOp", "Assign") or len(node.inputs) < 2:
            continue
        source = graph.source(node.inputs[1], ("Identity", "Cast"))
        target = variables.get(node.inputs[0].node)
        key = restored_key(graph, source)
        if target is not None and key is not None:
            keys[target] = key
    return keys


def restored_key(graph: ForeignGraph, source: Endpoint) -> str | None:
    """The key of a value that a RestoreV2 reads; None for another value."""
    node = graph.nodes[source.node]
    if node.op != "RestoreV2" or len(node.inputs) < 2:
        return None
    names = graph.nodes[node.inputs[1].node]
    if names.op != "Const" or "value" not in names.messages:
        return None
    strings = read_tensor(names.messages["value"].tensor)
    is_there = isinstance(strings, StringArray) and source.port < len(strings.strings)
    return strings.strings[source.port] if is_there else None
