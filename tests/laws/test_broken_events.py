"""Broken logs of events: in each, one line of the code differs, and the laws catch each with few generated programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import pytest
import tagloom as tl
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.laws.event_laws import violations
from support.twins.broken_twin import Break, broken, caught
from tagloom.interp.engines.fast import columns, events, load, registers, run, store
from tagloom.interp.engines.fast import events as keeping
from tagloom.interp.engines.fast.load import MachineVariant
from tagloom.interp.records import column_log

PLAIN, ACTING, BOUNDED = cases(), act_cases(bounded=False), act_cases()
WHEN = "JournalWord.ITERATION_HEADER, peek(mem, frame + FrameHeader.ITERATION)"
PARTNER = "peek(mem, (token >> PORT_BITS) + peek(port, PortColumn.OPERAND_WORD))"
ABOVE = "poke(journal, JournalWord.PARENT_HEADER, peek(mem, frame + FrameHeader.PARENT))"


@tl.function
def drawn(n: tl.int64) -> tl.float64:
    """A program that draws numbers and traps: its log has large words and long texts."""
    body = lambda i, s: (i + 1, s + tl.uniform() + tl.astype(6 // (i - 3), tl.float64))  # noqa: E731
    return tl.while_loop(lambda i, s: i < n, body, 0, 0.0)[1]


SPEAKING = st.just(Case(drawn.program, [6]))


@dataclass(frozen=True)
class BrokenLog:
    """A broken log of events, its description, and the programs that should catch it."""

    description: str
    how: Break
    programs: st.SearchStrategy[Case] = PLAIN

    def __str__(self) -> str:
        return self.description


_compiled: dict[str, Any] = {}


def code_twin(description: str, line: str, instead: str, programs: st.SearchStrategy[Case] = PLAIN) -> Any:
    """A machine with another line of machine code, which takes seconds to compile."""

    def how(patch: MonkeyPatch) -> None:
        known = load.int_enums(load.image, load.opcode, registers)
        text, old, new = (
            load.text(MachineVariant.JOURNAL),
            load.inline_constants(line, known),
            load.inline_constants(instead, known),
        )
        assert old in text, f"no line of the machine is {line}"
        patch.setattr(load, "text", lambda variant: text.replace(old, new))
        patch.setattr(run, "load_machine", _compiled.setdefault(description, cache(load.load_machine.__wrapped__)))

    return pytest.param(
        BrokenLog(description, how, programs), id=description.replace(" ", "_"), marks=pytest.mark.heavy
    )


def function_twin(description: str, of: Any, name: str, instead: Callable[[Any], Any], programs: Any = PLAIN) -> Any:
    """A twin in which `instead`, called with the true function, replaces it."""

    def how(patch: MonkeyPatch) -> None:
        patch.setattr(of, name, instead(getattr(of, name)))

    return pytest.param(BrokenLog(description, how, programs), id=description.replace(" ", "_"))


def free_last_pages(true_forget: Any) -> Any:
    """Pages with the last events are freed."""

    def forget(self: keeping.LastEventKeeper) -> Any:
        count, self._count = self._count, max(self._count // 2, 1)
        try:
            return true_forget(self)
        finally:
            self._count = count

    return forget


def later(true_without: Any) -> Any:
    return lambda page, steps: true_without(page, steps + 1)


def late(true_events: Any) -> Any:
    return lambda self, step: true_events(self, step + 1)


def alone(true_window: Any) -> Any:
    return lambda self, before=(): true_window(self)


def link_last_closing(true_links: Any) -> Any:
    """A frame's link is taken from its last closing instead of its first."""

    def first_links(pages: Any) -> Any:
        results = {}
        for words in pages:
            for at in events.item_offsets(words):
                if words[at] & registers.JournalHead.KIND_MASK == registers.JournalItem.CLOSE:
                    frame, *links = words[at + registers.JournalWord.FRAME : at + registers.JournalWord.CLOSE_WORDS]
                    results[frame] = links
        return results

    return first_links


def free_immediately(true_let_go: Any) -> Any:
    """Objects are freed while the journal still refers to them."""

    def let_go(self: store.TokenStore, number: int) -> None:
        self.objects[number] = None
        self.unused_objects.append(number)

    return let_go


def without_iterations(true_open: Any) -> Any:
    return lambda self, around, nodes: [(parent, site, 0) for parent, site, _ in true_open(self, around, nodes)]


def ignore_time(true_numbers: Any) -> Any:
    """Frames are looked up as of the first item, for all items."""
    return lambda self, frames, items: true_numbers(self, frames, items * 0)


def sender_tags(true_init: Any) -> Any:
    def init(self: columns.PageColumns, *arguments: Any) -> None:
        true_init(self, *arguments)
        self._targets = self._items.tags[self._kinds == registers.JournalItem.FIRING]

    return init


def no_second(true_outputs: Any) -> Any:
    return lambda self, second: true_outputs(self, second + 1)


def reversed_firings(true_closed: Any) -> Any:
    return lambda self: (true_closed(self)[0], true_closed(self)[1][::-1])


def first_text(true_text: Any) -> Any:
    return lambda self, text: true_text(self, text) * 0


def halved(true_narrow: Any) -> Any:
    return lambda column: true_narrow(column.astype("int32"))


def from_zero(true_lines: Any) -> Any:
    return lambda self, begin, block: true_lines(self, 0, block)


def from_first_tag(true_init: Any) -> Any:
    return lambda self, archive, page, first_tag: true_init(self, archive, page, 1)


ENDS_WAVE = "JournalHead.ENDS_WAVE * (wave_remaining == 1)"
TWINS = (
    function_twin("the last but one are kept", keeping, "skip_steps", later),
    function_twin("a window skips a step", keeping.EventWindow, "_events_from", late),
    function_twin("a window forgets what was before", keeping.LastEventKeeper, "window", alone),
    function_twin("pages go too early", keeping.LastEventKeeper, "_discard_pages", free_last_pages),
    function_twin("tags are read from memory", keeping, "reopened_frame_links", lambda true: lambda pages: {}),
    function_twin("links are read forwards", keeping, "reopened_frame_links", link_last_closing),
    function_twin("objects go too early", store.TokenStore, "_free_object", free_immediately, ACTING),
    code_twin("a close is forgotten", "note_close(a, r, mem, frame, scope, header)", "scope = scope"),
    code_twin("a wrong position", "poke(journal, 0, position <<", "poke(journal, 0, (position >> 1) <<"),
    code_twin("a close forgets what was around it", ABOVE, ABOVE.replace("))", ") & LOW_MASK)")),
    code_twin("a close is noted after its frame is free", WHEN, "JournalWord.ITERATION_HEADER, -1"),
    code_twin("the partner is what came", PARTNER, "value"),
    code_twin("released tokens are not noted", "note_release(a, r, rows + (offset << 3))", "offset = offset", BOUNDED),
    code_twin("what is opened is not noted", "flags += JournalHead.OPENS_ACTIVATION", "flags += 0"),
    code_twin("the youngest was the oldest", "end - head - 1", "0"),
    code_twin("the clock is not noted", ENDS_WAVE, ENDS_WAVE.replace("1", "2")),
    function_twin("every iteration is the first", columns.FrameTagRows, "open_tags", without_iterations),
    function_twin("a frame keeps its first tag", columns.FrameLookup, "numbers", ignore_time),
    function_twin("the tag of who sends", columns.PageColumns, "__init__", sender_tags),
    function_twin("the first output of a switch", columns.PageColumns, "output_rows", no_second),
    function_twin("what fired is in reverse", columns.PageColumns, "closed_rows", reversed_firings),
    function_twin("every text is the first", column_log.ColumnLogWriter, "text", first_text, ACTING),
    function_twin("columns lose high bits", column_log, "narrow", halved, SPEAKING),
    function_twin("a block counts tags from its page", column_log.PageReader, "_tag_lines", from_zero),
    function_twin("a page counts tags from the first", column_log.PageReader, "__init__", from_first_tag),
)  # fmt: skip


def broken_law(case: Case) -> str | None:
    """The first law that is broken, if any; a crash breaks one too."""
    try:
        return next(violations(case, Random(3), ("waves", "lifo", "random:7")), None)
    except (
        AssertionError,
        LookupError,
        OverflowError,
        StopIteration,
        ValueError,
        RuntimeError,
        tl.TagloomError,
    ) as error:
        return repr(error)


@pytest.mark.full(first=8)
@pytest.mark.parametrize("twin", TWINS)
def test_the_laws_catch_a_broken_log(twin: BrokenLog) -> None:
    """Every broken log breaks a law on one of 100 programs on which the true one keeps the laws."""

    def fails(case: Case) -> bool:
        with broken(twin.how):
            return broken_law(case) is not None

    case = caught(twin.programs, fails, twin, 100)
    with broken(twin.how):
        print(f"{twin}: {broken_law(case)}"[:200])
    assert broken_law(case) is None
