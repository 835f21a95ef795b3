"""The tracings of a function: which there are, for what arguments, and why each was made.

Owns the cache of a `tl.function`, keyed by how arguments nest, the types of their leaves, and the identity of what is
no value. It refuses to know how a function is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from ...core.frontend.eager.array import Concrete
from ...core.frontend.eager.recording import hearing
from ...core.frontend.eager.variable_reads import assigned, seen
from ...core.frontend.trace.captures import Resource
from ...core.frontend.trace.pytree import Form, Structure, leaf_names
from ...core.graph.graph import Graph
from ...core.program.program import Program
from ...core.types import Type, type_of
from ...core.value import Literal
from ..lru_cache import Recent

_ENDING = Lock()
"""Held while a run reads variables, or assigns them: so others see all that it assigns, or nothing."""
MOST = 128
"""How many tracings a function keeps, unless it says."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A program in both forms, and how its results nest."""

    program: Program
    graph: Graph
    structure: Structure
    callbacks: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The Python functions that it calls, by the names that they have in it."""
    captured: tuple[Resource, ...] = ()
    """What it takes beside its arguments: behind them, in this order."""
    assigned: tuple[Resource, ...] = ()
    """The variables that it assigns: behind its results, in this order."""
    created: tuple[Resource, ...] = ()
    """The variables that were made while it was traced."""
    draws: bool = False
    """Whether it draws random numbers."""

    def given(self, leaves: Sequence[Any], held: Mapping[Resource, Any] | None = None) -> list[Any]:
        """All arguments of the program; `held` is what resources hold instead of what they hold now."""
        found = self.held() if held is None else held
        return [*leaves, *(found[each]._tagloom_literal.value for each in self.captured)]

    def held(self) -> dict[Resource, Any]:
        """What resources hold now, all at one time: no run ends in between."""
        if not self.captured:
            return {}
        for each in self.captured:
            each.settle()
        with _ENDING:
            return {each: each.value for each in self.captured}

    def seen(self) -> dict[Resource, Any]:
        """What they hold now, as tapes under way have it, which are told of the variables that are assigned, too."""
        held = self.held()
        if not hearing():
            return held
        for each in self.assigned:
            seen(each, each.value)
        return {each: seen(each, value) for each, value in held.items()}

    def made(self, results: Sequence[Any]) -> list[Concrete]:
        """What a run that returned has assigned, of which these are all results."""
        return [Concrete(Literal(value, type_of(value))) for value in results[self.structure.size :]]

    def assign(self, results: Sequence[Any]) -> list[Concrete]:
        """Have variables hold what a run that returned has assigned them; that."""
        if not self.assigned:
            return []
        values = self.made(results)
        with _ENDING:
            for variable, value in zip(self.assigned, values, strict=True):
                variable.value = value
        for variable in self.assigned:
            assigned(variable)
        return values


@dataclass(frozen=True, slots=True)
class Tracing:
    """One tracing, and why it was made, in words."""

    number: int
    forms: tuple[Form, ...]
    traced: Traced
    reason: str


class Tracings:
    """The tracings of a function of this name, so many at most."""

    def __init__(self, name: str, most: int = MOST, *, relax: bool = False) -> None:
        self.name, self.most, self.relax = name, most, relax
        self._found: Recent[tuple[Form, ...], Tracing] = Recent(most)
        self._briefly: Recent[object, Tracing] = Recent(most)
        """Those that were asked for by short keys, since the last one was made."""
        self._count = 0

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Tracing]:
        """Those that are kept, in the order in which they were made."""
        return iter(sorted(self._found.values(), key=lambda tracing: tracing.number))

    def known(self, key: object) -> Traced | None:
        """The one that was asked for by this short key before, if it is kept."""
        found = self._briefly.used(key)
        if found is not None and len(self._found) > 1:
            self._found.used(found.forms)
        return None if found is None else found.traced

    def get(self, forms: tuple[Form, ...], key: object = None) -> Traced | None:
        """The one for these forms, if it is kept; where shapes may be relaxed, one that admits them. It is
        found sooner by a `key` that only arguments of these forms have."""
        found = self._found.used(forms)
        if found is None and self.relax:
            wide = next((each.forms for each in self._found.values() if _admits(each.forms, forms)), None)
            found = None if wide is None else self._found.used(wide)
        if found is not None and key is not None:
            self._briefly.keep(key, found)
        return None if found is None else found.traced

    def relaxed(self, forms: tuple[Form, ...]) -> tuple[Form, ...]:
        """The forms to trace for: where shapes may be relaxed, what these share with all tracings that differ in no
        more than sizes."""
        found = forms
        for each in self._found.values() if self.relax else ():
            found = _joined(each.forms, found) or found
        return found

    def add(self, forms: tuple[Form, ...], traced: Traced, names: Sequence[str], asked: tuple[Form, ...]) -> Traced:
        """Keep one that was made, for arguments of the forms `asked`; the one that was used longest ago may go."""
        reason = self._why(asked, names)
        if forms != asked:
            reason += f"; shapes are relaxed to {_said(forms)}"
        if traced.created:
            reason += f"; traced twice, since the first time made {', '.join(each.name for each in traced.created)}"
        self._count += 1
        self._briefly = Recent(self.most)
        return self._found.keep(forms, Tracing(self._count, forms, traced, reason)).traced

    def explain(self) -> str:
        """Every tracing that there is, and why it was made."""
        kept = list(self)
        lines = [f"{self.name}: {len(kept)} {'tracing' if len(kept) == 1 else 'tracings'}"]
        if self._count > len(kept):
            lines[0] += f", {self._count - len(kept)} dropped: no more than {self.most} are kept"
        for each in kept:
            lines += [f"  {each.number}. {_said(each.forms)}", f"     {each.reason}"]
        shapes = sum(" has shape " in each.reason for each in kept)
        if shapes > 2 and not self.relax:
            lines.append(f"  {shapes} of them differ in shapes: tl.function(relax_shapes=True) makes one for all")
        return "\n".join(lines)

    def _why(self, forms: tuple[Form, ...], names: Sequence[str]) -> str:
        """The difference to the tracing that is nearest, the latest of several."""
        if not self._count:
            return "the first call"
        known = reversed(self._found.values())
        differences = [(_differences(each.forms, forms, names), each.number) for each in known]
        if not differences:
            return "the tracings before are dropped"
        nearest, number = min(differences, key=lambda pair: len(pair[0]))
        return f"unlike {number}: {'; '.join(nearest)}" if nearest else f"{number} was dropped"


def _said(forms: Sequence[Form]) -> str:
    return f"({', '.join(map(str, forms))})"


def _admits(known: Sequence[Form], forms: Sequence[Form]) -> bool:
    return all(
        one.structure == other.structure and all(a.admits(b) for a, b in zip(one.types, other.types, strict=True))
        for one, other in zip(known, forms, strict=True)
    )


def _joined(known: Sequence[Form], forms: Sequence[Form]) -> tuple[Form, ...] | None:
    """The narrowest forms that admit both; None where they differ in more than sizes."""
    made = []
    for one, other in zip(known, forms, strict=True):
        if one.structure != other.structure:
            return None
        types = [_joined_type(*pair) for pair in zip(one.types, other.types, strict=True)]
        if None in types:
            return None
        made.append(Form(one.structure, tuple(type_ for type_ in types if type_ is not None)))
    return tuple(made)


def _joined_type(one: Type, other: Type) -> Type | None:
    alike = one.shape is not None and other.shape is not None and len(one.shape) == len(other.shape)
    return one.join(other) if alike else None


def _differences(known: Sequence[Form], forms: Sequence[Form], names: Sequence[str]) -> list[str]:
    """In what the arguments differ, in words: what was, and what came."""
    found: list[str] = []
    for name, one, other in zip(names, known, forms, strict=True):
        if one.structure == other.structure:
            parts = zip(leaf_names(one.structure, name), one.types, other.types, strict=True)
            found += [f"{inner} {change}" for inner, old, new in parts for change in _changes(old, new)]
        elif one.structure.fixed is not None and other.structure.fixed is not None:
            before, now = str(one.structure.fixed), str(other.structure.fixed)
            found.append(f"{name} is another {before}" if before == now else f"{name} was {before}, and is {now}")
        else:
            found.append(f"{name} nests as {other}, and not as {one}")
    return found


def _changes(one: Type, other: Type) -> Iterator[str]:
    if one.dtype is not other.dtype:
        yield f"was {one.dtype!r}, and is {other.dtype!r}"
    if one.shape != other.shape:
        yield f"has shape {_shape(other)}, and not {_shape(one)}"


def _shape(type_: Type) -> str:
    return "of any rank" if type_.shape is None else str(type_.shape).replace("None", "?")
