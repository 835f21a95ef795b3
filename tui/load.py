"""Loading the programs that a user names as `FILE[:NAME]`, and parsing arguments as literals.

A `.py` file is executed, as by `python FILE`; files of other kinds never are. A `.json` file has one program or graph,
a `.tl` file has functions, graphs and cases in the text form, an `.onnx` file has a model of ONNX, an `.mlir` file a
module of StableHLO, a `.pb` or `.pbtxt` file a graph of TensorFlow, as has the folder of a SavedModel, and a `.pt2`
file an exported program of PyTorch.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import numpy as np

from ..core import dtypes
from ..core.dtypes import PYTHON_DTYPES
from ..core.errors import Malformed, TagloomError, Usage
from ..core.files import path_errors, read_array, read_file
from ..core.graph.graph import Graph
from ..core.graph.lower import lower
from ..core.graph.validate import graph_problems
from ..core.program.program import Location, Program
from ..core.program.validate import program_problems
from ..core.text import Document, excerpt, parse
from ..core.text.literals import parse_literal, parse_value, read_argument_words
from ..core.types import Type
from ..core.value import Value, admit
from ..interp.engines.reference import combine_problems
from ..interp.exchange.onnx import from_onnx
from ..interp.exchange.stablehlo import from_stablehlo
from ..interp.exchange.tensorflow import SUFFIXES, executor_graph, from_tensorflow, is_saved_model
from ..interp.exchange.torch import SUFFIX as PYTORCH_SUFFIX
from ..interp.exchange.torch import from_torch
from ..interp.function.function import Function, argument_leaves, trace_arguments
from ..interp.records.documents import read_json
from ..interp.records.event_sink import is_log
from ..viz.source_lines import local_line

Runnable: TypeAlias = Function | Program | Graph
UNCHECKED_NOTE = "--unchecked applies only to graphs, and not to those that break V7 or V15, which have no meaning"
EXECUTOR = "executor"
"""The name, in a file with a graph of TensorFlow, of the graph with dead tokens, as TensorFlow's executor runs it."""
IMPORTERS: Mapping[str, Callable[[Path], Function]] = {
    ".onnx": from_onnx,
    ".mlir": from_stablehlo,
    PYTORCH_SUFFIX: from_torch,
}
"""The functions that read a program of another system, by the suffix of its file."""
_PACKAGE = __name__.partition(".")[0]


def find_program(target: str) -> Runnable:
    """The function or graph that `FILE[:NAME]` names; raises Usage if there is none, or more than one."""
    programs, name, entry, path = read_programs(target)
    return _choose(programs, name or entry, path)


def find_programs(target: str) -> Mapping[str, Runnable]:
    """All functions and graphs of a file, by name; with a NAME only that one. Raises Usage if there is none."""
    programs, name, _, path = read_programs(target)
    return programs if name is None and programs else {str(name): _choose(programs, name, path)}


def read_programs(target: str) -> tuple[Mapping[str, Runnable], str | None, str | None, Path]:
    """The functions and graphs of the file that `FILE[:NAME]` names, the NAME if there is one, the entry of the file if
    it says so, and its path."""
    file, name = split_target(target)
    path = Path(file)
    if not file:
        raise Usage("the name of a file is missing", required="FILE or FILE:NAME", got=repr(target))
    with path_errors(path, "this file cannot be read"):
        is_there, is_folder, is_model = path.exists(), path.is_dir(), is_saved_model(path)
    if is_model or (is_there and not is_folder and path.suffix in SUFFIXES):
        if name == EXECUTOR and not is_model:
            return {EXECUTOR: executor_graph(path)}, name, None, path
        function = from_tensorflow(path)
        return {function.name: function}, name, None, path
    if is_folder:
        raise Usage("a directory is not a program", got=file, hint="name a .py file in it")
    if not is_there:
        hint = describe_stray_option(file)
        raise Usage("there is no such file", got=file, hint=hint, python=FileNotFoundError)
    if path.suffix == ".json":
        subject = from_json(path, name)
        return {subject.entry if isinstance(subject, Program) else subject.name: subject}, None, None, path
    if path.suffix == ".tl":
        document = read_text(path)
        if not document.names:
            raise Usage(f"{path.name} has no function or graph")
        entry = document.program.entry if document.program is not None else None
        return {name: document[name] for name in document.names}, name, entry, path
    if path.suffix in IMPORTERS:
        function = IMPORTERS[path.suffix](path)
        return {function.name: function}, name, None, path
    if path.suffix != ".py":
        hint = "`tagloom check` reads a log of events" if is_log(path.name) else None
        raise Usage(
            "this kind of file cannot be read",
            got=file,
            required="a .py, .tl, .json, .onnx, .mlir, .pb, .pbtxt or .pt2 file",
            hint=hint,
        )
    return defined_programs(_execute(path), path), name, None, path


def read_text(path: Path) -> Document:
    """Parse a text-form file; raises Malformed if it is not in the text form."""
    try:
        return parse(read_file(path).decode(), str(path))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        got = f"the byte {error.object[error.start]:#04x}"
        raise Malformed("this file is not text", where=f"{path.name}:{line}", required="UTF-8", got=got) from None


def text_document(target: str) -> Document | None:
    """The document of a target that is a text-form file without a NAME; None for other targets."""
    path = Path(target)
    return read_text(path) if path.suffix == ".tl" and os.path.isfile(path) else None


def error_excerpt(error: TagloomError) -> str | None:
    """The line of a .tl file that an error refers to, with a caret under the unexpected text, or under the op."""
    where = error.where
    if not isinstance(where, Location) or not where.file.endswith(".tl"):
        return None
    line = local_line(where)
    got = str(error.got)
    names = [] if got.partition("[")[0] in dtypes.BY_NAME and error.rule != "V1" else [got]
    for word in (*names, *re.findall(r"\w+", error.message), line.strip()):
        match = re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", line)
        if match and word:
            return excerpt(line, match.start() + 1)
    return None


def split_target(target: str) -> tuple[str, str | None]:
    """FILE, and NAME if present."""
    file, colon, name = target.rpartition(":")
    if not colon or os.path.exists(target) or not name.isidentifier():
        return target, None
    return file, name


def from_json(path: Path, name: str | None) -> Runnable:
    """The program or graph of a JSON document; a name chooses the program's entry."""
    subject = read_json(path)
    match subject:
        case Graph() if name in (None, subject.name):
            return subject
        case Program():
            return subject if name is None else replace(subject, entry=subject[name].name)
        case Graph():
            raise Usage(f"{path.name} has no function or graph {name!r}", required=subject.name)
    raise Usage("this document has no program or graph", got=f"{path.name}, an outcome")


def _execute(path: Path) -> dict[str, object]:
    """Execute a Python file; returns its global names."""
    if not path.is_file():  # a device may never end
        raise Usage("this file cannot be read as Python", required="a regular file", got=path)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        with user_code_errors("this file failed while it was imported", str(path)):
            return runpy.run_path(str(path), run_name="__tagloom__")
    finally:
        sys.path.remove(folder)


@contextmanager
def user_code_errors(what: str, file: str, recursion_hint: str | None = None) -> Iterator[None]:
    """Replace exceptions in the user's Python by Usage, with the line of the user's file that failed.

    An exception in tagloom's own code, called by the user's, is raised unchanged, with its traceback. Endless recursion
    always counts as the user's error, with the hint `recursion_hint`.
    """
    try:
        yield
    except TagloomError:
        raise
    except (Exception, SystemExit) as error:
        frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_relevant(frame, file)]
        endless = isinstance(error, RecursionError)
        if frames and is_tagloom_frame(frames[-1][0]) and not endless:
            raise
        lines = [line for frame, line in frames if frame.f_code.co_filename == file]
        raise Usage(
            what if lines else "this file cannot be read as Python",
            where=f"{Path(file).name}:{lines[-1]}" if lines else Path(file).name,
            got=f"{type(error).__name__}: {error}",
            hint=recursion_hint if endless else None,
        ) from None


def _is_relevant(frame: FrameType, file: str) -> bool:
    return frame.f_code.co_filename == file or is_tagloom_frame(frame)


def is_tagloom_frame(frame: FrameType) -> bool:
    """Whether a frame is in tagloom's code, except this module, which only calls the user's code."""
    name = str(frame.f_globals.get("__name__"))
    return name.startswith(f"{_PACKAGE}.") and name != __name__


def defined_programs(namespace: dict[str, object], path: Path) -> dict[str, Runnable]:
    """The functions and graphs that the file itself defines, under their names in it."""
    return {
        name: value
        for name, value in namespace.items()
        if isinstance(value, Graph) or (isinstance(value, Function) and Path(value.file) == path)
    }


def _choose(programs: Mapping[str, Runnable], name: str | None, path: Path) -> Runnable:
    program_names = ", ".join(programs) or "none"
    if name is not None:
        if name not in programs:
            hint = f"write @tl.function above {name}" if _is_plain_function(name, path) else None
            raise Usage(f"{path.name} has no function or graph {name!r}", required=program_names, hint=hint)
        return programs[name]
    if len(programs) == 1:
        return next(iter(programs.values()))
    if "main" in programs:
        return programs["main"]
    if not programs:
        raise Usage(f"{path.name} defines no @tl.function and no graph")
    raise Usage(
        f"{path.name} has several functions, and none is named main", required=program_names,
        hint=f"name one, as in {path}:{next(iter(programs))}",
    )  # fmt: skip


def _is_plain_function(name: str, path: Path) -> bool:
    """Whether a file of Python, which was executed, seems to define a function of this name without a decorator."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.suffix == ".py" else ""
    return re.search(rf"(?<!@tl\.function\n)^def {re.escape(name)}\(", text, re.MULTILINE) is not None


def parameters(subject: Runnable, count: int | None = None) -> list[tuple[str, Type | None]]:
    """The names and types of the parameters; the type is None for a parameter without an annotation. With `count`, of
    those parameters of a function that have arguments in a call with that many."""
    if isinstance(subject, Graph):
        return [(name, output.type) for name, output in subject.arguments[subject.hidden_count :]]
    if isinstance(subject, Program):
        return list(subject.main.body.parameters)
    return subject.source.leaf_parameters(count)


def program_and_graph(subject: Runnable, values: Sequence[Value] | None = None) -> tuple[Program | None, Graph]:
    """The program (None for a graph) and the graph; `values` are the arguments for which a function without annotations
    is traced."""
    if isinstance(subject, Graph):
        return None, subject
    if isinstance(subject, Program):
        check_rules(subject)
        return subject, lower(subject)
    hint = "a function that calls itself is traced for ever, unless it is a tl.function"
    with user_code_errors(f"{subject.name} failed while it was traced", subject.file, hint):
        if values is None:
            return subject.program, subject.graph
        traced_program = trace_arguments(subject, subject.source.unflatten_arguments(values))
        return traced_program.program, traced_program.graph


def callbacks(subject: Runnable, values: Sequence[Value]) -> Mapping[str, Callable[..., object]]:
    """The Python functions that a program calls back; only a traced function has any."""
    return (
        trace_arguments(subject, subject.source.unflatten_arguments(values)).callbacks
        if isinstance(subject, Function)
        else {}
    )


def all_arguments(subject: Runnable, values: Sequence[Value]) -> Sequence[Value]:
    """The arguments of the program: those given, and for a function also the values of variables and of its closure."""
    if not isinstance(subject, Function):
        return values
    nested = subject.source.unflatten_arguments(values)
    values = trace_arguments(subject, nested).all_arguments(argument_leaves(subject, nested))
    return [admit(value) if type(value) is list else value for value in values]


def program_of(subject: Runnable) -> Program | None:
    """The structured program, which may break rules; None for a graph."""
    return subject if isinstance(subject, Program) else program_and_graph(subject)[0]


def check_rules(subject: Runnable, *, unchecked: bool = False) -> None:
    """Raise Invalid if a program or graph breaks rules; with `unchecked`, only if it can have no meaning at all. A
    function is checked when it is traced."""
    if isinstance(subject, Function):
        return
    problems = program_problems(subject) if isinstance(subject, Program) else graph_problems(subject)
    if unchecked and isinstance(subject, Graph):
        problems = [problem for problem in problems if problem.rule in ("V7", "V15")]
    if problems:
        error = combine_problems(problems)
        if unchecked:
            error.add_note(f"  {UNCHECKED_NOTE}")
        raise error


def parse_arguments(subject: Runnable, words: Sequence[str]) -> list[Value]:
    """Command-line words as values of the parameters' types, or as Python's lists for parameters without a type; raises
    Usage or Malformed if they do not fit."""
    return _parse_words(subject, words, parse_argument)


def parse_partial_arguments(subject: Runnable, words: Sequence[str]) -> list[Any]:
    """Parse arguments like `parse_arguments`; `...` and missing trailing words become `...`, an omitted value."""
    padded = [*words, *["..."] * (len(parameters(subject)) - len(words))]
    return _parse_words(
        subject, padded, lambda name, type_, word: ... if word == "..." else parse_argument(name, type_, word)
    )


def _parse_words(subject: Runnable, words: Sequence[str], read: Callable[[str, Type | None, str], Any]) -> list[Any]:
    called_name = subject.entry if isinstance(subject, Program) else subject.name
    try:
        return read_argument_words(called_name, parameters(subject, len(words)), words, read)
    except Usage as error:
        hints = [*map(describe_stray_option, words), describe_words(len(parameters(subject, len(words))), words)]
        error.hint = error.hint or next(filter(None, hints), None)
        raise


def parse_argument(name: str, type_: Type | None, word: str) -> Value:
    """A word (a literal, or `@` and the path of an array file) as a value of a type. Without a type, brackets make a
    list, as in a call of Python. Raises Usage or Malformed if it is not a value."""
    try:
        if word.startswith("@"):
            return admit(read_array(word[1:]), type_)
        if type_ is not None:
            return parse_value(word, type_)
        if word.split() == ["[]"]:
            return []  # type: ignore[return-value]
        constant = parse_literal(word)
        is_list = word.lstrip().startswith("[") and constant.type.dtype in PYTHON_DTYPES
        return np.asarray(constant.value).tolist() if is_list else constant.value
    except TagloomError as error:
        error.message = f"argument {name}: {error.message}"
        error.hint = describe_stray_option(word) or error.hint
        raise


def describe_words(count: int, words: Sequence[str]) -> str | None:
    """How words are written as the literals of `count` parameters, if their number is wrong.

    >>> print(describe_words(1, ["[1,", "2]"]))
    quote a literal that has spaces: "[1, 2]"
    """
    if len(words) == count:
        return None
    if any(word.count("[") != word.count("]") for word in words):
        return 'quote a literal that has spaces: "[1, 2]"'
    return 'write a literal for each: 3, true, "[1, 2]", or @x.npy' if len(words) < count else None


def describe_stray_option(word: str) -> str | None:
    """The message for a word that looks like an option where none is expected."""
    if not word.startswith("-") or word[1:2].isdigit() or word[1:] in ("inf", "nan"):
        return None
    return f"there is no option {word}"
