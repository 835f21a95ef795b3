"""S12: how runs end, where they stop, and how traps are listed and printed."""

from __future__ import annotations

import tagloom as tl
from support.observe.event_text import event_lines
from support.programs.waves import later


@tl.function
def first(x: tl.int64, y: tl.int64) -> tl.int64:
    return x + 1


@tl.function
def late_argument(n: tl.int64) -> tl.int64:
    return first(n, later(n, 4))


@tl.function
def trapping(n: tl.int64) -> tuple[tl.int64, tl.int64]:
    return 7 // n, n + 1


@tl.function
def divided(n: tl.int64) -> tl.int64:
    return 60 // n


@tl.function
def sum_of_quotients(n: tl.int64) -> tl.int64:
    """A trap in the call before the loop, one in iteration 2 of the loop, and one in the call after it."""
    before = divided(n - n)
    _, total = tl.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + divided(i - 2)), 0, n)
    return before + total + divided(n - n)


def test_s12_until_quiet_goes_on_after_the_results() -> None:
    """S12: `quiet` delivers every token; `result` stops when all results have come, whatever is in flight."""
    quiet, result = (late_argument.run(3, until=until, keep="events") for until in ("quiet", "result"))
    assert (quiet.status, result.status) == ("Returned", "Returned")
    assert quiet.value == result.value == 4
    assert event_lines(result) == event_lines(quiet)[: len(result.events)]
    assert event_lines(result)[-1] == "return[0] <- 4 @ main: sends 4 to result 0"
    assert (len(quiet.events) - len(result.events), quiet.open_activations, result.open_activations) == (1, 0, 2)


def test_s12_until_trap_stops_at_the_first() -> None:
    """S12: `trap` stops at the first firing that traps, and the run is Trapped; without a trap it runs to
    quiescence."""
    out = trapping.run(0, until="trap", keep="events")
    assert (out.status, out.results, event_lines(out)[-1]) == (
        "Trapped",
        (None, None),
        "floor_divide[1] <- 0 @ main: traps, integer division by zero",
    )
    assert event_lines(trapping.run(2, until="trap", keep="events")) == event_lines(trapping.run(2, keep="events"))


@tl.function
def early(n: tl.int64) -> tl.int64:
    """The result comes before a trap, and the trap before the end of the run."""
    tl.floor_divide(n, later(n - n, 2))
    later(n, 7)
    return n


def test_s12_until_trap_stops_though_the_results_have_come() -> None:
    """S12: a run that is to stop at a trap ends as Trapped, even if its results have come."""
    out = early.run(3, until="trap")
    assert (out.status, out.results, len(out.traps)) == ("Trapped", (3,), 1)


def test_s12_until_result_lists_the_traps_so_far() -> None:
    """S12: a run that stops at its results is Returned, with the traps so far, if any. Run to quiescence, it is
    Trapped, with its results."""

    @tl.function
    def main(n: tl.int64) -> tl.int64:
        return early(later(early(n), 6))

    for function, traps in ((early, 0), (main, 1)):
        out = function.run(3, until="result")
        assert (out.status, out.value, len(out.traps), out.error) == ("Returned", 3, traps, None)
    quiet = main.run(3)
    assert (quiet.status, quiet.value, len(quiet.traps)) == ("Trapped", 3, 2)


def test_s12_traps_are_listed_in_program_order() -> None:
    """S12: traps are listed in the order of a sequential evaluation, not of the machine: the call after the loop traps
    long before iteration 2 of the loop, and is listed after it."""
    out = sum_of_quotients.run(3, keep="events")
    met = [str(event.token.tag) for event in out.events if event.trap]
    assert met == ["main/divided", "main/divided_2", "main/loop[2]/divided_1"]
    assert [str(trap.tag) for trap in out.traps] == ["main/divided", "main/loop[2]/divided_1", "main/divided_2"]
    assert out.error is out.traps[0]


def test_s12_a_trap_has_the_calls_and_iterations_around_it() -> None:
    """S12: a trap has the op, its operands and its place, and the calls and iterations around it, innermost first."""
    trap = sum_of_quotients.run(3).traps[1]
    here, loop = divided.__wrapped__.__code__.co_firstlineno, sum_of_quotients.__wrapped__.__code__.co_firstlineno
    assert "\n".join([str(trap), *trap.__notes__]) == "\n".join(
        [
            f"S5: integer division by zero at node divided.floor_divide (test_ending.py:{here + 2}) "
            "under main/loop[2]/divided_1",
            "  got: floor_divide 60, 0",
            f"  in divided, called by sum_of_quotients.divided_1 (test_ending.py:{loop + 4})",
            f"  in iteration 2 of sum_of_quotients.loop (test_ending.py:{loop + 4})",
            "  in sum_of_quotients",
        ]
    )


def test_s12_a_deep_call_stack_leaves_out_its_middle() -> None:
    """S12: of a hundred calls around a trap, the report lists the inner ones and the outermost."""

    @tl.function
    def bottom(n: tl.int64) -> tl.int64:
        return tl.cond(n < 1, lambda: 1 // n, lambda: bottom(n - 1))

    (trap,) = bottom.run(100).traps
    assert len(trap.__notes__) == 12
    assert trap.__notes__[-2:] == ["  ... 90 more ...", "  in bottom"]
    (few,) = bottom.run(12).traps
    assert len(few.__notes__) == 13 and not any("more" in note for note in few.__notes__)
