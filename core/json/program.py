"""Programs as JSON, and back. Reading does not check the rules V1 to V6 and V17; `validate` does."""

from __future__ import annotations

from ..program.program import FunctionDef, Node, Operand, Program, Region, Var
from ..value import Literal
from .cursor import JsonCursor, document_header, validate_name
from .value import (
    JsonValue,
    attributes_to_json,
    location_to_json,
    read_attributes,
    read_literal,
    read_location,
    read_type,
    type_to_json,
    value_to_json,
)


def program_to_json(program: Program) -> JsonValue:
    """A program as a document."""
    functions = [function_to_json(function) for function in program.functions]
    return document_header("program", entry=validate_name(program.entry), functions=functions)


def function_to_json(function: FunctionDef) -> JsonValue:
    """A function; `pullbacks` only where it has further phases."""
    return {
        "name": validate_name(function.name),
        "results": [type_to_json(type_) for type_ in function.results],
        "body": region_to_json(function.body),
        "location": location_to_json(function.location),
        **(
            {"pullbacks": [list(map(type_to_json, types)) for types in function.pullback_result_types]}
            if function.pullback_result_types
            else {}
        ),
    }


def region_to_json(region: Region) -> JsonValue:
    """A region; `pullback` only where it has a further phase."""
    return {
        "parameters": [var_to_json(parameter) for parameter in region.parameters],
        "nodes": [node_to_json(node) for node in region.nodes],
        "results": [operand_to_json(result) for result in region.results],
        **({"pullback": region_to_json(region.pullback)} if region.pullback else {}),
    }


def node_to_json(node: Node) -> JsonValue:
    """A node of a program, as JSON data."""
    return {
        "op": validate_name(node.op),
        "inputs": [operand_to_json(operand) for operand in node.inputs],
        "results": [var_to_json(result) for result in node.results],
        "regions": [region_to_json(region) for region in node.regions],
        "attributes": attributes_to_json(node.attributes),
        "location": location_to_json(node.location),
    }


def var_to_json(var: Var) -> JsonValue:
    """A name and its type, as JSON data."""
    return {"name": validate_name(var.name), "type": type_to_json(var.type)}


def operand_to_json(operand: Operand) -> JsonValue:
    """A name, or a literal, as JSON data."""
    if isinstance(operand, Literal):
        return {"literal": value_to_json(operand.value)}
    return {"name": validate_name(operand)}


def read_program(cursor: JsonCursor) -> Program:
    """The program of a document."""
    _, _, entry, functions = cursor.fields("tagloom", "version", "entry", "functions")
    return Program(functions.map_entries(read_function), entry.name())


def read_function(cursor: JsonCursor) -> FunctionDef:
    """A function, with its phases, from JSON data."""
    name, results, body, location = cursor.fields("name", "results", "body", "location", optional=["pullbacks"])
    pullbacks = (
        cursor.value_at("pullbacks").map_entries(lambda types: types.map_entries(read_type))
        if cursor.has_key("pullbacks")
        else ()
    )
    return FunctionDef(
        name.name(), read_region(body), results.map_entries(read_type), read_location(location), pullbacks
    )


def read_region(cursor: JsonCursor) -> Region:
    """A region, with its further phases, from JSON data."""
    parameters, nodes, results = cursor.fields("parameters", "nodes", "results", optional=["pullback"])
    pullback = read_region(cursor.value_at("pullback")) if cursor.has_key("pullback") else None
    return Region(
        parameters.map_entries(read_var), nodes.map_entries(read_node), results.map_entries(read_operand), pullback
    )


def read_node(cursor: JsonCursor) -> Node:
    """A node; raises Malformed for a node without results, and for a call that names no function."""
    op, inputs, results, regions, attributes, location = cursor.fields(
        "op", "inputs", "results", "regions", "attributes", "location"
    )
    if results.data == []:
        results.refuse("at least one result, which names the node")
    node = Node(
        op=op.name(),
        inputs=inputs.map_entries(read_operand),
        results=results.map_entries(read_var),
        regions=regions.map_entries(read_region),
        attributes=read_attributes(attributes),
        location=read_location(location),
    )
    if node.op == "call" and not isinstance(dict(node.attributes).get("function"), str):
        attributes.refuse("the name of the function that is called, as attribute function")
    return node


def read_var(cursor: JsonCursor) -> Var:
    """A name and its type, from JSON data."""
    name, type_ = cursor.fields("name", "type")
    return Var(name.name(), read_type(type_))


def read_operand(cursor: JsonCursor) -> Operand:
    """A name, or a literal, from JSON data."""
    if cursor.has_key("literal"):
        return read_literal(cursor.fields("literal")[0])
    return cursor.fields("name")[0].name()
