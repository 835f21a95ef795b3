"""The source as a whole: imports flow down, names say something, every module has a docstring."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import tagloom
from structure import Name, bare_names, figures, names, names_of, repeated_classes

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("tui", "viz", "interp", "core")
SOURCES = sorted([*ROOT.glob("*.py"), *(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))])

DEFENDED = {
    ("core/errors.py", "got"): "errors say rule, where, tag, required, got and hint",
    ("core/errors.py", "where"): "errors say rule, where, tag, required, got and hint",
    ("core/text/fault.py", "got"): "becomes an error's",
    ("interp/records/documents.py", "where"): "a field of errors in JSON",
    ("interp/machine/event.py", "sent"): "a field of events, in the docs and in logs",
    ("interp/machine/event.py", "woken"): "a field of events, in the docs and in logs",
    ("interp/machine/schedule.py", "then"): "a field of scripts, in the docs and in JSON",
    ("interp/outcome/statistics.py", "waiting"): "W(t) of the papers, in the docs and in JSON",
    ("core/graph/graph.py", "only"): "Graph.only, in the docs",
    ("tui/run_start.py", "whole"): "an option of load_run, in the docs",
    ("tui/cli/show.py", "only"): "an option that users type",
    ("viz/notebook.py", "only"): "an option of tl.picture",
    ("viz/notebook.py", "most"): "an option of tl.picture",
    ("viz/player/page.py", "under"): "an option that users type",
    ("interp/speculation/speculative_function.py", "why"): "a question that users ask, in the docs",
}
"""Exceptions: names that may be one of the words, by file and name, with reasons."""

BARE = '''
class Made:
    """A class, an attribute and a method without a noun, beside names that have one."""

    known: int
    known_types: int

    def __init__(self):
        self.placed = 0
        self.place = 0

    def _over(self): ...
    def is_over(self): ...

def made_types(): ...
def elsewhere(): ...

class _Made: ...

@commands.register("only", "[TAG]")
def only(session): ...

@commands.register("focus", "[TAG]")
def alike(session): ...
'''


def python(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a new interpreter, in a folder in which nothing of the source can be imported by accident."""
    return subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True)


@cache
def package_names() -> list[Name]:
    return names_of(ROOT)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(path: Path) -> Iterator[str]:
    """The top-level names that a file imports from elsewhere, wherever in the file it does so."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]


@pytest.mark.full
def test_import_contracts(tmp_path: Path) -> None:
    """import-linter finds every contract of pyproject.toml kept: layers, no cycles between files, nothing foreign.
    Imports for annotations count."""
    code = "from importlinter.cli import lint_imports_command as lint; lint()"
    ran = python(tmp_path, code, "--no-cache", "--no-logo", "--config", str(ROOT / "pyproject.toml"))
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.full
def test_core_imports_few_packages() -> None:
    """Core imports NumPy, Lark, ml_dtypes and the standard library only; one file imports Lark, and one ml_dtypes.
    Contracts can only forbid known packages, so this test lists the allowed ones."""
    allowed = {"numpy", *sys.stdlib_module_names}
    foreign = {named(path): set(imported(path)) - allowed for path in SOURCES if path.is_relative_to(ROOT / "core")}
    assert {path: names for path, names in foreign.items() if names} == {
        "core/dtypes.py": {"ml_dtypes"},
        "core/text/parser.py": {"lark"},
    }


def test_listed_packages_are_the_tree() -> None:
    """The `packages` that pyproject.toml lists are the folders with an __init__.py, and every folder has one."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        listed = tomllib.load(file)["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT) for path in SOURCES}
    assert sorted(listed) == sorted(".".join(("tagloom", *folder.parts)) for folder in folders)
    assert [named(ROOT / folder) for folder in folders if not (ROOT / folder / "__init__.py").exists()] == []


@pytest.mark.full
def test_import_is_light(tmp_path: Path) -> None:
    """`import tagloom` loads nothing that only histories, pictures, the terminal, fast engines or conversion need."""
    ran = python(tmp_path, "import sys, tagloom; print(*sys.modules)")
    assert ran.returncode == 0, ran.stderr
    loaded = set(ran.stdout.split())
    heavy = {"click", "graphviz", "lark", "numba", "pygraphviz", "rich", "safetensors", "scipy", "textual", "typer"}
    assert not heavy & {name.partition(".")[0] for name in loaded}
    parts = ("core.frontend.source", "interp.history", "interp.queries", "interp.image", "viz", "tui")
    unneeded = (*(f"tagloom.{part}" for part in parts), *(f"tagloom.{module}" for module in tagloom._LAZY_IMPORTS))
    assert [name for name in loaded if name.startswith(tuple(unneeded))] == []


def test_names_that_are_imported_on_first_use() -> None:
    """Each name of `_LAZY_IMPORTS` is in `__all__`, in `dir`, and in the imports for type checkers, and is the object
    of its module; a name that is in no module is an AttributeError."""
    for_checkers = {
        alias.name: (node.module or "")
        for block in ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "_TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    listed = {name: module for module, names in tagloom._LAZY_IMPORTS.items() for name in names.split()}
    assert listed == for_checkers and listed.keys() <= set(tagloom.__all__) & set(dir(tagloom))
    for name, module in listed.items():
        assert getattr(tagloom, name) is getattr(import_module(f"tagloom.{module}"), name)
    with pytest.raises(AttributeError, match="module 'tagloom' has no attribute 'histories'"):
        tagloom.histories  # noqa: B018


@pytest.mark.full
def test_the_command_line_needs_no_extra(tmp_path: Path) -> None:
    """`tagloom` starts, and lists all backends, where none of their systems is installed."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys("
        "['onnx', 'onnxruntime', 'jax', 'jaxlib', 'torch', 'tensorflow', 'ray', 'textual_serve', 'PIL', 'pypdf', "
        "'anywidget']))\n"
        "import tagloom.tui.cli.main\n"
        "from tagloom.interp.oracle.adapters import backend_names; print(*backend_names())"
    )
    ran = python(tmp_path, code)
    assert ran.returncode == 0, ran.stderr
    assert {"jax", "onnxruntime", "stablehlo", "torch-compiled"} < set(ran.stdout.split())


@pytest.mark.full
def test_no_name_is_a_bare_word() -> None:
    """No module, class, function or attribute is named by a participle, an adverb or a pronoun alone."""
    bare = [name for name in bare_names(package_names()) if (name.file, name.text) not in DEFENDED]
    assert not bare, "\n".join(map(str, bare))


@pytest.mark.full
def test_class_names_are_used_once() -> None:
    """A class name stands for one concept."""
    assert repeated_classes(package_names()) == {}


def test_defended_names_exist_and_are_few() -> None:
    """A name that is gone needs no defence, and there are fewer than 20 exceptions."""
    assert set(DEFENDED) <= {(name.file, name.text) for name in bare_names(package_names())}
    assert len(DEFENDED) < 20


def test_bare_words_and_repeated_classes_are_caught() -> None:
    """Twins of the two tests above are caught: a module, classes, an attribute of each sort, and functions are
    reported; names that consist of more than the word, and functions that run the command of their name, are not."""
    every = list(names(ast.parse(BARE), "core/thus.py"))
    assert [(name.kind, name.text) for name in bare_names(every)] == [
        ("module", "thus"),
        ("class", "Made"),
        ("attribute", "known"),
        ("attribute", "placed"),
        ("function", "elsewhere"),
        ("class", "_Made"),
        ("function", "alike"),
        ("function", "_over"),
    ]
    assert {text: [name.line for name in group] for text, group in repeated_classes(every).items()} == {"Made": [2, 18]}


ARCHITECTURE = ROOT / "docs" / "architecture.md"
DRIFT = {"files": 0.05, "lines": 0.05, "median": 0.1, "p90": 0.1, "private functions": 0.1, "import lines": 0.1}
"""By how much a figure of the page may differ from the source, as a share of it. The other figures are exact."""


def quoted_figures() -> dict[str, float]:
    """The figures of the last column of the table of docs/architecture.md, by the labels of tests/structure.py."""
    table = ARCHITECTURE.read_text(encoding="utf-8").partition("## Figures")[2]
    rows = dict(re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", table, flags=re.MULTILINE))

    def numbers(row: str) -> list[float]:
        return [float(word.replace(",", "")) for word in re.findall(r"\d[\d,]*\.?\d*", rows[row])]

    bare, classes = numbers("bare words as names; class names used more than once")
    core, interp = numbers("layers inside `core`; inside `interp`")
    labels = ("files", "lines", "median", "p90")
    return {
        **dict(zip(labels, numbers("files; lines; median; p90"), strict=True)),
        "private functions": numbers("private functions")[0],
        "import lines": numbers("lines of imports")[0],
        "layers inside core": core,
        "layers inside interp": interp,
        "imports that close cycles": numbers("imports that close cycles")[0],
        "bare names": bare,
        "classes named twice": classes,
    }


@pytest.mark.full
def test_the_figures_of_the_page_are_those_of_the_source() -> None:
    """docs/architecture.md quotes what tests/structure.py prints: counts of lines may drift a little, all else may
    not."""
    actual = {label: float(figure.strip("%").replace(",", "")) for label, figure in figures(ROOT).items()}
    for label, quoted in quoted_figures().items():
        assert quoted == pytest.approx(actual[label], rel=DRIFT.get(label, 0.0), abs=0.0), label


def mentions() -> list[tuple[str, list[str]]]:
    """The files that docs/architecture.md names, each with the functions and classes that follow its name."""
    page = " ".join(ARCHITECTURE.read_text(encoding="utf-8").split())
    texts = [text.partition(": ") for text in re.findall(r"`([^`]+)`", page)]
    files = [(file, names.split(", ") if names else []) for file, _, names in texts]
    return [
        (file, names) for file, names in files if re.fullmatch(r"[\w/]+\.(py|js|lark)", file) and "FAMILY" not in file
    ]


@cache
def defined_names(path: Path) -> set[str]:
    """The names of the functions and classes of a file; of methods, also with their class. In JavaScript, all words."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return set(re.findall(r"\w+", text))
    definitions: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            definitions |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            definitions.add(node.name)
    return definitions


@pytest.mark.full
def test_the_files_and_functions_that_the_page_names_exist() -> None:
    """Each file that docs/architecture.md names is in the source, and defines the names that stand behind it."""
    sources = [path for folder in (*LAYERS, "tests") for path in (ROOT / folder).rglob("*.*")]
    assert len(mentions()) > 60
    for file, definitions in mentions():
        paths = [path for path in sources if f"/{path.relative_to(ROOT).as_posix()}".endswith(f"/{file}")]
        assert paths, f"docs/architecture.md names {file}, which does not exist"
        for name in definitions if file.endswith(".py") else re.findall(r"\w+", " ".join(definitions)):
            assert any(name in defined_names(path) for path in paths), f"{file} does not define {name}"


def test_every_module_has_a_docstring() -> None:
    """Every module says in a docstring what it owns."""
    assert [named(path) for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))] == []
