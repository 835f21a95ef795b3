"""Programs as JSON, and back. Whether what is read keeps the rules V1 to V6 is the validators' business."""

from __future__ import annotations

from ..program.program import Function, Node, Operand, Program, Region, Var
from ..value import Literal
from .cursor import Cursor, head, plain_text
from .value import (
    Plain,
    attributes_form,
    location_form,
    read_attributes,
    read_literal,
    read_location,
    read_type,
    type_form,
    value_form,
)


def program_form(program: Program) -> Plain:
    """A program as a document."""
    functions = [_function_form(function) for function in program.functions]
    return head("program", entry=plain_text(program.entry), functions=functions)


def _function_form(function: Function) -> Plain:
    return {
        "name": plain_text(function.name),
        "results": [type_form(type_) for type_ in function.results],
        "body": _region_form(function.body),
        "location": location_form(function.location),
        **({"pullbacks": [list(map(type_form, types)) for types in function.pullbacks]} if function.pullbacks else {}),
    }


def _region_form(region: Region) -> Plain:
    return {
        "parameters": [_var_form(parameter) for parameter in region.parameters],
        "nodes": [_node_form(node) for node in region.nodes],
        "results": [_operand_form(result) for result in region.results],
        **({"pullback": _region_form(region.pullback)} if region.pullback else {}),
    }


def _node_form(node: Node) -> Plain:
    return {
        "op": plain_text(node.op),
        "inputs": [_operand_form(operand) for operand in node.inputs],
        "results": [_var_form(result) for result in node.results],
        "regions": [_region_form(region) for region in node.regions],
        "attributes": attributes_form(node.attributes),
        "location": location_form(node.location),
    }


def _var_form(var: Var) -> Plain:
    return {"name": plain_text(var.name), "type": type_form(var.type)}


def _operand_form(operand: Operand) -> Plain:
    if isinstance(operand, Literal):
        return {"literal": value_form(operand.value)}
    return {"name": plain_text(operand)}


def read_program(at: Cursor) -> Program:
    """The program that a document says."""
    _, _, entry, functions = at.fields("tagloom", "version", "entry", "functions")
    return Program(functions.each(_function), entry.text())


def _function(at: Cursor) -> Function:
    name, results, body, location = at.fields("name", "results", "body", "location", optional=["pullbacks"])
    later = at.key("pullbacks").each(lambda types: types.each(read_type)) if at.has("pullbacks") else ()
    return Function(name.text(), _region(body), results.each(read_type), read_location(location), later)


def _region(at: Cursor) -> Region:
    parameters, nodes, results = at.fields("parameters", "nodes", "results", optional=["pullback"])
    later = _region(at.key("pullback")) if at.has("pullback") else None
    return Region(parameters.each(_var), nodes.each(_node), results.each(_operand), later)


def _node(at: Cursor) -> Node:
    op, inputs, results, regions, attributes, location = at.fields(
        "op", "inputs", "results", "regions", "attributes", "location"
    )
    if results.data == []:
        results.refuse("at least one result, whose name is the node's")
    made = Node(
        op=op.text(),
        inputs=inputs.each(_operand),
        results=results.each(_var),
        regions=regions.each(_region),
        attributes=read_attributes(attributes),
        location=read_location(location),
    )
    if made.op == "call" and not isinstance(dict(made.attributes).get("function"), str):
        attributes.refuse("the name of the function that is called, as attribute function")
    return made


def _var(at: Cursor) -> Var:
    name, type_ = at.fields("name", "type")
    return Var(name.text(), read_type(type_))


def _operand(at: Cursor) -> Operand:
    if at.has("literal"):
        return read_literal(at.fields("literal")[0])
    return at.fields("name")[0].text()
