"""Moments of a run on one layout."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import tagloom as tl
from tagloom.core.errors import Usage
from tagloom.viz import frames
from tagloom.viz.collapse import limit_badges
from tagloom.viz.dot import label_markup, wrap_caption
from tagloom.viz.frames import align_views, fit_badges, frame_path, is_legible
from tagloom.viz.operand_order import lay_out_boxes
from tagloom.viz.pictures import moment_view, trim_view
from tagloom.viz.style import LIGHT
from tagloom.viz.view import Badge, View, count_by_mark


@tl.function
def total(n: tl.int64) -> tl.int64:
    s = 0
    for i in range(n):
        s = s + i
    return s


def moments(count: int) -> list[View]:
    """The views of a run after 0, 7, 14, ... events."""
    history: Any = total.history(3)
    history.run()
    views = []
    for number in range(count):
        history.jump(7 * number)
        views.append(trim_view(moment_view(history)))
    return views


@pytest.mark.full
def test_frames_have_one_layout() -> None:
    """Boxes are at the same places in all frames; without room for the badges of the others they move."""
    views = moments(6)
    aligned = [lay_out_boxes(view).middles for view in align_views(views)]
    assert all(one == other for one, other in pairwise(aligned))
    own = [lay_out_boxes(view).middles for view in views]
    assert any(one != other for one, other in pairwise(own))


@pytest.mark.full
def test_frames_without_room_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that keeps no room for more than one badge moves boxes."""
    monkeypatch.setattr(frames, "badge_places", lambda view: [])
    aligned = [lay_out_boxes(view).middles for view in align_views(moments(6))]
    assert any(one != other for one, other in pairwise(aligned))


@pytest.mark.full
def test_captions_do_not_move_frames() -> None:
    """A graph that is narrower than its captions has the same width in all frames, whatever their captions and
    legends; without room for these, it has not."""

    @tl.function
    def double(n: tl.int64) -> tl.int64:
        return n + n

    history: Any = double.history(3)
    history.run()
    views = []
    for position in range(len(history) + 1):
        history.jump(position)
        views.append(moment_view(history))
    aligned = align_views(views)
    assert len({lay_out_boxes(view).width for view in aligned}) == 1
    assert len({lay_out_boxes(replace(view, caption_room=None)).width for view in aligned}) > 1


def caption_heights(views: list[View]) -> set[int]:
    """The numbers of lines below the graphs of some frames."""
    return {label_markup(view, LIGHT).count("<br/>") for view in align_views(views)}


def test_words_of_captions_do_not_move_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captions are wrapped between words, so that one may need more lines than a longer one: all frames have as many
    lines. A twin that counts the lines of captions without spaces is caught."""
    captions = ["x" * 140, " ".join(["x" * 40] * 3)]
    views = [replace(view, caption=caption) for view, caption in zip(moments(2), captions, strict=True)]
    assert len(caption_heights(views)) == 1
    monkeypatch.setattr(frames, "wrap_caption", lambda caption: wrap_caption("x" * len(caption)))
    assert len(caption_heights(views)) == 2


def crowded_view() -> View:
    """A chain of eight merges; each box and arrow has three tokens of arrays."""
    tokens = tuple(Badge("waiting", "float64[64, 10]", f"loop[{number}]") for number in range(3))
    view = View("crowded", is_static=True, is_moment=True)
    function = view.root.add_cluster("function", "main", "")
    for number in range(8):
        function.add_box(str(number), "merge", "weights")
        function.boxes[str(number)] = function.boxes[str(number)]._replace(badges=tokens)
        if number:
            view.add_arrow(str(number - 1), str(number), "data", badges=tokens)
    return view


@pytest.mark.full
@pytest.mark.parametrize("moment_count", [1, 2])
def test_badges_leave_letters_legible(moment_count: int) -> None:
    """Where all tokens of a moment would make letters too small, each place has fewer badges, which still count all
    tokens; where they would not, nothing changes. Twins that keep all badges are caught."""
    views = [crowded_view()] * moment_count
    fitted = fit_badges(views)
    assert is_legible(fitted[0]) and not is_legible(align_views(views)[0])
    for box in fitted[0].boxes.values():
        assert len(box.badges) < 3 and count_by_mark(box.badges).total() == 3
    small = moments(moment_count)
    assert fit_badges(small) == (align_views(small) if moment_count > 1 else small)


def test_one_badge_stands_for_all() -> None:
    """The first of several tokens is shown with the number of the others. Nodes that can fire are one badge anyway."""
    tokens = [Badge("flight", "3", "fib"), Badge("waiting", "4"), Badge("more", "2", counts=(("flight", 2),))]
    [badge] = limit_badges(tokens, 1)
    assert (badge.mark, badge.text, badge.detail) == ("flight", "3", "fib  + 3")
    assert dict(badge.counts) == {"flight": 3, "waiting": 1}
    [badge] = limit_badges([Badge("ready", ""), Badge("ready", "2", counts=(("ready", 2),))])
    assert (badge.mark, badge.text, badge.counts) == ("ready", "3", (("ready", 3),))


@pytest.mark.parametrize("pattern", ["frame.svg", "%d-%d.svg"])
def test_frames_have_a_name_each(pattern: str) -> None:
    """The name of the files has one place for the number of events."""
    with pytest.raises(Usage, match="need a file name with a number"):
        frame_path(pattern, 3)
