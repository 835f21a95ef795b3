"""Broken fast machines: each differs in one line, and the laws catch each with few generated programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.laws.fast_laws import option_violations, step_violations, violations
from support.twins.broken_twin import Break, broken, caught
from tagloom.core.tag import Tag
from tagloom.interp.engines.fast import load, run
from tagloom.interp.engines.fast.store import TokenStore
from tagloom.interp.image.image import Image, NodeColumn, PortColumn, build_image
from tagloom.interp.image.opcodes import FIRST_KERNEL, scalar_kernels

PLAIN, BOUNDED, EARLY = cases(), act_cases(), act_cases(early=True)


@tl.function
def doubled_int8(x: tl.int8, n: tl.int64) -> tl.int8:
    """A narrow number that wraps, which is rare in generated programs; kernels have their own tests of such edges."""
    return tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + y), 0, x)[1]


NARROW = st.just(Case(doubled_int8.program, [np.int8(7), 5]))


@dataclass(frozen=True)
class BrokenFastMachine:
    """A broken fast machine, its description, and the programs that should catch it."""

    description: str
    break_code: Break
    programs: st.SearchStrategy[Case] = PLAIN

    def __str__(self) -> str:
        return self.description


def code_twin(description: str, line: str, replacement: str, programs: st.SearchStrategy[Case] = PLAIN) -> Any:
    """A machine in whose source a line is replaced everywhere. It takes seconds to compile."""
    return _code_twin(description, {line: replacement}, programs)


def general_twin(description: str, line: str, replacement: str, programs: st.SearchStrategy[Case] = PLAIN) -> Any:
    """The same for a machine that delivers nothing by `deliver_scalar`."""
    return _code_twin(description, {line: replacement, "peek(o, MachineOption.HAS_SCALAR_PATH)": "False"}, programs)


def _code_twin(description: str, lines: dict[str, str], programs: st.SearchStrategy[Case]) -> Any:
    def break_code(patch: MonkeyPatch) -> None:
        text = load.text()
        for line, replacement in lines.items():
            assert inline_register_names(line) in text, f"no line of the machine is {line}"
            text = text.replace(inline_register_names(line), inline_register_names(replacement))
        patch.setattr(load, "text", lambda variant: text)
        patch.setattr(run, "load_machine", _machines.setdefault(description, cache(load.load_machine.__wrapped__)))

    return pytest.param(
        BrokenFastMachine(description, break_code, programs), id=description.replace(" ", "_"), marks=pytest.mark.heavy
    )


_machines: dict[str, Any] = {}


def inline_register_names(line: str) -> str:
    """A line of the machine as it is compiled, with names of registers as numbers."""
    return load.inline_constants(line, load.ENUMS)


def image_twin(description: str, change: Callable[[Image], None]) -> Any:
    """A machine that runs a changed image of the graph."""

    def break_code(patch: MonkeyPatch) -> None:
        def changed(*given: Any) -> Image:
            image = build_image(*given)
            change(image)
            return image

        patch.setattr(run, "cached_image", changed)

    return pytest.param(BrokenFastMachine(description, break_code), id=description.replace(" ", "_"))


def write_wrong_opcode(image: Image) -> None:
    codes = {
        arm.op: FIRST_KERNEL + number for number, arm in enumerate(scalar_kernels()) if repr(arm.operands[0]) == "int64"
    }
    column = image.nodes[:, NodeColumn.CODE]
    column[column == codes["less_equal"]] = codes["less"]


def share_operand_word(image: Image) -> None:
    """The image in which two nodes of a scope share the word where operands wait."""
    for members in image.scope_members:
        nodes = [
            number
            for number in members.tolist()
            if image.nodes[number, NodeColumn.OPERAND_MASK] and image.nodes[number, NodeColumn.REQUIRED_TOKENS] == 2
        ]
        for one, other in zip(nodes[::2], nodes[1::2], strict=False):
            rows = [rows_of(image, number) for number in (one, other)]
            place, replacement = (
                int(row[row[:, PortColumn.BIT] != 0, PortColumn.OPERAND_WORD][0]) for row in (rows[1], rows[0])
            )
            columns = rows[1][
                :, [PortColumn.OPERAND_WORD, PortColumn.OPERAND_0, PortColumn.OPERAND_1, PortColumn.OPERAND_2]
            ]
            rows[1][:, [PortColumn.OPERAND_WORD, PortColumn.OPERAND_0, PortColumn.OPERAND_1, PortColumn.OPERAND_2]] = (
                np.where(columns == place, replacement, columns)
            )


def rows_of(image: Image, number: int) -> Any:
    first = image.first_port[number]
    return image.ports[first : first + len(image.graph.nodes[number].ports)]


def drop_parent_iteration(patch: MonkeyPatch) -> None:
    true_tag = TokenStore.tag

    def tag(self: TokenStore, frame: int) -> Tag:
        result = true_tag(self, frame)
        parent = result.parent
        if result.site.kind == "call" and parent is not None and parent.parent is not None:
            parent = parent.parent.child(parent.site, 0)
            return parent.child(result.site, result.iteration)
        return result

    patch.setattr(TokenStore, "tag", tag)


FORWARD_EDGES = "for edge in range(begin, end):\n        put_token("
REVERSED_EDGES = FORWARD_EDGES.replace("begin, end", "end - 1, begin - 1, -1")
DEFERRED_COUNT = "peek(r, Register.DEFERRED_READS) - count"
IS_TOO_DEEP = "depth_of(mem, frame) + (code == Opcode.CALL) > limit"
IS_DONE = "peek(mem, older_frame + FrameHeader.BUSY) == 0 and older_frame != target"
REMAINING_FIRINGS = "peek(o, MachineOption.FIRING_LIMIT) - peek(r, Register.FIRINGS)"
IS_SECOND = "if peek(row, DeliveryColumn.IS_SECOND)"
FIRST_ROUTE = "send_list = peek(row, DeliveryColumn.FIRST_SEND_LIST)"
SECOND_ROUTE = "send_list = peek(row, DeliveryColumn.SECOND_SEND_LIST)"
IS_LIFO = "peek(o, MachineOption.ORDER) == DeliveryOrder.YOUNGEST"
NEXT_ITERATION = "iteration_of(mem, frame) + 1 - bound"
FLIGHT_MAXIMUM = "max(largest_flight, end - head)"
HAS_ROUTE = "if peek(node, NodeColumn.ROUTE) >= 0 and send_list:"
TWINS = (
    image_twin("one wrong opcode", write_wrong_opcode),
    image_twin("two operands share a place", share_operand_word),
    pytest.param(BrokenFastMachine("tags forget iterations", drop_parent_iteration), id="a_forgetful_tag"),
    general_twin("one firing too many", "firings >= firing_limit", "firings > firing_limit"),
    general_twin("one token too few", "- required > token_limit", "- required >= token_limit"),
    general_twin("calls go one deeper", IS_TOO_DEEP, "depth_of(mem, frame) > limit"),
    code_twin("activations do not wait for arguments", "peek(sites, row + SiteColumn.ARGUMENTS) + ", ""),
    general_twin("operands are not consumed", "bits & ~operand_mask | fired_bit)", "bits | fired_bit)"),
    general_twin("nobody knows what has fired", "bits & ~operand_mask | fired_bit)", "bits & ~operand_mask)"),
    general_twin("edges in the wrong order", FORWARD_EDGES, REVERSED_EDGES),
    general_twin("the oldest as the youngest", "order == DeliveryOrder.YOUNGEST", "order == DeliveryOrder.RANDOM"),
    code_twin("narrow numbers do not wrap", "out = cast(peek(node, NodeColumn.CAST), out)", "out = out", NARROW),
    code_twin("the clock ticks a token late", "if wave_remaining == 0:", "if wave_remaining < 0:"),
    general_twin("the youngest but one", "return length - 1", "return max(length - 2, 0)"),
    general_twin("tokens are throttled one iteration more", NEXT_ITERATION, NEXT_ITERATION.replace("1", "2"), BOUNDED),
    general_twin("throttled tokens go too early", IS_DONE, "True", BOUNDED),
    general_twin("what was sent makes nobody busy", "add_busy(mem, target, sent)", "add_busy(mem, target, 0)", BOUNDED),
    general_twin("woken tokens stay deferred", DEFERRED_COUNT, "peek(r, Register.DEFERRED_READS)", EARLY),
    code_twin("plain: operands are not consumed", "bits & ~partner_bits |", "bits |"),
    code_twin("plain: nobody knows what has fired", "| peek(row, DeliveryColumn.FIRED_BIT))", ")"),
    code_twin("plain: operands change places", f"{IS_SECOND}:", f"{IS_SECOND} == 0:"),
    code_twin("plain: a switch knows one way", SECOND_ROUTE, FIRST_ROUTE),
    code_twin("plain: nothing traps", "code >= FIRST_TRAPPING and traps(code, out, second)", "False"),
    code_twin("plain: one firing too many", REMAINING_FIRINGS, f"{REMAINING_FIRINGS} + 1"),
    code_twin("plain: one flight too small", FLIGHT_MAXIMUM, FLIGHT_MAXIMUM.replace("head", "head - 1")),
    code_twin("plain: the oldest as the youngest", IS_LIFO, "False"),
    code_twin("plain: results of calls go everywhere", HAS_ROUTE, "if False:"),
)  # fmt: skip


def broken_law(case: Case) -> str | None:
    """The first law that is broken, if any; a crash breaks one too."""
    try:
        whole, limits = violations(case, ("waves", "lifo"), handovers=(0, 40)), option_violations(case, Random(1), 3)
        return next(chain(whole, limits, step_violations(case, "fifo", 300)), None)
    except (AssertionError, LookupError, OverflowError, ValueError, tl.Crash) as error:
        return repr(error)


@pytest.mark.full
@pytest.mark.parametrize("twin", TWINS)
def test_the_laws_catch_a_broken_machine(twin: BrokenFastMachine) -> None:
    """Every machine that differs in one line breaks a law on one of 100 programs on which the true one keeps the
    laws."""
    tried = 0

    def fails(case: Case) -> bool:
        nonlocal tried
        tried += 1
        with broken(twin.break_code):
            return broken_law(case) is not None

    case = caught(twin.programs, fails, twin, 100)
    with broken(twin.break_code):
        print(f"{twin}: caught by program {tried}: {broken_law(case)}"[:200])
    assert broken_law(case) is None
