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
from tagloom.interp.engines.fast import columns, events, layout, load, run, store
from tagloom.interp.engines.fast import events as keeping
from tagloom.interp.engines.fast.load import MachineVariant
from tagloom.interp.records import column_log

PLAIN, WITH_EFFECTS, BOUNDED = cases(), act_cases(bounded=False), act_cases()
CLOSE_ITERATION = "JournalWord.ITERATION_HEADER, peek(mem, frame + FrameHeader.ITERATION)"
PARTNER_OPERAND = "peek(mem, (token >> PORT_BITS) + peek(port, PortColumn.OPERAND_WORD))"
NOTE_CLOSE = "note_close(a, r, mem, frame, peek(peek(a, Address.SITES), site * SITE_WORDS + SiteColumn.SCOPE), header)"
CLOSE_PARENT = "poke(journal, JournalWord.PARENT_HEADER, peek(mem, frame + FrameHeader.PARENT))"


@tl.function
def random_sum(n: tl.int64) -> tl.float64:
    """A program that draws numbers and traps: its log has large words and long texts."""
    body = lambda i, s: (i + 1, s + tl.uniform() + tl.astype(6 // (i - 3), tl.float64))  # noqa: E731
    return tl.while_loop(lambda i, s: i < n, body, 0, 0.0)[1]


RANDOM_TEXTS = st.just(Case(random_sum.program, [6]))


@dataclass(frozen=True)
class BrokenLog:
    """A broken log of events, its description, and the programs that should catch it."""

    description: str
    break_code: Break
    programs: st.SearchStrategy[Case] = PLAIN

    def __str__(self) -> str:
        return self.description


_compiled: dict[str, Any] = {}


def code_twin(description: str, line: str, replacement: str, programs: st.SearchStrategy[Case] = PLAIN) -> Any:
    """A machine with another line of machine code, which takes seconds to compile."""

    def break_code(patch: MonkeyPatch) -> None:
        enums = load.int_enums(load.image, load.opcode, layout)
        text, old, new = (
            load.text(MachineVariant.JOURNAL),
            load.inline_constants(line, enums),
            load.inline_constants(replacement, enums),
        )
        assert old in text, f"no line of the machine is {line}"
        patch.setattr(load, "text", lambda variant: text.replace(old, new))
        patch.setattr(run, "load_machine", _compiled.setdefault(description, cache(load.load_machine.__wrapped__)))

    return pytest.param(
        BrokenLog(description, break_code, programs), id=description.replace(" ", "_"), marks=pytest.mark.heavy
    )


def function_twin(
    description: str, of: Any, name: str, replacement: Callable[[Any], Any], programs: Any = PLAIN
) -> Any:
    """A twin in which `instead`, called with the true function, replaces it."""

    def break_code(patch: MonkeyPatch) -> None:
        patch.setattr(of, name, replacement(getattr(of, name)))

    return pytest.param(BrokenLog(description, break_code, programs), id=description.replace(" ", "_"))


def free_last_pages(true_forget: Any) -> Any:
    """Pages with the last events are freed."""

    def forget(self: keeping.LastEventKeeper) -> Any:
        count, self._count = self._count, max(self._count // 2, 1)
        try:
            return true_forget(self)
        finally:
            self._count = count

    return forget


def skip_one_step_more(true_without: Any) -> Any:
    return lambda page, steps: true_without(page, steps + 1)


def start_one_step_late(true_events: Any) -> Any:
    return lambda self, step: true_events(self, step + 1)


def forget_earlier_events(true_window: Any) -> Any:
    return lambda self, before=(): true_window(self)


def link_last_closing(true_links: Any) -> Any:
    """A frame's link is taken from its last closing instead of its first."""

    def first_links(pages: Any) -> Any:
        results = {}
        for words in pages:
            for at in events.item_offsets(words):
                if words[at] & layout.JournalHead.KIND_MASK == layout.JournalItem.CLOSE:
                    frame, *links = words[at + layout.JournalWord.FRAME : at + layout.JournalWord.CLOSE_WORDS]
                    results[frame] = links
        return results

    return first_links


def free_immediately(true_let_go: Any) -> Any:
    """Objects are freed while the journal still refers to them."""

    def let_go(self: store.TokenStore, number: int) -> None:
        self.objects[number] = None
        self.unused_objects.append(number)

    return let_go


def zero_iterations(true_open: Any) -> Any:
    return lambda self, around, nodes: [(parent, site, 0) for parent, site, _ in true_open(self, around, nodes)]


def ignore_time(true_numbers: Any) -> Any:
    """Frames are looked up as of the first item, for all items."""
    return lambda self, frames, items: true_numbers(self, frames, items * 0)


def sender_tags(true_init: Any) -> Any:
    def init(self: columns.PageColumns, *arguments: Any) -> None:
        true_init(self, *arguments)
        self._targets = self._items.tags[self._kinds == layout.JournalItem.FIRING]

    return init


def take_next_output(true_outputs: Any) -> Any:
    return lambda self, second: true_outputs(self, second + 1)


def reverse_firings(true_closed: Any) -> Any:
    return lambda self: (true_closed(self)[0], true_closed(self)[1][::-1])


def repeat_first_text(true_text: Any) -> Any:
    return lambda self, text: true_text(self, text) * 0


def drop_high_bits(true_narrow: Any) -> Any:
    return lambda column: true_narrow(column.astype("int32"))


def number_tags_from_zero(true_lines: Any) -> Any:
    return lambda self, begin, block: true_lines(self, 0, block)


def number_tags_from_one(true_init: Any) -> Any:
    return lambda self, archive, page, first_tag: true_init(self, archive, page, 1)


ENDS_WAVE = "JournalHead.ENDS_WAVE * (wave_remaining == 1)"
TWINS = (
    function_twin("the last but one are kept", keeping, "skip_steps", skip_one_step_more),
    function_twin("a window skips a step", keeping.EventWindow, "_events_from", start_one_step_late),
    function_twin("a window forgets what was before", keeping.LastEventKeeper, "window", forget_earlier_events),
    function_twin("pages go too early", keeping.LastEventKeeper, "_discard_pages", free_last_pages),
    function_twin("tags are read from memory", keeping, "reopened_frame_links", lambda true: lambda pages: {}),
    function_twin("links are read forwards", keeping, "reopened_frame_links", link_last_closing),
    function_twin("objects go too early", store.TokenStore, "retire_object", free_immediately, WITH_EFFECTS),
    code_twin("a close is forgotten", NOTE_CLOSE, "pass"),
    code_twin("a wrong position", "poke(journal, 0, position <<", "poke(journal, 0, (position >> 1) <<"),
    code_twin("a close forgets what was around it", CLOSE_PARENT, CLOSE_PARENT.replace("))", ") & LOW_MASK)")),
    code_twin("a close is noted after its frame is free", CLOSE_ITERATION, "JournalWord.ITERATION_HEADER, -1"),
    code_twin("the partner is what came", PARTNER_OPERAND, "value"),
    code_twin("released tokens are not noted", "note_release(a, r, rows + (offset << 3))", "offset = offset", BOUNDED),
    code_twin("what is opened is not noted", "flags += JournalHead.OPENS_ACTIVATION", "flags += 0"),
    code_twin("the youngest was the oldest", "end - head - 1", "0"),
    code_twin("the clock is not noted", ENDS_WAVE, ENDS_WAVE.replace("1", "2")),
    function_twin("every iteration is the first", columns.FrameTagRows, "open_tags", zero_iterations),
    function_twin("a frame keeps its first tag", columns.FrameLookup, "numbers", ignore_time),
    function_twin("the tag of who sends", columns.PageColumns, "__init__", sender_tags),
    function_twin("the first output of a switch", columns.PageColumns, "output_rows", take_next_output),
    function_twin("what fired is in reverse", columns.PageColumns, "closed_rows", reverse_firings),
    function_twin("every text is the first", column_log.ColumnLogWriter, "text", repeat_first_text, WITH_EFFECTS),
    function_twin("columns lose high bits", column_log, "narrow", drop_high_bits, RANDOM_TEXTS),
    function_twin("a block counts tags from its page", column_log.PageReader, "_tag_lines", number_tags_from_zero),
    function_twin("a page counts tags from the first", column_log.PageReader, "__init__", number_tags_from_one),
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
        with broken(twin.break_code):
            return broken_law(case) is not None

    case = caught(twin.programs, fails, twin, 100)
    with broken(twin.break_code):
        print(f"{twin}: {broken_law(case)}"[:200])
    assert broken_law(case) is None
