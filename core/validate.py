"""The well-formedness rules of programs. Every rule has a number; every problem says which one it breaks.

V1  A name is defined before it is used, in the region that uses it.
V2  Names are unique: functions in a program; parameters and nodes in a function, and in each of its regions.
V3  A node's op exists, and the node has as many operands, results and regions as the op says.
V4  Operands have types that the op takes; the results have the types that it makes.
V5  Branches and loops fit: a predicate is one bool; branches take the operands; the results have the narrowest types
    that admit what both branches yield; loop variables have the types of the results throughout.
V6  A call names a function of the program and gives it its arguments; its results have the types of the function's.

The rules of graphs, V7 on, are in `validate_graph`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from . import dtypes
from .errors import Invalid
from .op import OPS
from .program import STRUCTURED, Function, Node, Operand, Program, Region, Var
from .types import Type
from .value import Literal

_BOOL = Type(dtypes.bool)


def program_problems(program: Program) -> list[Invalid]:
    """Everything that is wrong with a program, in program order; empty where it is well-formed."""
    return list(_Checker(program).program())


class _Checker:
    def __init__(self, program: Program) -> None:
        self.functions = {function.name: function for function in program.functions}
        self.subject = program

    def program(self) -> Iterator[Invalid]:
        yield from _duplicates([function.name for function in self.subject.functions], "function", None)
        if self.subject.entry not in self.functions:
            yield Invalid(
                "the entry is no function", rule="V6", required=sorted(self.functions), got=self.subject.entry
            )
        for function in self.subject.functions:
            yield from self.function(function)

    def function(self, function: Function) -> Iterator[Invalid]:
        nodes = [result.name for node in function.body.walk() for result in node.results]
        parameters = [parameter.name for parameter in function.body.parameters]
        yield from _duplicates(parameters + nodes, "value", function.location or function.name)
        yield from self.region(function.body, function.results, function.location or function.name)

    def region(self, region: Region, results: Sequence[Type] | None, where: object) -> Iterator[Invalid]:
        """What is wrong in a region; where `results` are given, it yields what they admit."""
        known = {parameter.name: parameter.type for parameter in region.parameters}
        for node in region.nodes:
            place = node.location or (node.name if node.results else node.op)
            for inner in node.regions:
                names = [parameter.name for parameter in inner.parameters]
                yield from _duplicates([*names, *(set(names) & _made(inner))], "value", place)
            missing = [name for name in node.inputs if isinstance(name, str) and name not in known]
            if missing:
                yield Invalid(
                    f"{node.op} uses a name that is not defined here",
                    rule="V1",
                    where=place,
                    required=sorted(known),
                    got=missing[0],
                    hint="a region sees its own parameters and nodes; pass the value as an operand",
                )
            else:
                yield from self.node(node, [_type(operand, known) for operand in node.inputs], place)
            known.update(node.results)
        missing = [name for name in region.results if isinstance(name, str) and name not in known]
        if missing:
            yield Invalid(
                "a region yields a name it does not define", rule="V1", where=where, required=sorted(known), got=missing
            )
        elif results is not None:
            yield from _fit("V5", "results", results, [_type(result, known) for result in region.results], where)

    def node(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        regions = {"cond": 2, "while_loop": 2}.get(node.op, 0)
        if node.op not in OPS and node.op not in STRUCTURED:
            close = get_close_matches(node.op, [*OPS, *STRUCTURED], 1, 0.5)
            hint = f"do you mean {close[0]}?" if close else f"the ops are {', '.join([*OPS, *STRUCTURED])}"
            yield Invalid(f"there is no op {node.op!r}", rule="V3", where=where, required="an op", hint=hint)
        elif len(node.regions) != regions or not node.results:
            yield Invalid(
                f"{node.op} has the wrong number of regions or results",
                rule="V3",
                where=where,
                required=f"{regions} regions and at least one result",
                got=f"{len(node.regions)} and {len(node.results)}",
            )
        elif node.op == "cond":
            yield from self.cond(node, operands, where)
        elif node.op == "while_loop":
            yield from self.while_loop(node, operands, where)
        elif node.op == "call":
            yield from self.call(node, operands, where)
        else:
            yield from self.ordinary(node, operands, where)

    def ordinary(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        row = OPS[node.op]
        if (len(operands), len(node.results)) != (row.arity, 1):
            yield Invalid(
                f"{node.op} has the wrong number of operands or results",
                rule="V3",
                where=where,
                required=f"{row.arity} and 1",
                got=f"{len(operands)} and {len(node.results)}",
            )
            return
        if tuple(name for name, _ in node.attributes) != row.attributes:
            yield Invalid(
                f"{node.op} has the wrong attributes",
                rule="V3",
                where=where,
                required=row.attributes,
                got=node.attributes,
            )
            return
        try:
            made = row.types(*operands, **dict(node.attributes))
        except Invalid as error:
            error.rule, error.where, error.message = "V4", where, f"{node.op}: {error.message}"
            yield error
            return
        if made != node.results[0].type:
            yield Invalid(
                f"{node.op} makes another type than its result has",
                rule="V4",
                where=where,
                required=made,
                got=node.results[0].type,
            )

    def cond(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        if not operands or operands[0] != _BOOL:
            got = ", ".join(map(str, operands[:1])) or "nothing"
            yield Invalid("the predicate of cond is not one bool", rule="V5", where=where, required=_BOOL, got=got)
            return
        for region in node.regions:
            yield from _fit("V5", "operands", _types(region.parameters), operands[1:], where)
            yield from self.region(region, None, where)
        yielded = [_yielded(region) for region in node.regions]
        if yielded[0] is not None and yielded[1] is not None:
            yield from self.joined(node, yielded[0], yielded[1], where)

    def joined(self, node: Node, one: list[Type], other: list[Type], where: object) -> Iterator[Invalid]:
        """The results of a cond are the joins of what its branches yield."""
        if len(one) != len(other):
            yield _misfit("V5", "results of the branches", one, other, where)
            return
        apart = [(mine, theirs) for mine, theirs in zip(one, other, strict=True) if mine.join(theirs) is None]
        for mine, theirs in apart:
            yield Invalid(
                "the branches yield different types",
                rule="V5",
                where=where,
                required="one dtype",
                got=f"{mine} and {theirs}",
                hint="convert one of them with astype",
            )
        made = [mine.join(theirs) for mine, theirs in zip(one, other, strict=True)]
        if not apart and made != _types(node.results):
            yield _misfit("V5", "results of cond", [type_ for type_ in made if type_], _types(node.results), where)

    def while_loop(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        condition, body = node.regions
        types = _types(node.results)
        for region in node.regions:
            if _types(region.parameters) != types:
                yield _misfit("V5", "loop variables", types, _types(region.parameters), where)
        yield from _fit("V5", "loop variables", types, operands, where)
        yield from self.region(condition, [_BOOL], where)
        yield from self.region(body, types, where)

    def call(self, node: Node, operands: list[Type], where: object) -> Iterator[Invalid]:
        name = dict(node.attributes).get("function")
        if name not in self.functions:
            yield Invalid("a call names no function of the program", rule="V6", where=where, got=name)
            return
        callee = self.functions[name]
        yield from _fit("V6", "arguments", _types(callee.body.parameters), operands, where)
        if list(callee.results) != _types(node.results):
            yield _misfit("V6", "results", callee.results, _types(node.results), where)


def _types(variables: Sequence[Var]) -> list[Type]:
    return [variable.type for variable in variables]


def _type(operand: Operand, known: dict[str, Type]) -> Type:
    return operand.type if isinstance(operand, Literal) else known[operand]


def _yielded(region: Region) -> list[Type] | None:
    """The types of what a region yields, or None where it yields a name it does not define."""
    known = {name: type_ for node in region.nodes for name, type_ in node.results} | dict(region.parameters)
    if any(isinstance(result, str) and result not in known for result in region.results):
        return None
    return [_type(result, known) for result in region.results]


def _made(region: Region) -> set[str]:
    return {result.name for node in region.nodes for result in node.results}


def _duplicates(names: list[str], what: str, where: object) -> Iterator[Invalid]:
    for name in sorted(name for name, count in Counter(names).items() if count > 1):
        yield Invalid(f"two {what}s have one name", rule="V2", where=where, required="unique names", got=name)


def _fit(rule: str, what: str, wanted: Sequence[Type], found: Sequence[Type], where: object) -> Iterator[Invalid]:
    if len(wanted) != len(found) or not all(w.admits(f) for w, f in zip(wanted, found, strict=True)):
        yield _misfit(rule, what, wanted, found, where)


def _misfit(rule: str, what: str, wanted: Sequence[Type], found: Sequence[Type], where: object) -> Invalid:
    required, got = (", ".join(map(str, types)) or "none" for types in (wanted, found))
    return Invalid(f"the {what} do not fit", rule=rule, where=where, required=required, got=got)
