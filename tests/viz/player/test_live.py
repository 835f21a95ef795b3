"""Live pages, in headless Chromium: they show the runs of their own machine as the player shows recorded ones,
and take choices by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from support.pictures.chromium import Tab
from support.pictures.drawings import fib
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.text import parse
from tagloom.interp.engines.reference import run_graph
from tagloom.viz.player.live import build_live_page, unsupported_reason
from tagloom.viz.player.page import PlayerSelection, page_of_history

CORPUS = Path(__file__).parents[2] / "corpus"
SHOWN = """(() => {
  const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => !each.hidden);
  const texts = (selector) => all(selector).map((each) => each.textContent);
  const pills = all('.token').map((each) =>
    each.getAttribute('transform') + each.getAttribute('class') + each.textContent).sort();
  return JSON.stringify([texts('#call, #result, #sentence, #position, #printed, #profile-title'), texts('#tags li'),
    texts('#cells h3, #cells li'), texts('#plan .mark'), pills, document.querySelector('.cursor').getAttribute('x')]);
})()"""
"""What a page shows of a run at a position."""


def corpus_graph(name: str) -> Graph:
    file, _, function = name.partition(":")
    subject = parse((CORPUS / f"{file}.tl").read_text())[function]
    return subject if isinstance(subject, Graph) else lower(subject)


def live(target: Path, graph: Graph, arguments: list[Any], schedule: str = "waves", **options: Any) -> Path:
    build_live_page(graph, arguments, schedule, **options).save(target)
    return target


@pytest.fixture(scope="module")
def live_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The live page of fib(5), by waves."""
    return live(tmp_path_factory.mktemp("live") / "fib.html", fib_graph(), [5])


def fib_graph() -> Graph:
    return fib.history(5).graph


def choose_token(tab: Tab, text: str) -> None:
    """Choose a token of the list, by a part of its text."""
    tab.run(
        "(() => { const list = document.getElementById('flight'); "
        f"list.selectedIndex = [...list.options].findIndex((each) => each.textContent.includes({json.dumps(text)})); "
        "list.dispatchEvent(new Event('change')); })()"
    )


def fill(tab: Tab, field: str, text: str, event: str = "input") -> None:
    """Give a field a value, as a user does."""
    value = f"each.value = {json.dumps(text)}"
    tab.run(f"(each => {{ {value}; each.dispatchEvent(new Event('{event}')); }})(document.getElementById('{field}'))")


def end(tab: Tab) -> str:
    tab.click("#last")
    return tab.text("result")


RUNS: list[tuple[str, list[Any], str]] = [
    ("fibonacci:fib", [4], "waves"),
    ("cells_chain:chain", [4], "lifo"),
    ("bounded_loop:by_1", [5], "waves"),
    ("print_hanoi:hanoi", [3, 1, 3], "fifo"),
    ("graph_going_back:doublings_back", [1.0, 10.0, 1.0], "random:3"),
]


@pytest.mark.full
@pytest.mark.parametrize(("name", "arguments", "schedule"), RUNS, ids=lambda each: str(each))
def test_it_shows_what_the_player_shows(
    tab: Tab, tmp_path: Path, name: str, arguments: list[Any], schedule: str
) -> None:
    """At every position a live page shows what the page of the recorded run shows: tokens, activations with their
    arguments and results, cells, printed lines, sentences and the chart."""
    graph = corpus_graph(name)
    history = tl.History(graph, arguments, schedule=schedule)
    history.run()
    page_of_history(history, PlayerSelection()).save(tmp_path / "recorded.html")
    live(tmp_path / "live.html", graph, arguments, schedule)
    steps = sorted({*range(0, len(history), max(1, len(history) // 12)), len(history)})
    shown: list[list[str]] = []
    for page in ("recorded", "live"):
        tab.open(tmp_path / f"{page}.html")
        shown.append([])
        for step in steps:
            fill(tab, "slider", str(step))
            shown[-1].append(tab.run(SHOWN))
    for step, recorded, computed in zip(steps, *shown, strict=True):
        assert json.loads(computed) == json.loads(recorded), step
    assert ("throttled" in "".join(shown[0])) == name.startswith("bounded")


@pytest.mark.full
def test_arguments_and_schedule(tab: Tab, live_page: Path) -> None:
    """Other arguments and another schedule make another run; what is no argument is refused in words."""
    tab.open(live_page)
    assert end(tab) == "= 8"
    fill(tab, "argument-0", "7")
    tab.click("#live-form [type=submit]")
    assert tab.text("call") == "fib(7)" and end(tab) == "= 21"
    fill(tab, "argument-0", "x")
    tab.click("#live-form [type=submit]")
    assert tab.text("live-complaint") == 'n: "x" is no int64: write a whole number'
    assert tab.text("call") == "fib(7)"


@pytest.mark.full
def test_tokens_by_hand(tab: Tab, live_page: Path) -> None:
    """A token is delivered out of turn, another is changed, a third injected; the choices are undone one by one."""
    tab.open(live_page, "#step=40")
    assert tab.run("document.getElementById('live-undo').disabled")
    choose_token(tab, "1 → fib.less_equal:0 under main/fib_1/fib_1")
    tab.key("d")
    assert tab.text("sentence").startswith(
        "Step 41 of 170: fib.less_equal fires under main/fib_1/fib_1: less_equal 1, 1 → true."
    )
    choose_token(tab, "1 → fib.cond.switch_n:0 under main/fib_1/fib_1")
    fill(tab, "new-value", "-3")
    tab.click("#change")
    assert "By hand: 1 for port 0 of fib.cond.switch_n under main/fib_1/fib_1 becomes -3." in tab.text("sentence")
    assert tab.text("live-choices") == "1 delivery by hand, 1 edit; then waves"
    assert end(tab) == "= 8"
    tab.key("u")
    tab.key("u")
    assert tab.text("live-choices") == "" and end(tab) == "= 8"


@pytest.mark.full
def test_a_changed_token_changes_the_result(tab: Tab, live_page: Path) -> None:
    """Changing the argument in flight makes the run that the machine makes of another argument."""
    tab.open(live_page)
    fill(tab, "new-value", "6")
    tab.click("#change")
    assert end(tab) == "= 13"


@pytest.mark.full
def test_an_injected_token_breaks_s4(tab: Tab, live_page: Path) -> None:
    """A second token at a port breaks S4, and the page says so."""
    tab.open(live_page, "#step=3")
    fill(tab, "node", "1", "change")
    fill(tab, "injected-value", "9")
    tab.click("#inject")
    assert "9 is injected for port 0 of" in tab.text("sentence")
    assert end(tab).startswith("Broken: node fib.")


@pytest.mark.full
def test_the_address_carries_the_run(tab: Tab, live_page: Path) -> None:
    """A page opened with the address of another shows the same run, choices and position."""
    tab.open(live_page, "#step=12&args=4&schedule=random:9")
    assert tab.text("call") == "fib(4)"
    choose_token(tab, "")
    tab.key("d")
    fill(tab, "new-value", "2")
    tab.wait("location.hash.includes('choices=12:d0')")
    address, shown = tab.run("location.hash"), tab.run(SHOWN)
    tab.open(live_page, address)
    assert tab.run(SHOWN) == shown


@pytest.mark.full
def test_the_graph_fits_from_the_beginning(tab: Tab, live_page: Path) -> None:
    """The whole graph is in sight when the page opens, after its controls have taken their room."""
    with tab.screen_size(1600, 1000):
        tab.open(live_page)
        tab.wait("(pane => pane.scrollHeight <= pane.clientHeight)(document.getElementById('scroll'))")
        sight = "(box => box.bottom <= document.getElementById('scroll').getBoundingClientRect().bottom)"
        tab.wait(f"{sight}(document.getElementById('plan').getBoundingClientRect())")


@pytest.mark.full
def test_the_right_answer_is_in_sight(tab: Tab, live_page: Path) -> None:
    """On a small screen, the check of a prediction scrolls to the nodes that it names."""
    with tab.screen_size(400, 850):
        tab.open(live_page)
        tab.key("p")
        tab.run("document.getElementById('scroll').scrollTop = 10000")
        tab.click("#check")
        sides = (
            tab.run(f"(box => [box.top, box.bottom])(document.querySelector('{element}').getBoundingClientRect())")
            for element in ("#scroll", ".missed")
        )
        (pane_top, pane_bottom), (top, bottom) = sides
        assert pane_top <= top and bottom <= pane_bottom


@pytest.mark.full
def test_a_phone_shows_the_step_once(tab: Tab, live_page: Path) -> None:
    """On a phone, the step is in the sentence only, and nothing is wider than the screen; a wide screen has both."""
    tab.open(live_page, "#step=3")
    width = "document.getElementById('position').getBoundingClientRect().width"
    assert tab.run(width) > 10
    with tab.screen_size(400, 800):
        tab.open(live_page, "#step=3")
        assert tab.run(width) <= 1 and tab.text("sentence").startswith(tab.text("position").split(",")[0])
        assert tab.run("document.documentElement.scrollWidth") <= 400


@pytest.mark.full
def test_a_bad_address_is_ignored(tab: Tab, live_page: Path) -> None:
    """What an address says wrongly stays as it is."""
    tab.open(live_page, "#step=3&args=%zz&schedule=none&choices=1:d999;zzz;2:c7=%;3:i0.0.9999=5")
    assert tab.text("call") == "fib(5)" and end(tab).startswith("= ")


@pytest.mark.full
def test_an_endless_run_is_cut(tab: Tab, tmp_path: Path) -> None:
    """A run that does not end is shown up to a number of events."""
    subject = parse("func down(n: int64) -> int64 {\n  m = subtract n, 1\n  r = call down m\n  return r\n}")["down"]
    assert isinstance(subject, tl.Program)
    page = live(tmp_path / "page.html", lower(subject), [1], choice=PlayerSelection(max_events=300))
    tab.open(page)
    assert tab.text("note") == "The first 300 events are shown; the run goes on"
    assert end(tab) == "" and "300 of 300 or more" in tab.text("position")


@pytest.mark.full
def test_its_logs_pass_the_check(tab: Tab, live_page: Path, tmp_path: Path) -> None:
    """The log that the page saves is that of a run of the reference, also with deliveries by hand."""
    tab.open(live_page, "#step=20&args=4&schedule=lifo&choices=5:d0;9:d1")
    take = "URL.createObjectURL = blob => { blob.text().then(done); return '#'; }"
    tab.run(f"void (window.saved = new Promise(done => {{ {take}; }}))")
    tab.run("void (HTMLAnchorElement.prototype.click = () => {})")
    tab.click("#live-log")
    (tmp_path / "run.jsonl").write_text(tab.run("window.saved"))
    log = tl.read_events(tmp_path / "run.jsonl")
    assert log.schedule == "hand" and log.outcome is not None and log.outcome.status == "Returned"


@pytest.mark.full
def test_what_it_cannot_run_is_refused(tmp_path: Path) -> None:
    """Arrays and Python functions are refused in words before a page is written."""
    subject = parse("func f(x: float64[3]) -> float64[3] {\n  y = add x, x\n  return y\n}")["f"]
    assert isinstance(subject, tl.Program)
    with pytest.raises(tl.Usage, match="a page cannot run this program"):
        build_live_page(lower(subject), [[1.0, 2.0, 3.0]])
    assert unsupported_reason(fib_graph()) is None
    assert run_graph(fib_graph(), [5]).results == (8,)
