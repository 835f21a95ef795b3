"""The tables of docs/ops.md: rows of the registry, and what the judge of the standard says, group by group.

python tests/array_api_table.py        writes them into the page
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import tagloom as tl
from array_api import GROUPS, LEFT_OUT, alike, answer, calls, strict
from array_rows import attributes as attributes_of
from tagloom.core import dtypes
from tagloom.core.op import OPS, Op
from tagloom.core.program import Node, Var
from tagloom.core.types import Type
from tagloom.interp.compiled.support import left_to_python

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ops.md"
BY_ELEMENTS = [row.name for row in OPS.values() if row.scalar is not None]


def judged() -> Iterator[str]:
    """What the judge says, a row a group."""
    yield "| group | functions | calls | alike |"
    yield "|---|---|---|---|"
    for group, functions in GROUPS.items():
        found = [alike(answer(strict, call), answer(tl, call)) for call in calls() if call.group == group]
        yield f"| {group} | {' '.join(f'`{name}`' for name in functions)} | {len(found)} | {sum(found)} |"


def missing() -> Iterator[str]:
    """What is not there."""
    for name, reason in LEFT_OUT.items():
        if not hasattr(tl, name):
            yield f"- `{name}`: {reason}"


def rows() -> Iterator[str]:
    """The rows that do not compute element by element."""
    yield "| op | operands | attributes | on `compiled` | meaning |"
    yield "|---|---|---|---|---|"
    for row in OPS.values():
        if row.scalar is None:
            attributes = " ".join(f"`{each}`" for each in row.attributes)
            yield f"| `{row.name}` | {_operands(row)} | {attributes} | {_done_by(row)} | {_said(row)} |"


def _operands(row: Op) -> str:
    return "any number" if row.arity is None else str(row.arity)


def _done_by(row: Op) -> str:
    nodes = [Node(row.name, (), (Var("y", Type(dtypes.int64)),), attributes=given) for given in attributes_of(row)]
    left = set(map(left_to_python, nodes))
    return {(True,): "NumPy", (False,): "machine code"}.get(tuple(left), "machine code; of several axes NumPy")


def _said(row: Op) -> str:
    """The first paragraph of the row's documentation."""
    return " ".join(row.doc.split(">>>")[0].split()).replace("|", "\\|")


TABLES = {"rows": rows, "judged": judged, "missing": missing}


def with_tables(page: str) -> str:
    """The page with its tables as they are now: each stands between two comments."""
    for name, lines in TABLES.items():
        before, _, rest = page.partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition("<!-- end -->")
        page = f"{before}<!-- {name} -->\n" + "\n".join(["", *lines(), ""]) + f"\n<!-- end -->{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit()
