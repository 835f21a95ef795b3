"""`tagloom ops`: every op of the registry is listed, and described by its row."""

from __future__ import annotations

import pytest
import tagloom as tl
from tagloom.core.act import ROWS
from tagloom.tui.ops import described, listing

NAMES = [name for name in ROWS if name != "store"]


def test_every_op_is_listed() -> None:
    """A line for each op that a program may have, none longer than a terminal is wide."""
    lines = listing().splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(NAMES)
    assert max(map(len, lines)) <= 100 and all(line.endswith(".") for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_an_op_is_described(name: str) -> None:
    """Its operands, its attributes, how it is written, and what its row says."""
    said = described(name)
    assert said.startswith(f"{name}: ") and f"= {name}" in said and ROWS[name].doc.strip() in said
    assert all(attribute in said for attribute in ROWS[name].attributes)


def test_another_name_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(tl.Usage, match="no op is called 'total'") as refused:
        described("total")
    assert refused.value.hint is not None and "sum" in refused.value.hint
