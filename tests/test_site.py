"""The docs as a site: it is built strictly, needs no other server, and has live pages and explained terms."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
import site_of_docs
from support.pictures.chromium import Tab, chromium
from tutorial import commands


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; skips if MkDocs is not installed."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    site_of_docs.build(folder)
    return folder


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with chromium() as opened:
        yield opened


def test_a_term_is_explained_once() -> None:
    """The first use of a term outside headings keeps its explanation."""
    term = '<abbr title="a value">token</abbr>'
    html = f"<h2>{term}</h2><p>{term} {term}</p>"
    assert site_of_docs.on_page_content(html) == f"<h2>token</h2><p>{term} token</p>"


def test_everyday_words_are_terms() -> None:
    """The words that are left out are terms of the glossary; the others are explained."""
    lines = site_of_docs.TERMS.read_text().splitlines()
    assert {line.partition(" | ")[0] for line in lines} >= site_of_docs.EVERYDAY_WORDS
    text = site_of_docs.abbreviations()
    assert "*[token]: " in text and "*[back]: " not in text


def test_definitions_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The theme takes the title of a term for HTML: signs of HTML in a definition are signs there, too."""
    terms = tmp_path / "glossary.txt"
    terms.write_text("less | `a < b & c`, or <b>d</b> | ops.md\n")
    monkeypatch.setattr(site_of_docs, "TERMS", terms)
    title = unescape(site_of_docs.abbreviations().removeprefix("*[less]: "))
    assert "<" not in title and unescape(title) == "a < b & c, or <b>d</b>\n"


def test_pictures_of_html_are_copied_and_folders_are_no_links() -> None:
    """Pictures of HTML are among the files of a page. A link to a folder is a link if the folder has a page."""
    names = {path.name for path in site_of_docs.linked_files("README.md")}
    assert {"debugger_200x60_light.svg", "debugger_120x40_dark.svg"} <= names
    text = "[ops](core/ops/) [recursion](papers_examples/recursion/)"
    assert site_of_docs.embed_pages(text, "README.md", {}) == "ops [recursion](papers_examples/recursion/)"


def test_pictures_become_live_pages() -> None:
    """A picture with a live page is replaced by it, and others are not."""
    text = "![A [b]](pictures/fib_at_20.svg) ![c](pictures/race.svg) [d](pictures/fib_at_20.svg)"
    live = {"docs/pictures/fib_at_20.svg": "docs/live/fib.html"}
    replaced = site_of_docs.embed_pages(text.replace("[b]", "b"), "docs/pictures.md", live)
    frame = '<iframe class="live" loading="lazy" title="A b" src="../docs/live/fib.html"></iframe>'
    assert replaced == f"{frame} ![c](pictures/race.svg) [d](pictures/fib_at_20.svg)"
    assert all((site_of_docs.ROOT / name).exists() for name in site_of_docs.LIVE_PICTURES)


def test_the_pages_of_the_tutorial_are_the_runs_of_its_pictures() -> None:
    """Each picture of the tutorial has a live page, with the program, arguments and options of the command above it,
    at the same event; those of a whole run are at its end."""
    shown = {words[-1]: words[1:-2] for words, _ in commands() if words[-1].endswith(".svg")}
    assert len(shown) == 7
    for name, words in shown.items():
        picture = site_of_docs.LIVE_PICTURES[f"docs/tutorial/{name}"]
        expected = [picture.target, *picture.arguments.split()]
        assert words[: len(expected)] == expected, name
        assert words[len(expected) :] in ([], ["--at", str(picture.step)]) or picture.is_whole, name


def navigation() -> set[str]:
    """The pages that the site's navigation names."""
    return set(re.findall(r"(?m): (\S+\.md)$", (site_of_docs.ROOT / "docs" / "mkdocs.yml").read_text()))


def test_the_navigation_has_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page but the index of docs, which the navigation replaces, is in it; one that is new would be missed."""
    assert navigation() == {*site_of_docs.page_names()} - {"docs/README.md"}
    names = site_of_docs.page_names()
    monkeypatch.setattr(site_of_docs, "page_names", lambda: [*names, "docs/new.md"])
    assert navigation() != {*site_of_docs.page_names()} - {"docs/README.md"}


def test_a_folder_with_other_files_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MkDocs deletes what is in its folder, so that must be new, empty, or a site; and MkDocs must be
    installed."""
    monkeypatch.setattr(site_of_docs, "find_spec", lambda name: object())
    assert site_of_docs.describe_obstacle(tmp_path) == site_of_docs.describe_obstacle(tmp_path / "new") == ""
    (tmp_path / "thesis.tex").touch()
    assert "other files" in site_of_docs.describe_obstacle(tmp_path)
    assert "is a file" in site_of_docs.describe_obstacle(tmp_path / "thesis.tex")
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "search_index.json").touch()
    assert site_of_docs.describe_obstacle(tmp_path) == ""
    monkeypatch.setattr(site_of_docs, "find_spec", lambda name: None)
    assert "pip install" in site_of_docs.describe_obstacle(tmp_path)


@pytest.mark.full
def test_the_site_is_built_strictly(site: Path) -> None:
    """Every page of docs is there; no link or anchor leads nowhere."""
    pages = {path.stem for path in (site_of_docs.ROOT / "docs").glob("*.md")} - {"README"}
    assert {path.stem for path in (site / "docs").glob("*.html")} >= pages
    assert (site / "index.html").exists() and (site / "search" / "search_index.json").exists()


@pytest.mark.full
@pytest.mark.parametrize("target", ["nowhere.md", "docs/pictures.md#nowhere"])
def test_links_that_lead_nowhere_are_errors(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """A twin whose first page has a broken link or anchor is not built."""
    from mkdocs.exceptions import Abort

    write_pages = site_of_docs.write_pages

    def write_broken_pages(folder: Path) -> None:
        write_pages(folder)
        page = folder / "README.md"
        page.write_text(f"{page.read_text()}\n[a link]({target})\n")

    monkeypatch.setattr(site_of_docs, "LIVE_PICTURES", {})
    monkeypatch.setattr(site_of_docs, "write_pages", write_broken_pages)
    with pytest.raises(Abort):
        site_of_docs.build(tmp_path)


@pytest.mark.full
def test_a_page_in_chromium(site: Path, tab: Tab) -> None:
    """A live page stands in place of a picture and runs; a term has its line of the glossary; nothing comes from
    another server."""
    tab.do("Page.navigate", url=f"{(site / 'docs' / 'player.html').as_uri()}")
    tab.wait("document.readyState === 'complete' && document.querySelectorAll('iframe.live').length === 2")
    tab.wait("document.querySelector('article abbr') !== null")
    tab.run("document.querySelector('iframe.live').scrollIntoView()")
    tab.wait("document.querySelector('iframe.live').getBoundingClientRect().width > 400")
    assert tab.run("document.querySelector('article abbr[title]') !== null")
    address = tab.run("document.querySelector('iframe.live').src")
    tab.do("Page.navigate", url=address)
    tab.wait("document.getElementById('position') && document.getElementById('position').textContent.includes('120')")
    assert tab.requests == []


COUNTS = """({tokens: document.querySelectorAll('.token.flight').length,
    waiting: document.querySelectorAll('.token.waiting').length,
    deferred: document.querySelectorAll('.token.deferred').length,
    throttled: document.querySelectorAll('.token.throttled').length,
    activations: document.querySelectorAll('#tags [role=treeitem]').length})"""
"""What a live page shows, by kind."""


@pytest.mark.full
def test_the_tutorial_in_chromium(site: Path, tab: Tab) -> None:
    """A reader goes through the seven steps of the tutorial on the site: under each heading a live page shows what the
    text says, and goes a step back and on again."""
    tab.prefer(reduced_motion="reduce")
    tab.do("Page.navigate", url=(site / "docs" / "tutorial.html").as_uri())
    tab.wait("document.readyState === 'complete' && document.querySelectorAll('iframe.live').length === 7")
    order = "[...document.querySelectorAll('article h2, iframe.live')].map(each => each.src || each.textContent[0])"
    parts = tab.run(order)[:14]
    assert parts[::2] == list("1234567")
    complaints = len(tab.complaints)  # of the theme, in a page that no server sends
    counts = {}
    for number, address in zip(parts[::2], parts[1::2], strict=True):
        tab.do("Page.navigate", url=address)
        step = address.partition("#step=")[2]
        at_step = f"document.getElementById('position')?.textContent.startsWith('Step {step} of ')"
        tab.wait(at_step)
        counts[number] = tab.run(COUNTS)
        tab.key("w"), tab.key("w")  # steps by event
        tab.key("ArrowLeft")
        tab.wait(f"!({at_step})")
        tab.key("ArrowRight")
        tab.wait(at_step)
    assert tab.requests == [] and tab.complaints[complaints:] == []
    assert counts["1"] == {"tokens": 2, "waiting": 0, "deferred": 0, "throttled": 0, "activations": 1}
    assert counts["2"] == {"tokens": 1, "waiting": 1, "deferred": 0, "throttled": 0, "activations": 1}
    assert counts["3"]["tokens"] == 2 and counts["4"]["activations"] == 9
    assert counts["5"]["activations"] == 5  # main and four iterations, the last of which ends the loop
    assert counts["6"]["activations"] == 67  # the calls of fib(8)
    assert counts["7"]["tokens"] == 0 and counts["7"]["throttled"] == counts["7"]["deferred"] == 3


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["index", "docs/tutorial", "docs/ops", "docs/pictures", "docs/glossary"])
def test_axe_has_no_findings_on_the_site(site: Path, tab: Tab, page: str, scheme: str) -> None:
    """axe-core, if TAGLOOM_AXE names it, has no findings but one on the theme: its copy buttons have no label for the
    landmark around them."""
    axe = os.environ.get("TAGLOOM_AXE")
    if not axe:
        pytest.skip("axe-core is not there: TAGLOOM_AXE=axe.min.js")
    tab.prefer(color_scheme=scheme)
    for _ in range(2):  # the theme keeps the scheme of the first page that was opened
        tab.do("Page.navigate", url="about:blank")
        tab.do("Page.navigate", url=(site / f"{page}.html").as_uri())
        tab.wait("document.readyState === 'complete' && document.querySelector('article') !== null")
        tab.run("localStorage.clear()")
    assert tab.run("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
    tab.run(f"{Path(axe).read_text()};0")
    script = "axe.run({iframes: false}).then(found => found.violations.map(each => [each.id, each.nodes[0].html]))"
    actual = [finding for finding in tab.run(script) if finding[0] != "landmark-unique"]
    assert actual == [], json.dumps(actual, indent=1)
