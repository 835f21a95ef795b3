"""The page in headless Chromium: it plays a run, and runs nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tagloom as tl
from support.observe.lateness import is_soon
from support.pictures.chromium import Tab
from support.pictures.drawings import fib
from tagloom.interp.outcome.worker_lanes import crossings
from tagloom.interp.queries.why_not import could_fire
from tagloom.viz.player.page import PlayerSelection, page_of_history

LAST = "document.getElementById('slider').value === document.getElementById('slider').max"


def saved(history: tl.History, target: Path, **choice: int | str) -> Path:
    history.run()
    page_of_history(history, PlayerSelection(**choice)).save(target)  # type: ignore[arg-type]
    return target


def position(tab: Tab) -> int:
    return int(tab.run("document.getElementById('slider').value"))


@pytest.mark.full
def test_it_plays_to_the_end(tab: Tab, page: Path) -> None:
    """The space key plays to the end, which shows the value that the run returned."""
    tab.open(page)
    assert tab.text("result") == ""
    for _ in range(4):
        tab.key("+")
    tab.key("Space")
    tab.wait(LAST)
    tab.wait("document.getElementById('play').textContent === 'Play'")
    assert tab.text("result") == "= 8"
    assert tab.text("call") == "fib(5)"


@pytest.mark.full
def test_it_plays_with_motion_too(tab: Tab, page: Path) -> None:
    """Several tokens move at once, and stand in their places afterwards."""
    tab.prefer(reduced_motion="no-preference")
    tab.open(page, "#step=40")
    places = "[...document.querySelectorAll('.token')].map(each => each.getAttribute('transform')).join()"
    before = tab.run(places)
    tab.key("ArrowRight")
    tab.wait(f"{places} !== {json.dumps(before)}")
    at = position(tab)
    assert at > 41
    tab.run("new Promise(done => setTimeout(done, 900))")
    moved = tab.run(places)
    tab.prefer(reduced_motion="reduce")
    tab.open(page, f"#step={at}")
    assert sorted(tab.run(places).split(",")) == sorted(moved.split(","))


@pytest.mark.full
def test_workers_are_lanes(tab: Tab, tmp_path: Path) -> None:
    """A run on workers has a row for each, with an arrow for each call that was donated; a click goes there, and the
    sentence names the worker. Other runs have no lanes."""
    outcome = fib.run(6, engine="distributed", workers=2, keep="events")
    donations = [each for each in crossings(outcome.cluster.lanes, outcome.events) if each.is_donation]
    outcome.player().save(tmp_path / "run.html")
    tab.open(tmp_path / "run.html")
    assert tab.run("[...document.querySelectorAll('.lane .title')].map(each => each.textContent).join()") == (
        "worker 0,worker 1"
    )
    assert tab.run("document.querySelectorAll('.lane .donation').length") == len(donations) > 0
    tab.run(
        "(lanes => { const box = lanes.getBoundingClientRect(); const clientX = box.left + box.width / 2;"
        " lanes.dispatchEvent(new MouseEvent('click', { clientX })); })(document.getElementById('lanes'))"
    )
    at = position(tab)
    assert abs(at - len(outcome.events) / 2) <= 1
    rank = outcome.cluster.lanes.ranks[at - 1]
    assert f"on worker {rank}" in tab.text("sentence")
    tab.open(saved(fib.history(4), tmp_path / "other.html"))
    assert tab.run("document.getElementById('lanes').hidden")


PILLS = "[...document.querySelectorAll('.token')].map(each => each.getAttribute('transform')).sort().join()"


@pytest.mark.parametrize("gap", [0, 60, 150])
def test_steps_that_overlap_leave_no_tokens(tab: Tab, page: Path, gap: int) -> None:
    """Keys pressed while tokens move: afterwards the page shows the tokens of the state, and no others."""
    tab.open(page)
    for _ in range(8):
        tab.key("ArrowRight")
    expected, end = tab.run(PILLS), position(tab)
    tab.prefer(reduced_motion="no-preference")
    tab.open(page)
    for _ in range(8):
        tab.key("ArrowRight")
        tab.run(f"new Promise(done => setTimeout(done, {gap}))")
    tab.run("new Promise(done => setTimeout(done, 700))")
    moved = tab.run(PILLS)
    tab.prefer(reduced_motion="reduce")
    assert position(tab) == end
    assert moved == expected


@pytest.mark.full
def test_fit_shows_all_of_a_large_graph(tab: Tab, tmp_path: Path) -> None:
    """After "Fit" no part of the graph needs scrolling, however many boxes it has."""

    @tl.function
    def chain(x: float) -> float:
        for _ in range(200):
            x = tl.sin(x)
            x = x * x
        return x

    tab.open(saved(chain.history(1.0), tmp_path / "chain.html", full=True))
    tab.click("#fit")
    assert tab.run("document.getElementById('plan').viewBox.baseVal.height") > 10_000
    fits = "(pane => pane.scrollHeight <= pane.clientHeight && pane.scrollWidth <= pane.clientWidth)"
    assert tab.run(f"{fits}(document.getElementById('scroll'))")


def test_keys(tab: Tab, page: Path) -> None:
    """Arrows, Home, End, digits, w and ? do what the help says, and the slider can be dragged."""
    total = len(fib.run(5, keep="events").events)
    tab.open(page)
    tab.key("w")
    moves = {"ArrowRight": 1, "End": total, "ArrowLeft": total - 1, "5": round(total / 2), "Home": 0}
    for key, wanted in moves.items():
        tab.key(key)
        assert position(tab) == wanted, key
    tab.run("(each => { each.value = 77; each.dispatchEvent(new Event('input')); })(document.getElementById('slider'))")
    assert position(tab) == 77 and tab.text("position").startswith("Step 77 of ")
    tab.key("w")
    tab.key("End")
    tab.key("ArrowLeft")
    assert position(tab) == total - 1, "the last wave has one event"
    tab.key("?")
    assert tab.run("document.getElementById('keys').open")
    tab.click("#close")
    tab.key("t")
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 29)"


@pytest.mark.full
def test_the_address_has_the_step(tab: Tab, page: Path) -> None:
    """#step=17 is read when the page opens and when it changes, and is written at each step."""
    tab.open(page, "#step=17")
    assert position(tab) == 17
    tab.key("w")
    tab.key("ArrowRight")
    tab.wait("location.hash === '#step=18'")
    tab.run("location.hash = '#step=3'")
    tab.wait("document.getElementById('slider').value === '3'")
    tab.run("location.hash = '#steps=x'")
    tab.run("new Promise(done => setTimeout(done, 100))")
    assert position(tab) == 3, "an address that names no step is ignored"


@pytest.mark.full
def test_the_page_has_the_tokens_of_the_machine(tab: Tab, page: Path) -> None:
    """At every position there are as many pills as tokens, with stacked ones counted."""
    history = fib.history(5)
    history.run()
    tab.open(page)
    assert tab.run("typeof stateAt") == "undefined", "the scripts have a scope of their own"
    for at in (0, 1, 10, 50, len(history)):
        state = history.jump(at)
        tab.run(f"location.hash = '#step={at}'")
        tab.wait(f"document.getElementById('slider').value === '{at}'")
        pills = tab.run(
            """[...document.querySelectorAll('#tokens .token')].reduce((sum, each) => {
                const said = each.querySelectorAll('text')[0].textContent;
                const more = / ?[+]([0-9]+)$/.exec(said);
                return sum + (more ? Number(more[1]) : 0) + !said.startsWith('+'); }, 0)"""
        )
        assert pills == len(state.flight) + state.waiting_count, at


def test_predictions_are_judged(tab: Tab, page: Path) -> None:
    """By events, exactly the nodes that could fire now are right; the next step is not revealed before."""
    history = fib.history(5)
    history.run()
    tab.open(page, "#step=30")
    tab.key("w")
    tab.key("p")
    right = {ready.node for ready in could_fire(history.jump(30))}
    told = tab.text("sentence")
    assert "fires" not in told and told.startswith("Step 30")
    for node in right:
        tab.click(f"#b-n{node}")
    tab.click("#check")
    assert tab.text("prompt").startswith("Right")
    tab.click("#next")
    assert position(tab) == 31
    now = {ready.node for ready in could_fire(history.jump(31))}
    wrong = next(number for number in range(len(history.graph.nodes)) if number not in now)
    tab.click(f"#b-n{wrong}")
    tab.key("c")
    assert tab.run(f"document.getElementById('b-n{wrong}').classList.contains('wrong')")
    missed = {f"b-n{node}" for node in now}
    assert set(tab.run("[...document.querySelectorAll('.missed')].map(each => each.id)")) == missed


def test_predictions_by_wave(tab: Tab, page: Path) -> None:
    """By waves, the nodes that fire in the next wave are right."""
    tab.open(page, "#step=0")
    tab.key("p")
    tab.click("#b-n0")
    tab.key("c")
    assert tab.text("prompt") == "Right: 1 node."


def test_a_prediction_is_of_the_whole_run(tab: Tab, page: Path) -> None:
    """During a prediction no activation can be selected, and the tree says so; at the end, the page says how the run
    ended."""
    tab.open(page, "#step=60")
    tab.key("p")
    tab.run("[...document.querySelectorAll('#tags li')].find(each => each.textContent === 'fib(3)').click()")
    assert tab.text("filter") == "All activations are shown while you predict."
    tab.key("End")
    assert tab.text("prompt") == "The run is over: it returned 8."
    tab.key("c")
    assert tab.text("prompt") == "The run is over: it returned 8."
    tab.key("p")
    assert tab.text("filter") == "All activations are shown."


@pytest.mark.full
def test_a_run_that_a_limit_ends(tab: Tab, tmp_path: Path) -> None:
    """The page of a run that a limit ended says that it is not over, and a page of a part ends before the run does."""
    tab.open(saved(fib.history(5, limits=tl.Limits(20)), tmp_path / "limit.html"))
    tab.key("p")
    tab.key("End")
    assert tab.text("prompt") == "The run ended here: the run exceeds the limit of 20 on firings."
    tab.open(saved(fib.history(6), tmp_path / "part.html", first=20, max_events=30))
    assert tab.text("sentence").startswith("Step 20 of") and ": Before event 20: " in tab.text("sentence")
    tab.key("p")
    tab.key("End")
    assert tab.text("prompt") == "This page ends here; the run goes on."


@pytest.mark.full
def test_the_counts_of_tokens(tab: Tab, tmp_path: Path) -> None:
    """At its beginning, a page has the numbers of tokens that are in flight, waiting, deferred or throttled."""
    history = fib.history(6)
    target = saved(history, tmp_path / "page.html", first=40, max_events=30)
    state = history.jump(40)
    tab.open(target)
    text = f"Before event 40: {len(state.flight)} tokens in flight, {state.waiting_count} waiting."
    assert tab.text("sentence").endswith(text)


@pytest.mark.full
def test_a_trap_is_described(tab: Tab, tmp_path: Path) -> None:
    """A trap is described before the other events of its wave, and is not counted as a firing."""

    @tl.function
    def main(n: tl.int64) -> tl.int64:
        return (7 // n) + (n * 2) + (n - 4)

    tab.open(saved(main.history(0), tmp_path / "page.html"))
    for _ in range(9):
        tab.key("ArrowRight")
        if " traps on " in (reply := tab.text("sentence")):
            break
    assert 0 < reply.index(" traps on 7, 0: ") < reply.index("2 firings at once: ")


@pytest.mark.full
def test_source_and_graph_are_highlighted_together(tab: Tab, page: Path) -> None:
    """A click on a line selects its nodes; a click on a node highlights its line, and describes the node. Lines are
    wrapped to the width of the pane."""
    tab.open(page, "#step=50")
    tab.click("button.line")
    assert tab.run("document.querySelectorAll('.node.chosen').length") > 0
    add = next(number for number, node in enumerate(fib.graph.nodes) if node.op == "add")
    tab.key("End")
    tab.click(f"#b-n{add}")
    assert "fib(n - 1) + fib(n - 2)" in tab.run("document.querySelector('.line.chosen').textContent")
    assert tab.run("document.getElementById('node').value") == str(add)
    assert "add 5, 3 → 8" in tab.text("inspector")
    tab.run("document.getElementById('source-pane').style.width = '16rem'")
    assert tab.run("(pane => pane.scrollWidth <= pane.clientWidth)(document.getElementById('source'))")


@pytest.mark.full
def test_an_activation_alone(tab: Tab, page: Path) -> None:
    """An activation that is selected in the tree shows its tokens, and steps by its events."""
    tab.open(page, "#step=60")
    tab.run("[...document.querySelectorAll('#tags li')].find(each => each.textContent === 'fib(3)').click()")
    assert tab.text("filter").startswith("Only main/fib/fib ")
    tab.key("w")
    tab.key("ArrowRight")
    assert "under main/fib/fib" in tab.text("sentence")
    tab.key("Escape")
    assert tab.text("filter") == "All activations are shown."


@pytest.mark.full
def test_an_activation_describes_its_own_events(tab: Tab, page: Path) -> None:
    """By waves, at each stop of an activation, the sentence and the highlighted nodes are of its events in that wave
    only; if it has none, the page says so."""
    events = list(fib.run(5, keep="events").events)
    waves = [sum(each.ends_wave for each in events[:number]) for number in range(len(events))]
    inside = [
        str(event.token.tag).startswith("main/fib/fib/") or str(event.token.tag) == "main/fib/fib" for event in events
    ]
    tab.open(page, "#step=1")
    tab.run("[...document.querySelectorAll('#tags li')].find(each => each.textContent === 'fib(3)').click()")
    assert tab.text("sentence").endswith("Nothing happens under main/fib/fib.")
    assert tab.run("document.querySelectorAll('.fired').length") == 0
    for wave in sorted({wave for wave, own in zip(waves, inside, strict=True) if own})[:12]:
        tab.key("ArrowRight")
        own = [event for event, at, of in zip(events, waves, inside, strict=True) if of and at == wave]
        fired = [event for event in own if event.is_firing]
        reply = tab.text("sentence")
        if len(fired) > 1:
            assert f"{len(fired)} firings at once: " in reply
        else:
            assert reply.count(" fires under main/fib/fib") == len(fired) and "at once" not in reply
        nodes = {f"b-n{event.token.node}" for event in fired}
        assert set(tab.run("[...document.querySelectorAll('.fired')].map(each => each.id)")) == nodes
    tab.key("Escape")
    assert tab.text("filter") == "All activations are shown."


HOSTILE = "</script><img src=x onerror=alert(1)><!--@@DATA@@ & \u2028 \x07 \\u003c"


@pytest.mark.full
def test_hostile_names_are_names(tab: Tab, tmp_path: Path) -> None:
    """A graph written by hand may have any names for its nodes, its arguments and itself."""
    evil = "</title><img src=x onerror=alert(1)>"
    builder = tl.GraphBuilder(evil)
    x = builder.argument(f"{evil}{{}}", tl.Type(tl.int64))
    y = builder.node("add", f"'\"--><svg onload=alert(2)>{evil}", [x, x], [tl.Type(tl.int64)])[0]
    history = tl.History(builder.build([y]), [4])
    tab.open(saved(history, tmp_path / "page.html"))
    tab.key("End")
    assert tab.text("result") == "= 8"
    assert tab.text("call").startswith(f"{evil}(")
    tab.key("ArrowLeft")
    assert "onload=alert(2)" in tab.text("sentence")
    assert tab.run("document.querySelectorAll('img, [onload], [onerror]').length") == 0


@pytest.mark.full
def test_hostile_text_is_text(tab: Tab, tmp_path: Path) -> None:
    """Names, printed text, source and paths that look like markup are shown unchanged, and nothing is run."""
    source = tmp_path / "<img src=x onerror=alert(3)>.py"
    source.write_text(
        "import tagloom as tl\n\n@tl.function\ndef main(n: tl.int64) -> tl.int64:\n"
        f"    tl.print({HOSTILE!r}, n)  # {'</script><script>alert(4)</script>'}\n    return n + 1\n"
    )
    history = tl.load_run(str(source), "3", world=tl.World(lambda line: None))
    target = saved(history, tmp_path / "page.html")
    assert target.read_text().count("</script>") == 2
    tab.open(target)
    tab.key("End")
    assert HOSTILE.split("<!--")[0] in tab.text("printed")
    assert "</script><script>alert(4)" in tab.text("source")
    assert "onerror=alert(3)" in tab.text("source")
    assert tab.run("document.querySelectorAll('img').length") == 0
    assert tab.run("document.scripts.length") == 2


@pytest.mark.full
def test_a_long_run_is_shown_by_window(tab: Tab, tmp_path: Path) -> None:
    """The page says which part of the run it has, numbers steps as the run does, and begins with the tokens of its
    first step."""
    history = fib.history(9)
    target = saved(history, tmp_path / "page.html", first=200, max_events=300)
    tab.open(target, "#step=250")
    assert tab.text("note") == f"300 of {len(history):,} events are shown: 200 to 499"
    assert tab.text("position").startswith(f"Step 250 of {len(history):,}")
    assert position(tab) == 50
    tab.key("End")
    assert tab.text("result") == ""


@pytest.mark.full
def test_five_thousand_steps_are_smooth(tab: Tab, tmp_path: Path) -> None:
    """Of 200 jumps in a page of 5,000 events, half take less than 50 ms, and all less than 500."""
    target = saved(fib.history(15), tmp_path / "page.html")
    tab.open(target)

    def slowest() -> float:
        """The seconds of the slowest jump, or ten times those of the jump in the middle, if these are more."""
        times = tab.run(
            """(() => { const slider = document.getElementById('slider'), times = [];
            for (let i = 0; i < 200; i++) { slider.value = (i * 7919) % 5000; const begun = performance.now();
                slider.dispatchEvent(new Event('input')); document.body.getBoundingClientRect();
                times.push(performance.now() - begun); }
            return times.sort((a, b) => a - b); })()"""
        )
        return max(10 * times[100], times[-1]) / 1000

    assert is_soon(slowest, 0.5)
    assert position(tab) == (199 * 7919) % 5000


@pytest.mark.full
def test_a_film_strip_on_paper(tab: Tab, page: Path) -> None:
    """Printing shows some moments side by side, on light paper, with their tokens."""
    tab.prefer(color_scheme="dark", reduced_motion="reduce")
    tab.open(page)
    assert tab.printed().startswith(b"%PDF")
    assert tab.run("document.querySelectorAll('#strip figure').length") == 6
    assert tab.run("document.querySelectorAll('#strip .token').length") > 6


@pytest.mark.full
def test_the_page_in_a_notebook(tab: Tab, tmp_path: Path) -> None:
    """The page runs in the frame of a notebook, whose address cannot be written."""
    shown = fib.run(3, keep="events").player()._repr_html_()
    target = tmp_path / "notebook.html"
    target.write_text(f"<!DOCTYPE html><title>notebook</title><p id='position'>x</p>{shown}")
    tab.open(target)
    frame = tab.do("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
    world = tab.do("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
    script = "document.getElementById('position').textContent"
    text = tab.do("Runtime.evaluate", expression=script, contextId=world)["result"]["value"]
    assert text.startswith("Step 0 of")
