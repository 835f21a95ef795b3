"""What a logpoint says: a text with expressions in braces, `fib got {inputs[0]} under {tag}`; `{{` is a brace."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...core.graph.graph import Graph
from ..machine.event import Event
from ..machine.state import State
from .expression import Expression, compile_part
from .fault import Fault, complaint
from .reader import LONGEST

_PLAIN = re.compile(r"(?:[^{}]|\{\{|\}\})*")
_INSIDE = re.compile(r"""(?:[^{}'"]|'[^']*'|"[^"]*")*""")


@dataclass(frozen=True, slots=True)
class Template:
    """Texts and expressions, one after the other. `str` is how it is written, in normal form."""

    parts: tuple[str | Expression, ...]

    def of(self, state: State, event: Event) -> str:
        """The line for an event that the state has just done; raises nothing."""
        return "".join(part if isinstance(part, str) else part.shown(state, event) for part in self.parts)

    def __str__(self) -> str:
        written = (
            part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else f"{{{part}}}"
            for part in self.parts
        )
        return "".join(written)


def compile_template(text: str, graph: Graph) -> Template:
    """The template that a text is, over events of runs of this graph; raises Malformed and Usage as
    `compile_expression` does."""
    try:
        if len(text) > LONGEST:
            raise Fault("the text is too long", 0, required=f"{LONGEST:,} characters at most", got=f"{len(text):,}")
        return Template(tuple(_parts(text, graph)))
    except Fault as fault:
        raise complaint(fault, text) from None


def _parts(text: str, graph: Graph) -> list[str | Expression]:
    parts: list[str | Expression] = []
    at = 0
    while True:
        plain = _PLAIN.match(text, at)
        assert plain is not None
        if plain[0]:
            parts.append(plain[0].replace("{{", "{").replace("}}", "}"))
        at = plain.end()
        if at == len(text):
            return parts
        if text[at] == "}":
            raise Fault("this brace was not opened", at, hint="a brace in the text is written twice: `}}`")
        end = _closing(text, at)
        parts.append(compile_part(text, graph, at + 1, end))
        at = end + 1


def _closing(text: str, opening: int) -> int:
    """Where the brace that closes this one stands: not in a text."""
    inside = _INSIDE.match(text, opening + 1)
    assert inside is not None
    end = inside.end()
    if end < len(text) and text[end] == "}":
        return end
    if end < len(text) and text[end] in "'\"":
        raise Fault(f"`{text[end]}` cannot stand here", end, hint="a text ends with the quote with which it begins")
    raise Fault("this brace is not closed", opening, required="`}`", hint="a brace in the text is written twice: `{{`")
