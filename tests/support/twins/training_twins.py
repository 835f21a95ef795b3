"""Broken twins of training in speculated code: each has one mechanism that is wrong, and a model that shows it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pytest import MonkeyPatch
from tagloom.interp.speculation import training
from tagloom.interp.speculation.generation import Generation
from tagloom.interp.speculation.heap import ObjectTable
from tagloom.interp.speculation.staging import Staging


def _results_for_all_keys(patch: MonkeyPatch) -> None:
    """After a call, attributes are results of it, which the loss does not depend on."""

    def written_keys(generation: Generation, callee: Any) -> list[Any]:
        return [key for key in generation.keys if key in generation.requirements.assigned_keys]

    patch.setattr(Generation, "_written_keys", written_keys)


def _unrecorded_branches(patch: MonkeyPatch) -> None:
    patch.setattr(Staging, "is_recording", lambda staging: False)


def _constant_rate(patch: MonkeyPatch) -> None:
    """The optimizer has the rate of the call for which the graph was made."""

    def with_symbols(staging: Staging, static: Any, dtype: Any) -> Any:
        return copy.copy(staging.observation.instances[static])

    patch.setattr(training, "_with_symbols", with_symbols)


def _first_variable_of_all(patch: MonkeyPatch) -> None:
    """Static objects that differ by their place only are taken for one."""
    sound = ObjectTable.encode_place

    def encode_place(table: ObjectTable, key: Any, layout: Any) -> Any:
        values = table.__dict__.setdefault("first_values", {})
        return values.setdefault((key.owner.owner, key.name, layout), sound(table, key, layout))

    patch.setattr(ObjectTable, "encode_place", encode_place)


def _gradient_by_all_names(patch: MonkeyPatch) -> None:
    """The gradient is that with respect to an array under any name."""
    sound = Staging.emit

    def emit(staging: Staging, op: str, *operands: Any, **attributes: Any) -> Any:
        return operands[0] if op == "identity" else sound(staging, op, *operands, **attributes)

    patch.setattr(Staging, "emit", emit)


TWINS: dict[str, tuple[Callable[[MonkeyPatch], None], str]] = {
    "results for all keys": (_results_for_all_keys, "perceptron"),
    "unrecorded branches": (_unrecorded_branches, "switched"),
    "gradient by all names": (_gradient_by_all_names, "functional"),
    "constant rate": (_constant_rate, "sgd"),
    "first variable of all": (_first_variable_of_all, "sgd"),
}
