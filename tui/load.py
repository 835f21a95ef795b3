"""Finding what a user names: `FILE[:NAME]`, and arguments as literals.

A `.py` file is run, as `python FILE` would; nothing else is ever executed.
"""

from __future__ import annotations

import ast
import inspect
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..core.errors import Malformed, TagloomError, Usage
from ..core.graph import Graph
from ..core.types import Type
from ..core.value import Value, admit, read
from ..interp.function import Function

Runnable: TypeAlias = Function | Graph


def find(target: str) -> Runnable:
    """The function or graph that `FILE[:NAME]` names; raises Usage where there is none, or more than one."""
    file, name = _split(target)
    path = Path(file)
    if path.is_dir():
        raise Usage("a directory is no program", got=file, hint="name a .py file in it")
    if not path.exists():
        raise Usage("there is no such file", got=file)
    if path.suffix != ".py":
        raise Usage("this kind of file cannot be read", got=file, required="a .py file")
    return _choose(_programs(_execute(path), path), name, path)


def _split(target: str) -> tuple[str, str | None]:
    file, colon, name = target.rpartition(":")
    if not colon or Path(target).exists() or not name.isidentifier():
        return target, None
    return file, name


def _execute(path: Path) -> dict[str, object]:
    """What a file defines. Its own errors are the user's to read: the traceback is theirs, without ours."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(str(path), run_name="__tagloom__")
    except TagloomError:
        raise
    except (SyntaxError, UnicodeDecodeError, ValueError, OSError) as error:
        raise Usage("this file cannot be read as Python", where=path.name, got=error) from None
    except (Exception, SystemExit) as error:
        where = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = f"{path.name}:{where[-1].lineno}" if where else path.name
        raise Usage(
            "this file failed while it was imported", where=line, got=f"{type(error).__name__}: {error}"
        ) from None
    finally:
        sys.path.remove(folder)


def _programs(namespace: dict[str, object], path: Path) -> dict[str, Runnable]:
    """The functions and graphs that the file itself defines, under their names in it."""
    return {
        name: value
        for name, value in namespace.items()
        if isinstance(value, Graph)
        or (isinstance(value, Function) and Path(inspect.unwrap(value).__code__.co_filename) == path)
    }


def _choose(programs: dict[str, Runnable], name: str | None, path: Path) -> Runnable:
    listed = ", ".join(programs) or "none"
    if name is not None:
        if name not in programs:
            raise Usage(f"{path.name} has no function or graph {name!r}", required=listed)
        return programs[name]
    if len(programs) == 1:
        return next(iter(programs.values()))
    if "main" in programs:
        return programs["main"]
    if not programs:
        raise Usage(f"{path.name} defines no @tl.function and no graph")
    raise Usage(
        f"{path.name} has several functions, and none is called main", required=listed,
        hint=f"name one, as in {path}:{next(iter(programs))}",
    )  # fmt: skip


def parameters(subject: Runnable) -> list[tuple[str, Type | None]]:
    """The names and types of the parameters; None where a function leaves one to its arguments."""
    if isinstance(subject, Graph):
        return [(name, output.type) for name, output in subject.arguments[subject.hidden :]]
    return list(subject.source.parameters)


def arguments(subject: Runnable, words: Sequence[str]) -> list[Value]:
    """Command-line words as values of the parameters' types; raises Usage or Malformed where they do not fit."""
    wanted = parameters(subject)
    if len(words) != len(wanted):
        signature = ", ".join(f"{name}: {type_ or '?'}" for name, type_ in wanted)
        stray = [word for word in words if word.startswith("-") and not _is_number(word)]
        raise Usage(
            f"{subject.name} takes {len(wanted)} argument{'s' * (len(wanted) != 1)}",
            required=f"{subject.name}({signature})",
            got=" ".join(words) or "none",
            hint=f"there is no option {stray[0]}" if stray else None,
        )
    return [_argument(name, type_, word) for (name, type_), word in zip(wanted, words, strict=True)]


def _argument(name: str, type_: Type | None, word: str) -> Value:
    try:
        if word.startswith("@"):
            return admit(_array_file(word[1:]), type_)
        return read(word, type_) if type_ is not None else admit(_literal(word))
    except TagloomError as error:
        error.message = f"argument {name}: {error.message}"
        raise


def _array_file(file: str) -> object:
    try:
        return np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise Usage("this array file cannot be read", got=file, hint=str(error)) from None


def _literal(word: str) -> object:
    """A literal whose type nobody declared: it has the type that it looks like."""
    words = {"true": True, "false": False, "inf": float("inf"), "-inf": -float("inf"), "nan": float("nan")}
    try:
        return words[word] if word in words else ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise Malformed("not a literal", got=word, hint="a number, true, false, or [...] of numbers") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
