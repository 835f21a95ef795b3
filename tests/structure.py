"""Figures about the source as a whole: `python tests/structure.py [FOLDER]` prints what docs/architecture.md quotes.

FOLDER is a checkout, named `tagloom`; by default the one that holds this script. The figures describe the `.py` files
of the package: those of `core`, `interp`, `viz` and `tui` at any depth, and those at the top.

files, lines           Files, and their physical lines.
median, p90, longest   Lengths of files in lines. The p90 is the length at nine tenths of the sorted list.
private functions      Functions and methods whose names start with one underscore, as a share of all functions and
                       methods. Names such as `__init__` count as public.
import lines           Lines of import statements, as a share of the lines that are not blank, comments or docstrings.
layers inside P        The modules and packages directly inside package P, sorted into layers: each is one layer above
                       the highest that it imports, and those in a circle of imports share a layer. Imports inside
                       functions and imports for annotations count, and those of a package's modules are its own.
imports that close     Imports of one module by another that would have to go so that no package contains a cycle: the
  cycles               sum over all packages of what grimp's `nominate_cycle_breakers` returns.
bare names             Modules, classes, functions and attributes whose whole name is one of WORDS: see `bare_names`.
classes named twice    Names that stand for more than one class: see `repeated_classes`.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import grimp

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("core", "interp", "viz", "tui")

PARTICIPLES = """
absent arrived asked begun blocked brought called carried caught changed chosen compared converted counted created cut
derived done fallen felt filled found gathered given gone got grown heard held hidden imported joined kept known laid
learnt led left lent lettered listed loaded looked lost made marked meant met missed modified moved named needed noted
occupied offered opened ordered owned padded painted passed picked placed pointed popped prepared printed pulled
queued raised reached refused replaced reserved returned said seen sent settled shown spent stacked stamped started
stated stood stopped stuck taken told touched tried turned typed unchanged unsent untried used wanted watched woken
worn written asking being bringing carrying coming doing falling finding getting giving going having hearing holding
keeping knowing leaving lending looking making moving naming needing passing putting reaching saying seeing sending
showing speaking standing staying stopping taking telling trying turning using waiting wanting watching
"""
ADVERBS = """
above again ahead alike almost alone along already also always anew anyhow apart around aside away before behind below
beneath beside besides between beyond brief down during early elsewhere enough ever everywhere far fast hence here how
however indeed inside instead just late later maybe meanwhile mostly near nearby nearly never now nowhere often once
only otherwise outside over perhaps plain plainly quite rather ready seldom since somehow sometimes somewhere soon
still straight then there thereby therefore through throughout thus together too twice under very well when whence
where whereby whether while within without yet
"""
PRONOUNS = """
another anybody anyone anything both each either every everybody everyone everything few fewer he her hers him his it
its itself less many me mine more most much myself neither nobody none nothing one other others our ours own same
several she some somebody someone something such that theirs them these they this those us we what whatever which
whichever who whoever whole whom whose why you yours
"""
WORDS = frozenset(f"{PARTICIPLES} {ADVERBS} {PRONOUNS}".split())
"""Words that mean nothing by themselves. Terms of the field are not among them, such as `shared`, `pending`, `forward`,
`tagged`, `throttled`."""


class Name(NamedTuple):
    """A name that the source gives to a module, class, function or attribute, and where it does so."""

    file: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind} {self.text}"


def sources(root: Path) -> list[Path]:
    """The files of the package."""
    return sorted([*root.glob("*.py"), *(path for layer in LAYERS for path in (root / layer).rglob("*.py"))])


def names(tree: ast.Module, file: str) -> Iterator[Name]:
    """The module, its classes and functions wherever they are defined, and the attributes that classes define: in their
    bodies, or by assigning to `self`. Left out are functions that run a command and bear its name, which users type,
    members of enumerations in capitals, which are read behind the name of their class, and old names of attributes."""
    yield Name(file, 1, "module", Path(file).stem)
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=text, lineno=line):
                yield Name(file, line, "class", text)
                yield from _attributes(node, file)
            case ast.FunctionDef(name=text, lineno=line) | ast.AsyncFunctionDef(name=text, lineno=line):
                if not _runs_a_command(node):
                    yield Name(file, line, "function", text)


def _attributes(node: ast.ClassDef, file: str) -> Iterator[Name]:
    lines: dict[str, int] = {}
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(text)):
                lines[text] = statement.lineno
            case ast.Assign(value=ast.Call(func=ast.Name("RenamedAttribute"))):
                pass
            case ast.Assign(targets=targets):
                results = {target.id: statement.lineno for target in targets if isinstance(target, ast.Name)}
                lines |= {text: line for text, line in results.items() if not text.isupper()}
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name("self"), attr=text, ctx=ast.Store()):
                lines.setdefault(text, inner.lineno)
    yield from (Name(file, line, "attribute", text) for text, line in lines.items())


def _runs_a_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in node.decorator_list:
        match decorator:
            case ast.Call(func=ast.Attribute(attr="register"), args=[ast.Constant(value=word), *_]) if (
                word == node.name
            ):
                return True
    return False


def bare_names(names: Iterable[Name]) -> list[Name]:
    """Those whose whole name, without underscores at its ends and in any case, is one of WORDS."""
    return [name for name in names if name.text.strip("_").lower() in WORDS]


def repeated_classes(names: Iterable[Name]) -> dict[str, list[Name]]:
    """Classes that share a name, without underscores before it, with another class."""
    classes: defaultdict[str, list[Name]] = defaultdict(list)
    for name in names:
        if name.kind == "class":
            classes[name.text.lstrip("_")].append(name)
    return {text: group for text, group in classes.items() if len(group) > 1}


def names_of(root: Path) -> list[Name]:
    """All names of `core`, `interp`, `viz` and `tui`."""
    files = [path for path in sources(root) if path.parent != root]
    return [name for path in files for name in names(parse(path), path.relative_to(root).as_posix())]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def private_share(trees: Iterable[ast.Module]) -> float:
    """The share of functions and methods whose names start with one underscore."""
    functions = [
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    private = [name for name in functions if name.startswith("_") and not name.endswith("__")]
    return len(private) / len(functions)


def import_share(paths: Iterable[Path]) -> float:
    """The share of import lines in lines of code."""
    imports = code = 0
    for path in paths:
        documented: set[int] = set()
        for node in ast.walk(parse(path)):
            match node:
                case ast.Import() | ast.ImportFrom():
                    imports += 1 + (node.end_lineno or node.lineno) - node.lineno
                case ast.Expr(value=ast.Constant(value=str())):
                    documented.update(range(node.lineno, 1 + (node.end_lineno or node.lineno)))
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        code += sum(number not in documented and line.strip()[:1] not in ("", "#") for number, line in lines)
    return imports / code


def depth(graph: grimp.ImportGraph, package: str) -> int:
    """The number of layers of the modules and packages directly inside a package."""
    children = graph.find_children(package)
    below = {child: _siblings_imported(graph, child, children) for child in children}
    reached = {child: _reached(child, below) for child in children}

    def height(child: str) -> int:
        circle = {other for other in reached[child] if child in reached[other]} | {child}
        beneath = {other for member in circle for other in below[member]} - circle
        return 1 + max((height(other) for other in beneath), default=0)

    return max((height(child) for child in children), default=0)


def _siblings_imported(graph: grimp.ImportGraph, child: str, children: set[str]) -> set[str]:
    inside = {child, *graph.find_descendants(child)}
    imported = {module for importer in inside for module in graph.find_modules_directly_imported_by(importer)}
    return {
        sibling
        for sibling in children - {child}
        if any(module == sibling or module.startswith(f"{sibling}.") for module in imported)
    }


def _reached(child: str, below: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    pending = [child]
    while pending:
        for other in below[pending.pop()] - reached:
            reached.add(other)
            pending.append(other)
    return reached


def imports_back(graph: grimp.ImportGraph) -> set[tuple[str, str]]:
    """Importer and imported module of each import that must go to leave no circle in any package."""
    packages = {module for module in graph.modules if graph.find_children(module)}
    return {pair for package in packages for pair in graph.nominate_cycle_breakers(package)}


def figures(root: Path) -> dict[str, str]:
    """Every figure with its label."""
    sys.path.insert(0, str(root.parent))
    graph = grimp.build_graph("tagloom", cache_dir=None)
    paths = sources(root)
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    all_names = names_of(root)
    return {
        "files": f"{len(paths)}",
        "lines": f"{sum(lengths):,}",
        "median": f"{median(lengths):.0f}",
        "p90": f"{lengths[len(lengths) * 9 // 10]}",
        "longest": f"{lengths[-1]}",
        "private functions": f"{private_share(map(parse, paths)):.1%}",
        "import lines": f"{import_share(paths):.1%}",
        **{f"layers inside {layer}": f"{depth(graph, f'tagloom.{layer}')}" for layer in LAYERS},
        "imports that close cycles": f"{len(imports_back(graph))}",
        "bare names": f"{len(bare_names(all_names))}",
        "classes named twice": f"{len(repeated_classes(all_names))}",
    }


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]).resolve() if arguments else ROOT
    if root.name != "tagloom":
        print(f"the folder must be named tagloom, and this is {root}", file=sys.stderr)
        return 2
    for label, figure in figures(root).items():
        print(f"{label:24}{figure:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
