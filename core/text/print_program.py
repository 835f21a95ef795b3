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

from ..program.infer import made
from ..program.program import MOST_NESTED, PULLED, Function, Node, Operand, Program, Region, Var
from ..types import Type
from .build_program import REGIONS
from .printer import Page, arrow, attributes, named, typed, unwritable


def print_program(program: Program, *, locations: bool = True) -> str:
    """A program as text that `parse` reads back: functions in their order, nodes in theirs, a line each.

    `locations` says whether nodes say which lines of source they come from. Raises Usage where there is something
    that the form cannot write: a name that is no identifier, a node without results, an attribute that is no number,
    text or dtype.
    """
    return str(_program(program, Page(locations=locations)))


def _program(program: Program, page: Page) -> Page:
    types = made(program)
    if not program.functions or program.functions[0].name != program.entry:
        page.add(f"entry {named(program.entry)}")
        page.add("")
    for number, function in enumerate(program.functions):
        if number:
            page.add("")
        _function(page, function, types)
    return page


def _function(page: Page, function: Function, types: Iterator[list[Type]]) -> None:
    results = arrow(function.results) if function.results or function.body.results else ""
    page.add(f"func {named(function.name)}({_parameters(function.body)}){results} {{", function.location)
    _body(page, function.body, "return", types, 0)
    for phase, returned in zip(islice(function.body.phases(), 1, None), function.pullbacks, strict=True):
        page.add(f"}} pullback({_parameters(phase)}){arrow(returned)} {{")
        _body(page, phase, "return", types, 0)
    page.add("}")


def _body(page: Page, region: Region, leave: str, types: Iterator[list[Type]], depth: int) -> None:
    """What stands in a region that `depth` others are around."""
    for node in region.nodes:
        _node(page, node, types, depth)
    page.add(f"{_indent(depth)}{leave} {_operands(region.results)}".rstrip())


def _indent(depth: int) -> str:
    return "  " * (2 * depth + 1)


def _node(page: Page, node: Node, types: Iterator[list[Type]], depth: int) -> None:
    indent = _indent(depth)
    head = f"{indent}{_targets(node, next(types))} = {_operation(node)}"
    if not node.regions and node.op not in REGIONS:
        page.add(head, node.location)
        return
    if node.regions and depth == MOST_NESTED:
        raise unwritable(f"more than {MOST_NESTED} nested regions", node.op)
    page.add(f"{head} {{", node.location)
    words = REGIONS.get(node.op, ())
    for word, region in _phases(node, words if len(words) == len(node.regions) else repeat("region")):
        opening = f"{indent}  {word}({_parameters(region)}) {{"
        if region.nodes:
            page.add(opening)
            _body(page, region, "yield", types, depth + 1)
            page.add(f"{indent}  }}")
        else:
            page.add(f"{opening} {' '.join(filter(None, ['yield', _operands(region.results)]))} }}")
    page.add(f"{indent}}}")


def _phases(node: Node, words: Iterable[str]) -> Iterator[tuple[str, Region]]:
    """The regions of a node with their phases, and what each is called."""
    for word, region in zip(words, node.regions, strict=False):
        yield from zip(chain([word], repeat("pullback")), region.phases(), strict=False)


def _targets(node: Node, inferred: Sequence[Type]) -> str:
    """The names of the results; one that has another type than would be inferred says so."""
    if not node.results:
        raise unwritable("a node without results", node.op)
    pairs = zip(node.results, inferred, strict=True)
    return ", ".join(named(name) if type_ == found else typed(name, type_) for (name, type_), found in pairs)


_NAMING = {
    "call": ("function", "a call that names no function"),
    "pullback": (PULLED, "a pullback that names no node"),
}


def _operation(node: Node) -> str:
    given, callee = node.attributes, ""
    if node.op in _NAMING:
        what, said = _NAMING[node.op]
        if not given or given[0][0] != what or not isinstance(given[0][1], str):
            raise unwritable(said, node.attributes)
        callee, given = f" {named(given[0][1])}", given[1:]
    arguments = chain(map(_operand, node.inputs), attributes(given))
    return f"{named(node.op)}{callee} {', '.join(arguments)}".rstrip()


def _parameters(region: Region) -> str:
    parameters: tuple[Var, ...] = region.parameters
    return ", ".join(typed(name, type_) for name, type_ in parameters)


def _operands(operands: Sequence[Operand]) -> str:
    return ", ".join(map(_operand, operands))


def _operand(operand: Operand) -> str:
    return named(operand) if isinstance(operand, str) else str(operand)
