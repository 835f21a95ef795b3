"""Logpoint templates: texts with expressions in braces, `fib got {inputs[0]} under {tag}`; `{{` is a brace."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...core.graph.graph import Graph
from ..machine.event import Event
from ..machine.state import State
from .expression import Expression, compile_substring
from .fault import ExpressionFault, to_error
from .reader import MAX_LENGTH

_LITERAL_TEXT = re.compile(r"(?:[^{}]|\{\{|\}\})*")
_EXPRESSION_TEXT = re.compile(r"""(?:[^{}'"]|'[^']*'|"[^"]*")*""")


@dataclass(frozen=True, slots=True)
class LogTemplate:
    """Alternating texts and expressions. `str` is the template's text in normal form."""

    parts: tuple[str | Expression, ...]

    def render(self, state: State, event: Event) -> str:
        """The line for an event, in the state after it; raises nothing."""
        return "".join(part if isinstance(part, str) else part.describe_value(state, event) for part in self.parts)

    def __str__(self) -> str:
        written = (
            part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else f"{{{part}}}"
            for part in self.parts
        )
        return "".join(written)


def compile_template(text: str, graph: Graph) -> LogTemplate:
    """Compile a template over events of runs of this graph; raises Malformed and Usage as `compile_expression` does."""
    try:
        if len(text) > MAX_LENGTH:
            raise ExpressionFault(
                "the text is too long", 0, required=f"{MAX_LENGTH:,} characters at most", got=f"{len(text):,}"
            )
        return LogTemplate(tuple(_parse_parts(text, graph)))
    except ExpressionFault as fault:
        raise to_error(fault, text) from None


def _parse_parts(text: str, graph: Graph) -> list[str | Expression]:
    parts: list[str | Expression] = []
    at = 0
    while True:
        plain = _LITERAL_TEXT.match(text, at)
        assert plain is not None
        if plain[0]:
            parts.append(plain[0].replace("{{", "{").replace("}}", "}"))
        at = plain.end()
        if at == len(text):
            return parts
        if text[at] == "}":
            raise ExpressionFault("this brace was not opened", at, hint="a brace in the text is written twice: `}}`")
        end = _find_closing_brace(text, at)
        parts.append(compile_substring(text, graph, at + 1, end))
        at = end + 1


def _find_closing_brace(text: str, opening: int) -> int:
    """The position of the brace that closes this one, outside of quoted texts."""
    inside = _EXPRESSION_TEXT.match(text, opening + 1)
    assert inside is not None
    end = inside.end()
    if end < len(text) and text[end] == "}":
        return end
    if end < len(text) and text[end] in "'\"":
        raise ExpressionFault(
            f"`{text[end]}` cannot stand here", end, hint="a text ends with the quote with which it begins"
        )
    raise ExpressionFault(
        "this brace is not closed", opening, required="`}`", hint="a brace in the text is written twice: `{{`"
    )
