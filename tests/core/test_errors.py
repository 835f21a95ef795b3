"""Errors: one form for all, and a class for whose fault it is."""

from __future__ import annotations

import pytest
import tagloom as tl
from tagloom.core import errors
from tagloom.core.errors import TagloomError
from tagloom.core.program.program import Location
from tagloom.core.tag import ROOT, Site

KINDS = (
    tl.Usage,
    tl.Malformed,
    tl.Invalid,
    tl.Trap,
    tl.Exhausted,
    tl.Deadlock,
    tl.Broken,
    tl.Disagreement,
    tl.Crash,
)


def test_full_form() -> None:
    """An error says rule, message, where, tag, required, got and hint, in this order; all but the first in lines
    of their own."""
    error = tl.Broken(
        "node add got a second token",
        rule="S4",
        where=Location("/home/someone/sum.py", 12),
        tag=ROOT.child(Site("main", "loop", "loop"), 4),
        required="one token",
        got=5.0,
        hint="a merge is missing before it",
    )
    assert str(error) == (
        "S4: node add got a second token (sum.py:12) under main/loop[4]\n"
        "  required: one token\n"
        "  got: 5.0\n"
        "  hint: a merge is missing before it"
    )


@pytest.mark.parametrize(
    ("details", "said"),
    [
        ({}, "wrong"),
        ({"rule": "V2"}, "V2: wrong"),
        ({"where": "main.add"}, "wrong (main.add)"),
        ({"tag": ROOT}, "wrong under main"),
        ({"got": 0}, "wrong\n  got: 0"),
        ({"got": ()}, "wrong\n  got: ()"),
        ({"required": False, "hint": "x"}, "wrong\n  required: False\n  hint: x"),
    ],
    ids=str,
)
def test_what_is_unknown_is_left_out(details: dict[str, object], said: str) -> None:
    """What is not known takes no line; what is empty or zero is known."""
    assert str(TagloomError("wrong", **details)) == said  # type: ignore[arg-type]


def test_context_may_be_added_on_the_way() -> None:
    """Who knows more says so by a field or a note; the class stays as it was."""
    error = tl.Invalid("wrong")
    error.rule, error.where = "V4", "main.add"
    error.add_note("also this")
    assert str(error) == "V4: wrong (main.add)" and error.__notes__ == ["also this"] and error.args == ("wrong",)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_kinds(kind: type[TagloomError]) -> None:
    """Every kind of error is one class, of one base, that says whose fault it is."""
    assert kind.__mro__[1] is TagloomError and issubclass(TagloomError, Exception) and kind.__doc__
    with pytest.raises(TagloomError, match="wrong"):
        raise kind("wrong")


def test_all_kinds_are_public() -> None:
    """There are no other kinds, and `tagloom` has them all."""
    found = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TagloomError)}
    assert found == {TagloomError, *KINDS}
    assert all(getattr(tl, kind.__name__) is kind and kind.__name__ in tl.__all__ for kind in found)
