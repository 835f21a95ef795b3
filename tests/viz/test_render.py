"""Layout in a separate process: its results, its failures, and that nothing of it outlives the call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from html import unescape
from pathlib import Path

import pytest
import tagloom as tl
from support.pictures.drawings import fib, graph_dot, program_dot, race
from tagloom.viz import render as module
from tagloom.viz.render import FORMATS, render, render_svgs

BEGINNINGS = {"svg": b"<?xml", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-"}
STUCK = "import os, sys, time; open(sys.stdin.read(), 'w').write(str(os.getpid())); time.sleep(100)"
"""In the place of a layout: writes its number to the file that its input names, and does not end."""


def picture(dot: str, form: str) -> bytes:
    """A picture; skips the test if the machine has no font."""
    try:
        return render(dot, form)
    except tl.Usage as error:
        if "no font" in error.message:
            pytest.skip(error.message)
        raise


def svg(dot: str) -> str:
    return unescape(render(dot, "svg").decode())


def is_gone(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.full
@pytest.mark.parametrize("form", FORMATS)
def test_each_format_has_its_signature(form: str) -> None:
    """The data of each format begin as that format does."""
    assert picture(graph_dot(fib.graph), form).startswith(BEGINNINGS[form])


@pytest.mark.full
def test_text_is_in_the_picture() -> None:
    """An SVG has the words of the graph or program; an invalid graph is laid out too."""
    assert ">n - 1</text>" in svg(graph_dot(fib.graph))
    assert ">yield 1</text>" in svg(program_dot(fib.program))
    assert ">merge</text>" in svg(graph_dot(race()))


@pytest.mark.full
def test_letters_are_drawn() -> None:
    """Bitmaps differ by their letters, so the machine's fonts are used."""
    one, other = (picture(f"graph {{ a [label={letters} fixedsize=true] }}", "png") for letters in ("MMM", "iii"))
    assert one != other


@pytest.mark.full
def test_a_machine_without_fonts_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fonts, bitmaps are refused instead of drawn with boxes for letters; an SVG needs no fonts."""
    if sys.platform != "linux":
        pytest.skip("fonts come from fontconfig on Linux only")
    config = tmp_path / "fonts.conf"
    config.write_text(f"<fontconfig><dir>{tmp_path}</dir><cachedir>{tmp_path}</cachedir></fontconfig>")
    monkeypatch.setenv("FONTCONFIG_FILE", str(config))
    with pytest.raises(tl.Usage, match="no font"):
        render(graph_dot(fib.graph), "png")
    assert ">n - 1</text>" in svg(graph_dot(fib.graph))


def test_unknown_formats_are_refused() -> None:
    """The error lists the formats."""
    with pytest.raises(tl.Usage, match="svg, png, pdf"):
        render("digraph { }", "gif")


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("dot", ["", "nonsense", "digraph {", "digraph { a -> }"])
def test_wrong_dot_is_refused(dot: str) -> None:
    """Text that Graphviz cannot read is the caller's mistake, with Graphviz's reason."""
    with pytest.raises(tl.Usage, match="cannot lay this out\n  got: "):
        render(dot, "svg")


def test_missing_pygraphviz_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint says how to install it."""
    lacking = module._LAYOUT.replace("pygraphviz", "pygraphviz_that_nobody_has")
    monkeypatch.setattr(module, "_LAYOUT", lacking)
    with pytest.raises(tl.Usage, match="pip install pygraphviz"):
        render("digraph { }", "svg")


def test_a_crash_of_the_layout_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    """If Graphviz crashes its process, the caller gets an error."""
    monkeypatch.setattr(module, "_LAYOUT", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(tl.Usage, match="SIGKILL"):
        render("digraph { }", "svg")


@pytest.mark.full
def test_timeout_kills_the_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the timeout the process has ended, and the error has a hint."""
    monkeypatch.setattr(module, "_LAYOUT", STUCK)
    with pytest.raises(tl.Usage, match="longer than 3 s"):
        render(str(tmp_path / "number"), "svg", timeout=3)
    assert is_gone(int((tmp_path / "number").read_text()))


@pytest.mark.full
def test_a_slow_layout_gets_all_of_a_long_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that takes longer than several waits to begin reads more than a pipe holds."""
    monkeypatch.setattr(module, "_PROGRESS_INTERVAL", 0.001)
    monkeypatch.setattr(module, "_LAYOUT", f"import time; time.sleep(0.1)\n{module._LAYOUT}")
    waits = list[float]()
    boxes = (f'a{number} [tooltip="{"x" * 10_000}"]' for number in range(20))
    dot = f"digraph {{ {';'.join(boxes)} }}"
    assert len(render(dot, "svg", timeout=60, progress=waits.append)) > 200_000
    assert len(waits) > 5


@pytest.mark.full
@pytest.mark.parametrize("count", [1, 2, 5])
def test_several_layouts_are_those_of_each(count: int) -> None:
    """Several sources give the pictures that each gives alone, in their order."""
    sources = [f"digraph {{ {name} -> {name * 2} }}" for name in "abcde"[:count]]
    assert render_svgs(sources) == [render(source, "svg").decode() for source in sources]


@pytest.mark.full
def test_a_graph_whose_layout_aborts_has_its_texts_beside_its_arrows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphviz aborts at some graphs with texts at arrows that do not order boxes. These are drawn in another way, the
    others as alone, and no text is lost."""
    abort = "'faulty' in source and label == 'label' and __import__('os').abort()"
    head, tail = module._LAYOUT.split("    picture = AGraph(string=source)\n")
    sources = [f"digraph {{ {name} -> {name * 2} }}" for name in "abcdefgh"]
    for number in (0, 2, 4, 7):
        sources[number] = "digraph faulty { { rank=same a b } a -> b [label=<<b>seven</b>> constraint=false] }"
    alone = [render(source, "svg").decode() for source in sources]
    monkeypatch.setattr(module, "_LAYOUT", f"{head}    picture = AGraph(string=source)\n    {abort}\n{tail}")
    for number, (picture, normal) in enumerate(zip(render_svgs(sources), alone, strict=True)):
        is_faulty = number in (0, 2, 4, 7)
        assert (picture != normal) == is_faulty
        assert (">seven</text>" in picture) == is_faulty


ASSERTION = """
digraph {
graph [compound=true fontsize=12 newrank=true nodesep=0.3 ranksep=0.24]
subgraph cluster_0 {
    a1 [label=<call taken> shape=invhouse]
    a2 [label=<add_1 * exp_3> shape=ellipse]
    a3 [label=<sum(multiply_1, 1,<br/>false)> shape=ellipse]
    { b1 -> b2 [style=invis] }
}
c1 -> c2 [label=<&#160;<b>16</b>&#160;>]
c2 -> a1 [arrowhead=vee]
c2 -> a1 [label=<&#160;<b>15</b>&#160;>]
c3 -> c4 [label=<&#160;<b>15</b>&#160;>]
c4 -> a1 [arrowhead=normal constraint=false]
d1 -> d2 [label=<&#160;<b>18</b>&#160;> constraint=false]
d1 -> c4 [label=<&#160;<b>4</b>&#160;> constraint=false]
d1 -> e1 [label=<&#160;<b>2</b>&#160;> constraint=false]
d2 -> b1 [label=<&#160;<b>2</b>&#160;> constraint=false]
d2 -> d3 [label=<&#160;<b>24</b>&#160;> constraint=false]
d2 -> d1 [label=<&#160;<b>4</b>&#160;> constraint=false]
f1 -> f4; f1 -> f5; f2 -> f3; f3 -> f4; f4 -> f6; f5 -> a2; f7 -> f8; f8 -> a2
f6 -> d2 [label=<&#160;<b>2</b>&#160;> constraint=false]
a3 -> d2 [label=<&#160;<b>2</b>&#160;> constraint=false]
d3 -> d2 [label=<&#160;<b>4</b>&#160;> constraint=false]
}
"""
"""A graph for which an assertion fails in Graphviz 14."""


@pytest.mark.full
def test_graphs_that_graphviz_aborts_at_are_drawn() -> None:
    """An assertion in Graphviz fails for this graph, as for a step of L2HMC with one part unfolded."""
    picture = render(ASSERTION, "svg").decode()
    assert all(f">{count}</text>" in picture for count in (2, 4, 15, 16, 18, 24))


@pytest.mark.full
def test_graphs_at_which_graphviz_reads_wrong_memory_are_drawn() -> None:
    """Graphviz 14 ends by SIGSEGV for a cycle of arrows that do not order their boxes, as between folded functions."""
    edges = "c; a -> b; b -> c [constraint=false]; c -> d [constraint=false]; d -> c [label=<five> constraint=false]"
    assert ">five</text>" in render(f"digraph {{ {edges} }}", "svg").decode()


@pytest.mark.full
def test_timeout_kills_graphviz() -> None:
    """A layout that would take minutes ends in time, although it runs in C."""
    edges = ";".join(f"a{i} -> a{j}" for i in range(200) for j in range(i))
    begun = time.monotonic()
    with pytest.raises(tl.Usage, match="longer"):
        render(f"digraph {{ {edges} }}", "svg", timeout=1)
    assert time.monotonic() - begun < 20


@pytest.mark.full
def test_interrupt_kills_the_layout(tmp_path: Path) -> None:
    """Ctrl-C ends the call with KeyboardInterrupt, and ends the process."""
    number = tmp_path / "number"
    code = f"from tagloom.viz import render; render._LAYOUT = {STUCK!r}; render.render({str(number)!r}, 'svg')"
    caller = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (number.exists() and number.read_text()):  # the limit on a test's time ends it
        assert caller.poll() is None
        time.sleep(0.05)
    caller.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in caller.communicate()[1]
    assert is_gone(int(number.read_text()))


@pytest.mark.full
def test_import_of_tagloom_loads_no_graphviz(tmp_path: Path) -> None:
    """Neither `import tagloom` nor the modules that draw load Graphviz; drawing does."""
    code = """
import sys, tagloom, tagloom.viz.dot, tagloom.viz.render, tagloom.viz.profile
assert "graphviz" not in sys.modules and "pygraphviz" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
