"""The speed of the debugger on screen: `python tests/benchmarks/painting.py`.

The seconds from the command to the first screen, on a terminal of 120 by 40, at the second start; and the time to draw
and paint the pane of a graph of 500 nodes, with its cells, on a terminal of 330 by 180 where all are in sight."""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path = [each for each in sys.path if each != str(Path(__file__).parent)]

from onscreen import Screen, shown  # noqa: E402
from tagloom.tui.app.graph import GraphPane  # noqa: E402
from tagloom.tui.panes import graph as drawing  # noqa: E402
from terminals import terminal  # noqa: E402
from textual.geometry import Region  # noqa: E402

WIDTH, ROWS = 20, 23
"""A program whose graph is so wide and, with what adds up the columns, has 500 nodes."""


def first_screen() -> None:
    """Seconds from the command to the graph and the line of the position."""
    command = [sys.executable, "-m", "tagloom", "debug", "papers_examples/recursion/fib.py", "5"]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tagloom").mkdir()
        (Path(folder) / "tagloom" / "tour").write_text("seen")
        worked = 0.0
        for number in ("first", "second", "third"):
            begun = time.perf_counter()
            with terminal(Path(folder), command) as at:
                at.wait_for("at the beginning")
                screen = time.perf_counter() - begun
                at.wait_for("n <= 1")
                whole = time.perf_counter() - begun
                at.type("q")
                at.ends()
            used, before = resource.getrusage(resource.RUSAGE_CHILDREN), worked
            worked = used.ru_utime + used.ru_stime
            print(f"{number} start: the screen after {screen:.2f} s, with the graph {whole:.2f} s")
            print(f"  the processor worked {worked - before:.2f} s, to leave included")


def wide() -> str:
    """Rows of nodes, each with two operands from the row before."""
    names = [f"x{column}" for column in range(WIDTH)]
    lines = [f"    {name} = n + {column}" for column, name in enumerate(names)]
    for row in range(ROWS):
        sign = "+*-"[row % 3]
        pairs = zip(names, names[1:] + names[:1], strict=True)
        lines.append(f"    {', '.join(names)} = {', '.join(f'{one} {sign} {other}' for one, other in pairs)}")
    return "\n".join(
        [
            "import tagloom as tl",
            "@tl.function",
            "def wide(n: tl.int64) -> tl.int64:",
            *lines,
            f"    return {' + '.join(names)}\n",
        ]
    )


def milliseconds_to_paint(screen: Screen, pane: GraphPane) -> float:
    """Milliseconds of processor time to draw the graph at the session's position, and to paint it."""
    session, draft, compositor = screen.app.session, screen.app.presenter.graph_layout, screen.app.screen._compositor
    assert draft is not None
    begun = time.process_time()
    pane.show_content(drawing.draw_tokens(draft, session))
    compositor.update_widgets({pane})
    update = compositor.render_update(screen_stack=[])
    if update is not None:
        update.render_segments(screen.app.console)
    return (time.process_time() - begun) * 1000


def _visible(screen: Screen, pane: GraphPane) -> int:
    """The number of nodes with a cell on the screen."""
    draft, seen = screen.app.presenter.graph_layout, Region(*pane.scroll_offset, *pane.size)
    assert draft is not None
    return sum(any(seen.contains(column, row) for row, column in draft.cell_positions[name]) for name in draft.nodes)


async def graph(screen: Screen) -> None:
    session, draw = screen.app.session, random.Random(3)
    await screen.do("event 300")
    await screen.press("f2")
    pane = screen.app.query_one(GraphPane)
    known, count = len(session.history), len(session.history.graph.nodes)
    print(f"{count} nodes, {_visible(screen, pane)} in sight, a pane of {pane.size.width} by {pane.size.height} cells")
    far = [f"goto {draw.randrange(known)}" for _ in range(60)]
    for name, lines in (("a step", ["step"] * 60), ("a jump", far), ("all of it", far)):
        taken = []
        for line in lines:
            session.execute(line)
            if name == "all of it":
                pane._strip_cache.clear()
                pane.refresh()
            taken.append(milliseconds_to_paint(screen, pane))
        print(f"{name}: median {median(taken):.1f} ms, worst {max(taken):.1f} ms, best {min(taken):.1f} ms")


def main() -> None:
    first_screen()
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "wide.py"
        file.write_text(wide())
        shown(graph, f"{file}:wide", "3", size=(330, 180))


if __name__ == "__main__":
    main()
