"""The laws of all views; and runs to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history.history import History
from tagloom.viz.view import BadgeMark, View

LIMITS = Limits(firings=300)


@st.composite
def runs(draw: Any) -> History:
    """Runs of generated programs, with cells, effects and bounds too, at random positions."""
    case: Case = draw(st.one_of(cases(), act_cases()))
    schedule = draw(st.sampled_from(["waves", "fifo", "lifo", "random:3"]))
    history = History(lower(case.program), case.arguments, schedule=schedule, limits=LIMITS, world=Witness())
    history.run()
    history.jump(draw(st.integers(0, len(history))))
    return history


def view_violations(view: View) -> Iterator[str]:
    """Names are unique, and arrows, levels and rank constraints refer to boxes of the view."""
    clusters = list(view.root.walk())
    names = [*(cluster.name for cluster in clusters), *(name for cluster in clusters for name in cluster.boxes)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        yield f"several things are called {twice}"
    if any(name != box.name for name, box in view.boxes.items()):
        yield "a box goes by another name than its own"
    for arrow in view.arrows:
        if arrow.tail not in view.boxes or arrow.head not in view.boxes:
            yield f"{arrow} ends nowhere"
        if arrow.head_cluster and arrow.head_cluster not in {cluster.name for cluster in clusters}:
            yield f"{arrow} ends at no cluster"
    for cluster in clusters:
        if not set(cluster.same_rank) <= cluster.boxes.keys():
            yield f"the level of {cluster.name} has boxes of others"
    for upper, lower_ in view.rank_constraints:
        if upper not in view.boxes or lower_ not in view.boxes:
            yield f"{upper} is kept above {lower_}"


def badges(view: View) -> Counter[BadgeMark]:
    """The number of badges of each mark."""
    results = [*(box.badges for box in view.boxes.values()), *(arrow.badges for arrow in view.arrows)]
    return Counter(badge.mark for each in results for badge in each)
