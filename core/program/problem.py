"""Problems: the errors for programs and graphs that break a numbered rule. Every part is required."""

from __future__ import annotations

from ..errors import Invalid


def problem(rule: str, message: str, where: object, *, required: object, got: object, hint: str) -> Invalid:
    """The error for a broken rule: where, what the rule requires, what is there instead, and what to do. Lists are
    joined.

    >>> print(problem("V6", "results do not fit", "f.tl:3", required=["int8", "bool"], got=[], hint="say both"))
    V6: results do not fit (f.tl:3)
      required: int8, bool
      got: none
      hint: say both
    """
    return Invalid(
        message, rule=rule, where=where, required=_describe_items(required), got=_describe_items(got), hint=hint
    )


def _describe_items(said: object) -> object:
    return ", ".join(map(str, said)) or "none" if isinstance(said, list | tuple | dict | set | frozenset) else said
