"""Broken cores: each machine differs in one line, and the laws of several cores catch it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from random import Random
from typing import Any

import pytest
from pytest import MonkeyPatch
from support.laws.parallel_laws import turn_violations
from support.programs.parallel_programs import careless, fib, fragile, relayed, sums, tak, twice
from support.twins.broken_twin import Break, broken
from tagloom.core.errors import TagloomError
from tagloom.interp.engines.fast import load
from tagloom.interp.engines.fast.delivery_table import DeliveryColumn
from tagloom.interp.engines.fast.parallel import run as several
from tagloom.interp.engines.fast.parallel import store as stamped
from tagloom.interp.engines.limits import Limits
from tagloom.interp.image.image import Image, WordArray

_machines: dict[str, Any] = {}


def code_twin(description: str, line: str, instead: str, *marks: Any) -> Any:
    """Cores in whose source a line is replaced everywhere. They take seconds to compile."""

    def break_code(patch: MonkeyPatch) -> None:
        text, numbered = load.text(load.MachineVariant.MULTICORE), lambda line: load.inline_constants(line, load.ENUMS)
        assert numbered(line) in text, f"no line of the machine is {line}"
        patch.setattr(load, "text", lambda variant: text.replace(numbered(line), numbered(instead)))
        patch.setattr(several, "load_machine", _machines.setdefault(description, cache(load.load_machine.__wrapped__)))

    return pytest.param(break_code, id=description.replace(" ", "_"), marks=marks)


def python_twin(description: str, break_code: Break) -> Any:
    return pytest.param(break_code, id=description.replace(" ", "_"))


def count_one_core(patch: MonkeyPatch) -> None:
    true = stamped.parallel_stats
    patch.setattr(several, "parallel_stats", lambda stores, by_wave, opening: true(stores[:1], by_wave, opening))


def profile_one_core(patch: MonkeyPatch) -> None:
    true = stamped.wave_profile
    patch.setattr(several, "wave_profile", lambda stores, begun: true(stores[-1:], begun))


def leave_results_to_one_core(patch: MonkeyPatch) -> None:
    """All results are left to one core, so that no run on several cores ends."""
    true = stamped.parallel_delivery_rows

    def rows(image: Image) -> WordArray:
        result = true(image)
        result[:, DeliveryColumn.CODE] = stamped.delivery_table(image).rows[:, DeliveryColumn.CODE]
        return result

    patch.setattr(stamped, "parallel_delivery_rows", rows)


def keep_trapped_activations_open(patch: MonkeyPatch) -> None:
    patch.setattr(stamped.CoreStore, "release", lambda self, frame: 0)


def drop_waves_of_traps(patch: MonkeyPatch) -> None:
    """The other operands of a node that traps count as if they had arrived in the first wave."""
    true = stamped.CoreStore.complete_trap
    patch.setattr(
        stamped.CoreStore,
        "complete_trap",
        lambda self, frame, port, waiting_ports, required: true(self, frame, port, (), required),
    )


def keep_traps_of_one_core(patch: MonkeyPatch) -> None:
    true = several.ParallelRun.outcome

    def outcome(self: several.ParallelRun, structure: Any) -> Any:
        self.traps = [trap for trap in self.traps if trap.store is self.stores[0]]
        return true(self, structure)

    patch.setattr(several.ParallelRun, "outcome", outcome)


HEAVY = pytest.mark.heavy
MESSAGE = "read_message(a, r, mem, message, sender, header)"
ABOVE, WHEN = "poke(mem, target + FrameHeader.PARENT", "poke(mem, target + FrameHeader.ITERATION"
TWINS = (
    python_twin("the counts of one core only", count_one_core),
    python_twin("the profile of one core only", profile_one_core),
    python_twin("results are left to one core", leave_results_to_one_core),
    python_twin("activations with a trap stay open", keep_trapped_activations_open),
    python_twin("traps forget the waves of their operands", drop_waves_of_traps),
    python_twin("the traps of one core only", keep_traps_of_one_core),
    code_twin(
        "what waits forgets its wave",
        "poke(operand_waves, operand_word, wave)",
        "wave = wave",
        HEAVY,
    ),
    code_twin("messages are lost", MESSAGE, f"if number % 7 != 6:\n                {MESSAGE}", HEAVY),
    code_twin("messages are read twice", MESSAGE, f"{MESSAGE}\n            {MESSAGE}", HEAVY),
    code_twin(
        "messages forget their waves",
        "poke(message, MessageWord.WAVE, wave)",
        "poke(message, MessageWord.WAVE, 0)",
        HEAVY,
    ),
    code_twin(
        "a proxy closes too early",
        "SITE_WORDS + SiteColumn.ARGUMENTS) + 1)",
        "SITE_WORDS + SiteColumn.ARGUMENTS))",
        HEAVY,
    ),
    code_twin("an open activation is donated", "is_open = child_word", "is_open = False and child_word", HEAVY),
    code_twin("messages under way are nobody's", "return in_transit == 0", "return True", HEAVY),
    code_twin(
        "nobody waits for who is at work",
        "core_line(core) + CoreLine.IS_IDLE) == 0",
        "core_line(core) + CoreLine.IS_IDLE) == 2",
        HEAVY,
    ),
    code_twin("depth begins anew", f"{WHEN}, peek(message, MessageWord.PARENT_DEPTH))", f"{WHEN}, 0)", HEAVY),
    code_twin(
        "results of calls go to another site",
        f"{ABOVE}, peek(message, MessageWord.PARENT_SITE))",
        f"{ABOVE}, 0)",
        HEAVY,
    ),
    code_twin(
        "the caller may close",
        "+ FrameHeader.PENDING) + 1)\n    write_proxy",
        "+ FrameHeader.PENDING))\n    write_proxy",
        HEAVY,
    ),
    code_twin(
        "all that closed is the root",
        "if remote_proxy:\n            if is_ring_full",
        "if False:\n            if is_ring_full",
        HEAVY,
    ),
)


def violations() -> Iterator[str]:
    """The violations on small programs whose cores take turns in random order."""
    programs = (
        (fib, [7]),
        (tak, [5, 3, 1]),
        (sums, [4]),
        (twice, [5]),
        (relayed, [5]),
        (fragile, [6]),
        (careless, [5]),
    )
    for seed in range(40):
        for function, arguments in programs:
            result = turn_violations(function.graph, arguments, 2 + seed % 3, Random(seed), Limits())
            yield from (each for each in result if isinstance(each, str))


@pytest.mark.full
@pytest.mark.parametrize("break_code", TWINS)
def test_the_laws_catch_broken_cores(break_code: Break) -> None:
    """All cores that differ in one line break a law."""
    with broken(break_code):
        try:
            reply = next(violations(), None)
        except (AssertionError, LookupError, ValueError, TagloomError) as error:
            reply = repr(error)
    assert reply is not None
    print(reply[:200])


@pytest.mark.full
def test_true_cores_keep_the_laws() -> None:
    """The true cores break no law on the programs that catch the twins."""
    assert list(islice(violations(), 1)) == []
