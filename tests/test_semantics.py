"""docs/semantics.md agrees with the code: it has every numbered rule, in the same words, and names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "semantics.md").read_text()
SOURCES = (
    "core/tag.py",
    "core/program/validate.py",
    "core/graph/validate.py",
    "core/graph/contexts.py",
    "core/graph/lower.py",
    "interp/machine/step.py",
    "interp/machine/fire.py",
    "interp/machine/state.py",
    "interp/outcome/outcome.py",
    "interp/machine/cells.py",
    "interp/machine/effects.py",
    "interp/machine/k_bounds.py",
    "interp/machine/dead_tokens.py",
    "core/frontend/__init__.py",
    "core/autodiff/__init__.py",
    "core/transform/prune.py",
)
RULE = r"([TVLSFDP]\d+)"


def plain(text: str) -> str:
    """The words of a text: no marks, single spaces."""
    return " ".join(re.sub(r"[*`]", "", text).split()).rstrip(".")


def written(text: str, rule: str) -> dict[str, str]:
    """The rules of a text, by number; indented lines continue a rule."""
    result = re.finditer(rule + r"[ *]+(\S.*(?:\n +\S.*)*)", text, re.MULTILINE)
    return {match[1]: plain(match[2]) for match in result}


IN_CODE = {
    number: said
    for file in SOURCES
    for number, said in written((ROOT / file).read_text().split('"""')[1], "^" + RULE).items()
}
ON_PAGE = written(PAGE, r"^- \*\*" + RULE)


def test_every_rule_is_on_the_page() -> None:
    """The page and the code have the same rule numbers."""
    assert set(ON_PAGE) == set(IN_CODE)
    assert len(IN_CODE) == 4 + 17 + 11 + 18 + 3 + 6 + 5


@pytest.mark.parametrize("number", sorted(IN_CODE, key=lambda number: (number[0], int(number[1:]))))
def test_a_rule_reads_the_same(number: str) -> None:
    """The page and the docstring of the code that implements a rule have the same words."""
    assert IN_CODE[number].startswith(ON_PAGE[number].rstrip(":"))


def test_every_rule_in_a_message_is_on_the_page() -> None:
    """The number of a rule that an error names is one that the page explains."""
    files = [file for room in ("core", "interp", "viz", "tui") for file in (ROOT / room).rglob("*.py")]
    named = {number for file in files for number in re.findall(r'rule="(\w+)"', file.read_text(encoding="utf-8"))}
    assert {"V4", "S4", "F4"} <= named <= set(ON_PAGE)


def test_the_files_exist() -> None:
    """Every file that the page names exists."""
    named = set(re.findall(r"`((?:core|interp|tests)/[\w/.]+)`", PAGE))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_op_is_on_the_page() -> None:
    """The page lists every elementwise op, product and sum of the registry; docs/ops.md has the others."""
    table = PAGE.split("| op | operands |")[1].split("\n\n")[0]
    rows = [line.split(" | ")[0] for line in table.splitlines()[2:]]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert named == [row.name for row in OPS.values() if row.scalar is not None or row.name in ("matmul", "sum")]
    others = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert all(f"\n| `{row.name}` | " in others for row in OPS.values() if row.scalar is None)


def test_every_dtype_is_on_the_page() -> None:
    """The page names every dtype."""
    assert {repr(dtype) for dtype in dtypes.ALL} <= set(re.findall(r"`(\w+)`", PAGE))
