"""Compositions of ops: the table compose.tsv, with a row for each op and a column for each target.

An entry is an expression in the target's own operations; `x`, `y`, `z` are the operands, `operands` is all of them,
attributes have their names, `dims` is the attribute `axis` as a tuple (empty for None), and `dtype` is the result's
dtype. `=` repeats NumPy's entry with the target's own module. An entry that begins with `-` says why the target cannot
compute the op. A row `op:kinds` is for operands of these kinds of dtypes only, and comes before the row of the op.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ....core.ops.indexing import OPEN_BOUND, IndexKey
from .walker import OpUse, Refusal

MODULES = {"jax": "jnp", "torch": "torch"}
"""The name of the module that has NumPy's functions, for targets whose entries say `=`."""


@cache
def compositions(target: str) -> Mapping[str, str]:
    """The entries of a target, by op, or by op and kinds."""
    lines = files(__package__).joinpath("compose.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    header, *entries = rows
    column = header.index(target)
    numpy = header.index("numpy")
    table = {}
    for row in entries:
        entry = row[column]
        table[row[0]] = row[numpy].replace("np.", f"{MODULES[target]}.") if entry == "=" else entry
    return table


def compose(table: Mapping[str, str], use: OpUse) -> ast.expr:
    """The expression of an op for these operands. Raises Refusal where the table says that there is none, and where an
    attribute leaves sizes to the run."""
    name, kind = use.row.name, use.operands[0].dtype.kind
    entry = next((table[key] for key in entry_keys(name, kind) if key in table), "-this op has no entry")
    if entry.startswith("-"):
        raise Refusal("op", f"{name} of {use.operands[0].dtype!r}: {entry[1:]}")
    for value in use.attributes.values():
        if (isinstance(value, tuple) and None in value) or (isinstance(value, str) and OPEN_BOUND in value):
            raise Refusal("shape", f"{name} takes sizes or bounds that are known at run time only")
    return parse_entry(entry)


def entry_keys(name: str, kind: str) -> list[str]:
    """The keys of the table that are for an op on operands of a kind of dtype, the narrowest first."""
    return [f"{name}:{kinds}" for kinds in ("b", "i", "u", "f", "iu", "bi", "biu", "bu") if kind in kinds] + [name]


@cache
def parse_entry(entry: str) -> ast.expr:
    """An entry as a syntax tree."""
    return ast.parse(entry, mode="eval").body


OPERAND_NAMES = "xyz"


class Substitution(ast.NodeTransformer):
    """Replaces names of operands and attributes by expressions."""

    def __init__(self, operands: Sequence[str], attributes: Mapping[str, str]) -> None:
        self.operands, self.attributes = operands, attributes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "operands":
            return parse_entry(f"({''.join(f'{operand}, ' for operand in self.operands)})")
        if node.id in ("indices", "values_indices"):
            first = 1 if node.id == "indices" else 2
            return parse_entry(f"({''.join(f'{operand}, ' for operand in self.operands[first:])})")
        position = OPERAND_NAMES.find(node.id)
        if position >= 0:
            return parse_entry(self.operands[position])
        if node.id == "key":
            subscript = parse_entry(f"_[{self.attributes['key'] or '()'}]")
            assert isinstance(subscript, ast.Subscript)
            return subscript.slice
        return parse_entry(self.attributes[node.id]) if node.id in self.attributes else node


def substitute(expression: ast.expr, operands: Sequence[str], attributes: Mapping[str, str]) -> ast.expr:
    """The expression with operands and attributes in place of their names."""
    result = Substitution(operands, attributes).visit(copy.deepcopy(expression))
    assert isinstance(result, ast.expr)
    return result


Apply = Callable[[str, Sequence[Any], Mapping[str, Any]], Any]
"""Writes an operation of a target: its name, its operands, and its attributes by name."""


def evaluate_entry(expression: ast.expr, values: Mapping[str, Any], apply: Apply) -> Any:
    """The value of an entry in a target without expressions. `apply` writes each of its operations, innermost first;
    `values` has the values of its names. Numbers are Python's.

    >>> entry = parse_entry("Mul(x, Add(y, 1), mode='fast')")
    >>> evaluate_entry(entry, {"x": "a", "y": "b"}, lambda name, operands, attributes: (name, *operands, attributes))
    ('Mul', 'a', ('Add', 'b', 1, {}), {'mode': 'fast'})
    """
    match expression:
        case ast.Constant():
            return expression.value
        case ast.Name():
            return values[expression.id]
        case ast.Call(func=ast.Name(id=name)):
            operands: list[Any] = []
            for argument in expression.args:
                if isinstance(argument, ast.Starred):
                    operands.extend(evaluate_entry(argument.value, values, apply))
                else:
                    operands.append(evaluate_entry(argument, values, apply))
            attributes = {
                keyword.arg: evaluate_entry(keyword.value, values, apply)
                for keyword in expression.keywords
                if keyword.arg
            }
            return apply(name, operands, attributes)
    raise AssertionError(ast.unparse(expression))


def spread_key(key: IndexKey, rank: int) -> list[int | slice | None]:
    """A key of an array of `rank` axes with an entry for each axis: its ellipsis is spread. None inserts an axis."""
    count = sum(entry is not None and entry is not Ellipsis for entry in key)
    full = key if Ellipsis in key else (*key, Ellipsis)
    position = full.index(Ellipsis)
    spread = (*full[:position], *[slice(None)] * (rank - count), *full[position + 1 :])
    return [entry for entry in spread if entry is not Ellipsis]
