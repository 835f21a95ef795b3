"""`python tests/site_of_docs.py FOLDER` builds the docs as a site; links and anchors that lead nowhere are errors.

It needs `pip install -e ".[docs]"`. The pages are those of docs and of the repository's root, with the files that they
link to. Some pictures become live pages, in which readers run the program; the first use of a term on a page shows its
line of the glossary when it is pointed at.
"""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TERMS = ROOT / "tui" / "panes" / "glossary.txt"
EXAMPLES = "papers_examples"
LESSONS = "lessons"
"""The folder of the tutorial, which `tagloom examples` makes."""
LINK = re.compile(r"(!?)\[((?:[^\]\\]|\\.)*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
"""A link or picture of Markdown: whether it is a picture, its text, its file, and its anchor."""
SOURCE = re.compile(r'<img src="([^"]+)"')
"""A picture of HTML."""


class LivePicture(NamedTuple):
    """The live page that takes the place of a picture: the program, its arguments with options, and the first
    position."""

    target: str
    arguments: str
    step: int = 0
    is_whole: bool = False
    """Whether it has all panes, and fields for the arguments; without them it is the graph and the controls."""


LIVE_PICTURES = {
    "docs/pictures/player.png": LivePicture(f"{EXAMPLES}/recursion/fib.py", "5", 120),
    "docs/pictures/player_live.png": LivePicture(f"{EXAMPLES}/recursion/fib.py", "5", 42, is_whole=True),
    "docs/pictures/fib_at_20.svg": LivePicture(f"{EXAMPLES}/recursion/fib.py", "4", 20),
    "docs/pictures/deadlock.svg": LivePicture(f"{EXAMPLES}/roots/bounded_deadlock.py", "10 --k 5", 110),
    "docs/pictures/ackermann.svg": LivePicture(f"{EXAMPLES}/recursion/ackermann.py", "1 2"),
    "docs/pictures/factorial.svg": LivePicture(f"{EXAMPLES}/recursion/factorial.py", "4"),
    "docs/pictures/mutual.svg": LivePicture(f"{EXAMPLES}/recursion/mutual.py", "5"),
    "docs/tutorial/token.svg": LivePicture(f"{LESSONS}/sums.py", "2 3", 1),
    "docs/tutorial/waits.svg": LivePicture(f"{LESSONS}/sums.py", "2 3", 3),
    "docs/tutorial/branch.svg": LivePicture(f"{LESSONS}/distance.py", "2 5", 8),
    "docs/tutorial/tags.svg": LivePicture(f"{LESSONS}/fib.py", "4", 40),
    "docs/tutorial/iterations.svg": LivePicture(f"{LESSONS}/squares.py", "3", 78, is_whole=True),
    "docs/tutorial/parallel.svg": LivePicture(f"{LESSONS}/fib.py", "8", 768, is_whole=True),
    "docs/tutorial/deadlock.svg": LivePicture(f"{LESSONS}/chain.py", "6 --k 2", 50),
}


EVERYDAY_WORDS = {"back", "base", "case", "choice", "command", "enter", "exit", "frame", "part", "reference", "step"}
"""Terms that prose uses in other senses; they are not explained where they stand."""


def page_names() -> list[str]:
    """The pages of the site."""
    return [
        *(name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md") if (ROOT / name).exists()),
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")),
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / EXAMPLES).glob("*/README.md")),
        "tests/corpus/README.md",
    ]


def linked_files(page: str) -> Iterator[Path]:
    """The files of the repository that a page links to, but for other pages."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in [*(name for _, _, name, _ in LINK.findall(text)), *SOURCE.findall(text)]:
        path = (ROOT / page).parent / name
        if not name.startswith(("http:", "https:", "mailto:")) and path.is_file() and path.suffix != ".md":
            yield path.resolve()


def write_pages(folder: Path) -> None:
    """Write the pages into a folder, with all files that they link to, and the live pages."""
    with TemporaryDirectory(prefix="tagloom-lessons-") as work:
        run_command("examples", "--copy", str(Path(work, LESSONS)), folder=ROOT)
        live = {
            name: write_live_page(folder, number, picture, Path(work) if picture.target.startswith(LESSONS) else ROOT)
            for number, (name, picture) in enumerate(LIVE_PICTURES.items())
        }
    copied = {ROOT / "docs" / "site.css"}
    for page in page_names():
        copied.update(linked_files(page))
        text = (ROOT / page).read_text(encoding="utf-8")
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(embed_pages(text, page, live), encoding="utf-8")
    for path in copied:
        if path.is_relative_to(ROOT):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def write_live_page(folder: Path, number: int, picture: LivePicture, programs: Path) -> str:
    """Write the live page of a program in the folder `programs`; its address from the root of the site."""
    page = folder / "docs" / "live" / f"{number}_{Path(picture.target).stem}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    form = () if picture.is_whole else ("--embed",)
    words = ("--live", picture.target, *picture.arguments.split(), *form, "-o", str(page.resolve()))
    run_command("play", *words, folder=programs)
    return f"{page.relative_to(folder)}{f'#step={picture.step}' if picture.step else ''}"


def run_command(*words: str, folder: Path) -> None:
    """Run a command of tagloom in a folder."""
    subprocess.run([sys.executable, "-m", "tagloom", *words], check=True, cwd=folder, stdout=subprocess.DEVNULL)


def embed_pages(text: str, page: str, live: dict[str, str]) -> str:
    """The text of a page with live pages in place of some pictures, and without links to folders that have no
    page."""

    def replace(match: re.Match[str]) -> str:
        path = (ROOT / page).parent / match[3]
        if path.is_dir() and not (path / "README.md").exists():
            return match[2]
        name = str((ROOT / page).parent.joinpath(match[3]).resolve().relative_to(ROOT)) if match[1] else ""
        if name not in live:
            return match[0]
        up = "../" * page.count("/")
        title = match[2].replace('"', "&quot;")
        return f'<iframe class="live" loading="lazy" title="{title}" src="{up}{live[name]}"></iframe>'

    return LINK.sub(replace, text)


def abbreviations() -> str:
    """The glossary as abbreviations of Markdown. Definitions are escaped twice, as the theme shows the text of a title
    as HTML."""
    rows = (line.split(" | ") for line in TERMS.read_text(encoding="utf-8").splitlines() if line.count(" | ") == 2)
    texts = ((term, definition.replace("`", "")) for term, definition, _ in rows if term not in EVERYDAY_WORDS)
    return "".join(f"*[{term}]: {escape(escape(text, quote=False), quote=False)}\n" for term, text in texts)


def on_page_content(html: str, **_: Any) -> str:
    """Explain each term once on a page, and not in headings, and make a page usable by everybody: called by MkDocs."""
    explained = set[str]()

    def keep_first(match: re.Match[str]) -> str:
        if match["heading"]:
            return re.sub("</?abbr[^>]*>", "", match["heading"])
        if match["term"] in explained:
            return match["term"]
        explained.add(match["term"])
        return match[0]

    pattern = r'(?P<heading><h\d.*?</h\d>)|<abbr title="[^"]*">(?P<term>[^<]*)</abbr>'
    return improve_access(re.sub(pattern, keep_first, html, flags=re.DOTALL))


def improve_access(html: str) -> str:
    """The page for readers with a keyboard or a screen reader: code can be scrolled by keys, and the empty corner of a
    table is no header.

    >>> improve_access("<pre><span></span><code>a</code></pre><th></th>")
    '<pre tabindex="0"><span></span><code>a</code></pre><td></td>'
    """
    return html.replace("<pre>", '<pre tabindex="0">').replace("<th></th>", "<td></td>")


def describe_obstacle(folder: Path) -> str:
    """Why the site cannot be built in a folder, which MkDocs clears first; empty if it can."""
    if not all(map(find_spec, ("mkdocs", "material"))):
        return 'MkDocs or its theme is not installed: pip install -e ".[docs]"'
    if folder.exists() and not folder.is_dir():
        return f"{folder} is a file"
    is_site = (folder / "search" / "search_index.json").exists()
    if folder.exists() and any(folder.iterdir()) and not is_site:
        return f"{folder} has other files than a site, and would lose them"
    return ""


def build(folder: Path) -> None:
    """Build the site; raises an exception of MkDocs if a page has a fault."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    with TemporaryDirectory(prefix="tagloom-site-") as work:
        write_pages(Path(work) / "pages")
        Path(work, "glossary.txt").write_text(abbreviations(), encoding="utf-8")
        shutil.copyfile(ROOT / "docs" / "mkdocs.yml", Path(work, "mkdocs.yml"))
        config = load_config(
            str(Path(work, "mkdocs.yml")), site_dir=str(folder.resolve()), hooks=[str(Path(__file__).resolve())]
        )
        config.plugins.on_startup(command="build", dirty=False)
        build_site(config)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if obstacle := describe_obstacle(Path(sys.argv[1])):
        sys.exit(obstacle)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    build(Path(sys.argv[1]))
