"""Printing programs.

func fac(n: int64) -> int64 {
  less_equal = less_equal n, 0
  cond = cond less_equal, n {
    then(n: int64) { yield 1 }
    else(n: int64) {
      subtract = subtract n, 1
      fac = call fac subtract
      multiply = multiply n, fac
      yield multiply
    }
  }
  return cond
}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat

from ..program.infer import infer_node_types
from ..program.program import MAX_NESTING, PULLBACK_TARGET, Function, Node, Operand, Program, Region, Var
from ..types import Type
from .build_program import REGION_KEYWORDS
from .printer import (
    TextWriter,
    format_attributes,
    format_name,
    format_result_types,
    format_typed_name,
    unwritable_error,
)


def print_program(program: Program, *, locations: bool = True) -> str:
    """A program as text that `parse` reads back: one line per node, functions and nodes in their order.

    `locations` adds the source line of each node. Raises Usage for programs that the text form cannot write: a name
    that is no identifier, a node without results, an attribute that is no number, string or dtype.
    """
    return str(_write_program(program, TextWriter(locations=locations)))


def _write_program(program: Program, page: TextWriter) -> TextWriter:
    types = infer_node_types(program)
    if not program.functions or program.functions[0].name != program.entry:
        page.add_line(f"entry {format_name(program.entry)}")
        page.add_line("")
    for number, function in enumerate(program.functions):
        if number:
            page.add_line("")
        _write_function(page, function, types)
    return page


def _write_function(page: TextWriter, function: Function, types: Iterator[list[Type]]) -> None:
    results = format_result_types(function.results) if function.results or function.body.results else ""
    page.add_line(
        f"func {format_name(function.name)}({_format_parameters(function.body)}){results} {{", function.location
    )
    _write_body(page, function.body, "return", types, 0)
    for phase, returned in zip(islice(function.body.phases(), 1, None), function.pullbacks, strict=True):
        page.add_line(f"}} pullback({_format_parameters(phase)}){format_result_types(returned)} {{")
        _write_body(page, phase, "return", types, 0)
    page.add_line("}")


def _write_body(page: TextWriter, region: Region, leave: str, types: Iterator[list[Type]], depth: int) -> None:
    """Write the body of a region at nesting `depth`."""
    for node in region.nodes:
        _write_node(page, node, types, depth)
    page.add_line(f"{_indent(depth)}{leave} {_format_operands(region.results)}".rstrip())


def _indent(depth: int) -> str:
    return "  " * (2 * depth + 1)


def _write_node(page: TextWriter, node: Node, types: Iterator[list[Type]], depth: int) -> None:
    indent = _indent(depth)
    head = f"{indent}{_format_targets(node, next(types))} = {_format_operation(node)}"
    if not node.regions and node.op not in REGION_KEYWORDS:
        page.add_line(head, node.location)
        return
    if node.regions and depth == MAX_NESTING:
        raise unwritable_error(f"more than {MAX_NESTING} nested regions", node.op)
    page.add_line(f"{head} {{", node.location)
    words = REGION_KEYWORDS.get(node.op, ())
    for word, region in _keyword_phases(node, words if len(words) == len(node.regions) else repeat("region")):
        opening = f"{indent}  {word}({_format_parameters(region)}) {{"
        if region.nodes:
            page.add_line(opening)
            _write_body(page, region, "yield", types, depth + 1)
            page.add_line(f"{indent}  }}")
        else:
            page.add_line(f"{opening} {' '.join(filter(None, ['yield', _format_operands(region.results)]))} }}")
    page.add_line(f"{indent}}}")


def _keyword_phases(node: Node, words: Iterable[str]) -> Iterator[tuple[str, Region]]:
    """The regions of a node with their phases, each with its keyword."""
    for word, region in zip(words, node.regions, strict=False):
        yield from zip(chain([word], repeat("pullback")), region.phases(), strict=False)


def _format_targets(node: Node, inferred: Sequence[Type]) -> str:
    """The names of the results, with the type where it is not the inferred one."""
    if not node.results:
        raise unwritable_error("a node without results", node.op)
    pairs = zip(node.results, inferred, strict=True)
    return ", ".join(
        format_name(name) if type_ == found else format_typed_name(name, type_) for (name, type_), found in pairs
    )


_CALLEE_ATTRIBUTES = {
    "call": ("function", "a call that names no function"),
    "pullback": (PULLBACK_TARGET, "a pullback that names no node"),
}


def _format_operation(node: Node) -> str:
    given, callee = node.attributes, ""
    if node.op in _CALLEE_ATTRIBUTES:
        what, said = _CALLEE_ATTRIBUTES[node.op]
        if not given or given[0][0] != what or not isinstance(given[0][1], str):
            raise unwritable_error(said, node.attributes)
        callee, given = f" {format_name(given[0][1])}", given[1:]
    arguments = chain(map(_format_operand, node.inputs), format_attributes(given))
    return f"{format_name(node.op)}{callee} {', '.join(arguments)}".rstrip()


def _format_parameters(region: Region) -> str:
    parameters: tuple[Var, ...] = region.parameters
    return ", ".join(format_typed_name(name, type_) for name, type_ in parameters)


def _format_operands(operands: Sequence[Operand]) -> str:
    return ", ".join(map(_format_operand, operands))


def _format_operand(operand: Operand) -> str:
    return format_name(operand) if isinstance(operand, str) else str(operand)
