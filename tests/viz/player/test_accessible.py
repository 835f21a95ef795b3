"""The page is accessible: all controls have names, text has contrast, and the keyboard reaches everything."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.observe.moments import chain
from support.pictures.chromium import Tab, chromium
from support.pictures.drawings import fib
from tagloom.viz.player.page import PlayerSelection, page_of_outcome

PRESSED = {"button", "combobox", "slider", "treeitem", "tree", "dialog", "region"}
ENOUGH = 4.5
"""The contrast that WCAG 2.2 asks of text, level AA."""


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with chromium() as result:
        yield result


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("pages") / "fib.html"
    fib.run(4, keep="events").player().save(target)
    return target


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with cells, which have a pane of their own."""
    target = tmp_path_factory.mktemp("pages") / "cells.html"
    chain.run(4, keep="events").player().save(target)
    return target


@pytest.mark.full
def test_controls_have_names(tab: Tab, page: Path) -> None:
    """Every control, node, region and activation has a name."""
    tab.open(page, "#step=20")
    tab.do("Accessibility.enable")
    nodes = [each for each in tab.do("Accessibility.getFullAXTree")["nodes"] if not each["ignored"]]
    actual = [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in nodes if "role" in each]
    assert {role for role, _ in actual} >= {"button", "combobox", "slider", "treeitem", "main", "contentinfo"}
    assert [role for role, name in actual if role in PRESSED and not name.strip()] == []


@pytest.mark.full
def test_an_embedded_page_has_a_heading(tab: Tab, tmp_path: Path) -> None:
    """A page for a frame names its run to screen readers, and shows the graph and the controls alone."""
    target = tmp_path / "embed.html"
    page_of_outcome(fib.run(4, keep="events"), PlayerSelection(embed=True)).save(target)
    tab.open(target, "#step=20")
    tab.do("Accessibility.enable")
    nodes = tab.do("Accessibility.getFullAXTree")["nodes"]
    assert "fib(4)" in [
        each["name"]["value"].split(" ")[0] for each in nodes if each.get("role", {}).get("value") == "heading"
    ]
    assert tab.run("document.querySelector('header').getBoundingClientRect().width") <= 1
    assert tab.run("document.querySelector('.tools').getBoundingClientRect().width") == 0
    assert tab.run("document.querySelector('main').getBoundingClientRect().top") < 20


PAIRS = """[...document.querySelectorAll('p, button, h1, h2, .line, .number, li, #plan text')].filter(each =>
    each.getBoundingClientRect().width && !each.disabled).map(each => {
    const inGraph = each.tagName === 'text', style = getComputedStyle(each);
    let at = each, paper = 'rgba(0, 0, 0, 0)';
    while (at && /, 0\\)$|^transparent$/.test(paper)) {
        paper = getComputedStyle(at).backgroundColor; at = at.parentElement; }
    const shapes = inGraph && each.matches('.node > *, .token > :not(.tag)') ? [...each.parentNode.children] : [];
    const shape = shapes.find(other => other !== each && !/^(none|)$/.test(getComputedStyle(other).fill) &&
        /^(path|polygon|ellipse|rect)$/.test(other.tagName)), filled = shape && getComputedStyle(shape);
    return [inGraph ? style.fill : style.color, paper, filled ? filled.fill : paper,
        filled ? Number(filled.fillOpacity) : 0]; })"""
"""By text: its colour, that of the paper under it, and of the shape between them, with its opacity."""


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(tab: Tab, page: Path, scheme: str) -> None:
    """Text has contrast on light and dark paper, on highlighted lines, and in the graph: in second lines too, and on
    nodes that fired or were predicted."""
    tab.prefer(reduced_motion="reduce", color_scheme=scheme)
    tab.open(page, "#step=20")
    pairs = tab.run(PAIRS)
    assert len(pairs) > 40 and tab.run("document.querySelectorAll('.fired text').length") > 0
    tab.key("p")
    tab.run(
        "document.querySelectorAll('#plan [role=button]').forEach(each => "
        "each.dispatchEvent(new MouseEvent('click', {bubbles: true})))"
    )
    tab.key("c")
    assert tab.run("document.querySelectorAll('.right text').length") > 0
    pairs += tab.run(PAIRS)
    actual = {(*map(rgb, pair[:3]), pair[3]) for pair in map(tuple, pairs)}
    assert [pair for pair in actual if contrast(pair[0], blended(*pair[1:])) < ENOUGH] == []


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cells_have_contrast(tab: Tab, cells: Path, scheme: str) -> None:
    """Full and empty cells have contrast."""
    tab.prefer(reduced_motion="reduce", color_scheme=scheme)
    tab.open(cells, "#step=50")
    assert tab.run("document.querySelectorAll('#cells .full').length") > 0
    actual = {(*map(rgb, pair[:2]),) for pair in tab.run(PAIRS.replace("li, #plan text", "#cells li, #cells b"))}
    assert [pair for pair in actual if contrast(*pair) < ENOUGH] == []


def blended(paper: tuple[float, ...], ink: tuple[float, ...], opacity: float) -> tuple[float, ...]:
    """A colour over another.

    >>> blended((0.0, 0.0, 0.0), (1.0, 0.5, 0.0), 0.5)
    (0.5, 0.25, 0.0)
    """
    return tuple(below + (above - below) * opacity for below, above in zip(paper, ink, strict=True))


def rgb(said: str) -> tuple[float, ...]:
    """A colour as CSS says it, from 0 to 1.

    >>> rgb("rgb(255, 0, 0)"), rgb("color(srgb 1 0.5 0)")
    ((1.0, 0.0, 0.0), (1.0, 0.5, 0.0))
    """
    name, _, inside = said.rstrip(")").partition("(")
    numbers = [float(each) for each in inside.replace(",", " ").replace("srgb", "").split()[:3]]
    return tuple(number / 255 for number in numbers) if name.startswith("rgb") else tuple(numbers)


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The contrast of two colours, by WCAG."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: tuple[float, ...]) -> float:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_keyboard_reaches_the_graph(tab: Tab, page: Path) -> None:
    """Tab reaches one node; arrows lead from it to the others, and the space key selects one."""
    tab.open(page, "#step=20")
    assert tab.run("document.querySelectorAll('#plan [tabindex=\"0\"]').length") == 1
    tab.run("document.querySelector('#plan [tabindex=\"0\"]').focus()")
    before = tab.run("document.activeElement.id")
    tab.key("ArrowDown")
    after = tab.run("document.activeElement.id")
    assert after != before
    tab.key("Space")
    assert tab.run("document.querySelector('.node.chosen').id") in (before, after)


@pytest.mark.inner(first=5)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("key", ["End", "p", "?"])
def test_axe_has_no_findings(tab: Tab, page: Path, cells: Path, scheme: str, key: str) -> None:
    """axe-core, if TAGLOOM_AXE names it, has no findings."""
    axe = os.environ.get("TAGLOOM_AXE")
    if not axe:
        pytest.skip("axe-core is not there: TAGLOOM_AXE=axe.min.js")
    tab.prefer(reduced_motion="reduce", color_scheme=scheme)
    for shown in (page, cells):
        tab.open(shown, "#step=20")
        tab.key(key)
        tab.run(f"{Path(axe).read_text()};0")
        script = "axe.run().then(found => found.violations.map(each => [each.impact, each.id, each.nodes[0].html]))"
        actual = tab.run(script)
        assert actual == [], json.dumps(actual, indent=1)
