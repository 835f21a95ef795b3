"""Bad input of every kind: one clear error on stderr, nothing on stdout, exit code 2, and never a traceback of
tagloom's own code."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Any

import pytest
from tagloom.interp.function import function
from tagloom.tui.cli import debug

NO_FORMAT = "unknown picture format\n  required: .svg, .png, .pdf, .dot, .tl, .json, .onnx, .mlir or .py\n  got: "

COMMANDS = ("run", "check", "show")


def assert_refused(run: Any, said: str) -> None:
    """`said` is the whole error or, if it contains ..., its parts."""
    assert (run.code, run.out) == (2, ""), run
    pattern = re.escape(said).replace(r"\.\.\.", "(?s:.*)")
    assert re.fullmatch(pattern, run.err.rstrip("\n")), run.err
    assert "Traceback" not in run.err


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere.py", "there is no such file\n  got: nowhere.py"),
        ("add.py:", "there is no such file\n  got: add.py:"),
        ("", "the name of a file is missing\n  required: FILE or FILE:NAME\n  got: ''"),
        (":add", "the name of a file is missing\n  required: FILE or FILE:NAME\n  got: ':add'"),
        (".", "a directory is not a program\n  got: .\n  hint: name a .py file in it"),
        ("folder.py", "a directory is not a program\n  got: folder.py\n  hint: name a .py file in it"),
        (
            "note.txt",
            "this kind of file cannot be read\n  required: a .py, .tl, .json, .onnx, .mlir, .pb, .pbtxt or .pt2 file\n"
            "  got: note.txt",
        ),
        (
            "bytes.py",
            "this file cannot be read as Python (bytes.py)\n  got: SyntaxError: ...codec can't decode byte...",
        ),
        ("syntax.py", "this file cannot be read as Python (syntax.py)\n  got: SyntaxError: ...(syntax.py, line 3)"),
        (
            "divides.py",
            "this file failed while it was imported (divides.py:4)\n"
            "  got: ZeroDivisionError: integer division or modulo by zero",
        ),
        ("converts.py", "this file failed while it was imported (converts.py:4)\n  got: ValueError: ..."),
        ("misses.py", "this file failed while it was imported (misses.py:4)\n  got: ModuleNotFoundError: ..."),
        ("exits.py", "this file failed while it was imported (exits.py:6)\n  got: SystemExit..."),
        (
            "recurses.py",
            "this file failed while it was imported (recurses.py:5)\n"
            "  got: RecursionError: maximum recursion depth exceeded",
        ),
        ("none.py", "none.py defines no @tl.function and no graph"),
        ("imports.py", "imports.py defines no @tl.function and no graph"),
        ("add.py:sub", "add.py has no function or graph 'sub'\n  required: add"),
        ("none.py:f", "none.py has no function or graph 'f'\n  required: none"),
        (
            "kinds.py",
            "kinds.py has several functions, and none is named main\n"
            "  required: negative, half, flip, doubled, both, nothing, anything, word\n"
            "  hint: name one, as in kinds.py:negative",
        ),
        ("add.py:tl", "add.py has no function or graph 'tl'\n  required: add"),
    ],
)
def test_files_and_names(tagloom: Any, command: str, target: str, said: str) -> None:
    """A missing or unreadable file or name is refused by every command with the same message, with a line if there is
    one."""
    assert_refused(tagloom(command, target), said)


def test_an_unreadable_file(tagloom: Any, folder: Path) -> None:
    """A file without permission is refused with the system's reason."""
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (folder / "add.py").chmod(0)
    assert_refused(
        tagloom("run", "add.py", "1", "2"), "this file cannot be read as Python (add.py)\n  got: Permission..."
    )


def test_a_file_with_a_read_error(tagloom: Any, folder: Path) -> None:
    """A file that fails while it is read is refused with the system's reason."""
    if not Path("/proc/self/mem").exists():
        pytest.skip("this system has no such file")
    (folder / "memory.py").symlink_to("/proc/self/mem")
    assert_refused(tagloom("run", "memory.py"), "this file cannot be read as Python (memory.py)\n  got: OSError: ...")


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            "if.py",
            "F1: `if` needs a concrete value, and <symbolic greater: bool> is symbolic while tagloom traces the "
            "function (if.py:7)\n  hint: ...; write tl.cond(...",
        ),
        ("traced.py:misspelt", "misspelt failed while it was traced (traced.py:6)\n  got: NameError: name 'm' ..."),
        ("traced.py:quits", "quits failed while it was traced (traced.py:11)\n  got: SystemExit: 5"),
        (
            "traced.py:forever",
            "cond: branches and loops nest too deep (traced.py:15)\n  required: 100 regions at most\n"
            "  hint: a plain function that calls itself is traced for ever; make it a tl.function",
        ),
        (
            "traced.py:untyped",
            "V6: untyped never returns: no branch gives its result a type (traced.py:23)\n"
            "  hint: let a branch return without calling untyped",
        ),
    ],
)
def test_errors_while_tracing(tagloom: Any, command: str, target: str, said: str) -> None:
    """Errors of the user's own Python, and those of tracing, name the user's line."""
    words = [] if command == "show" else ["3"]
    assert_refused(tagloom(command, target, *words), said)


def test_our_own_errors_keep_their_traceback(tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error inside tagloom while a valid program is traced is not reported as the user's."""

    def broken(*arguments: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(function, "lower", broken)
    with pytest.raises(KeyError, match="ours"):
        tagloom("show", "add.py")


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add.py"], "add takes 2 arguments\n  required: add(x: int64, y: int64)\n  got: none..."),
        (["add.py", "2"], "add takes 2 arguments\n  required: add(x: int64, y: int64)\n  got: 2..."),
        (["add.py", "2", "3", "4"], "add takes 2 arguments\n  required: add(x: int64, y: int64)\n  got: 2, 3, 4"),
        (["kinds.py:nothing", "1"], "nothing takes 0 arguments\n  required: nothing()\n  got: 1"),
        (["kinds.py:anything"], "anything takes 1 argument\n  required: anything(x: ?)\n  got: none..."),
        (["graphs.py:double"], "double takes 1 argument\n  required: double(x: int64)\n  got: none..."),
        (["add.py", "a", "3"], "argument x: not a literal\n  required: int64\n  got: a\n  hint: a number, true, ..."),
        (["add.py", "2", "1.5"], "argument y: not a literal of this type\n  required: int64\n  got: 1.5"),
        (["add.py", "2", "true"], "argument y: not a literal of this type\n  required: int64\n  got: true"),
        (["add.py", "2", ""], "argument y: not a literal\n  required: int64\n  got: ..."),
        (["add.py", "2", "[1]"], "argument y: not a literal of this type\n  required: int64\n  got: [1]..."),
        (["add.py", "2", str(2**63)], "argument y: ...\n  got: 9223372036854775808\n  hint: ...does not fit..."),
        (["graphs.py:double", "x"], "argument x: not a literal\n  required: int64\n  got: x..."),
        (["kinds.py:flip", "1"], "argument p: not a literal of this type\n  required: bool\n  got: 1..."),
        (["kinds.py:doubled", "[1, 2"], "argument v: not a literal\n  required: int64[?]\n  got: [1, 2..."),
        (["kinds.py:doubled", "[1, [2]]"], "argument v: not an array\n  required: int64[?]\n  got: [1, [2]]..."),
        (["kinds.py:doubled", "[[1]]"], "argument v: not a literal of this type\n  required: int64[?]\n  got: [[1]..."),
        (["kinds.py:doubled", "[1.5]"], "argument v: not a literal of this type\n  required: int64[?]\n  got: [1.5]"),
        (["kinds.py:doubled", "@none.npy"], "argument v: ...cannot be read\n  got: none.npy\n  hint: No such..."),
        (["kinds.py:doubled", "@folder.py"], "argument v: ...cannot be read\n  got: folder.py\n  hint: Is a..."),
        (
            ["kinds.py:doubled", "@add.py"],
            "argument v: this array file cannot be read\n  required: a file that numpy.save wrote\n  got: add.py",
        ),
        (["kinds.py:doubled", "@floats.npy"], "argument v: ...float32..."),
        (["kinds.py:anything", "abc"], "argument x: not a literal\n  required: a number, true, ...\n  got: abc"),
        (["kinds.py:anything", "(1, 2)"], "argument x: not a literal\n  required: a number...\n  got: (1, 2)"),
        (["kinds.py:anything", str(10**30)], "argument x: this integer does not fit into int64\n...write its dtype..."),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)  # fmt: skip
def test_wrong_arguments(tagloom: Any, command: str, words: list[str], said: str) -> None:
    """Arguments that do not fit are refused with the parameter, what is required and what was got."""
    assert_refused(tagloom(command, *words), said)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["add.py"], 'write a literal for each: 3, true, "[1, 2]", or @x.npy'),
        (["kinds.py:doubled", "[1,", "2]"], 'quote a literal that has spaces: "[1, 2]"'),
    ],
)
def test_wrong_numbers_of_arguments_have_hints(tagloom: Any, words: list[str], hint: str) -> None:
    """If arguments are missing, or a list without quotes is several words, the error says how to write them."""
    assert_refused(tagloom("run", *words), f"...\n  hint: {hint}")


@pytest.mark.parametrize("target", ["add.py", "add.py:add"])
def test_a_program_without_a_command(tagloom: Any, target: str) -> None:
    """If the command is missing, the error names two."""
    said = (
        f"a command comes before the program\n  got: {target}\n  hint: tagloom run {target}, or tagloom debug {target}"
    )
    assert_refused(tagloom(target, "2", "3"), said)


def test_an_argument_of_the_wrong_kind_for_an_op(tagloom: Any) -> None:
    """If the argument decides the type and an op does not accept it, the error is the op's, at the user's line."""
    assert_refused(
        tagloom("run", "kinds.py:anything", "true"),
        "V4: add: the operands have the wrong kind of dtype (kinds.py:36)...",
    )


@pytest.mark.full
def test_deep_brackets(tagloom: Any) -> None:
    """A hundred thousand brackets are no literal, without a RecursionError."""
    for brackets in ("[" * 100_000, "[" * 100_000 + "]" * 100_000):
        run = tagloom("run", "kinds.py:doubled", brackets)
        assert (run.code, run.out, run.err[:17]) == (2, "", "argument v: not a")


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["run", "add.py", "2", "3", "--bogus"], "--bogus"),
        (["run", "add.py", "2", "--bogus"], "--bogus"),
        (["run", "add.py", "-x", "3"], "-x"),
        (["run", "add.py", "2", "3", "--max-firing", "7"], "--max-firing"),
        (["run", "--max-firing", "7", "add.py", "2", "3"], "--max-firing"),
        (["check", "add.py", "2", "3", "--until", "trap"], "--until"),
    ],
)
def test_unknown_options(tagloom: Any, words: list[str], option: str) -> None:
    """An unknown option is reported wherever it stands, although `-3` is an argument."""
    run = tagloom(*words)
    assert_refused(run, f"...\n  hint: there is no option {option}")


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["paly", "add.py"], "No such command 'paly'"),
        (["run"], "Missing argument 'FILE[:NAME]'"),
        (["show"], "Missing argument 'FILE[:NAME]'"),
        (["show", "add.py", "--form", "bytes"], "'bytes' is not one of 'program', 'graph'"),
        (["show", "add.py", "-o"], "requires an argument"),
        (["run", "add.py", "2", "3", "--until", "never"], "'never' is not one of 'quiet', 'result', 'trap'"),
        (["run", "add.py", "2", "3", "--seed", "x"], "Invalid value for '--seed'"),
        (["run", "add.py", "2", "3", "--max-depth", "1.5"], "Invalid value for '--max-depth'"),
    ],
)
def test_wrong_usage(tagloom: Any, words: list[str], said: str) -> None:
    """Wrong words on the command line are refused with the usage, and how to get help."""
    code, out, err = tagloom(*words)
    assert (code, out) == (2, "")
    assert said in err and "Traceback" not in err
    assert "--help' for help" in err or "requires an argument" in err


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--schedule", "fast"],
            "no schedule is called 'fast'\n  required: fifo, lifo, waves, random:SEED, hand:FILE\n...",
        ),
        (["--schedule", "random:"], "no schedule is called 'random:'..."),
        (["--schedule", "hand:none.json"], "this script cannot be read\n  got: none.json\n..."),
        (["--seed", "-1"], "seed must be an integer from 0 up, below 2**64\n  got: -1"),
        (["--k", "0"], "...integer from 1 up\n  got: 0"),
        (["--timeout", "-1"], "...limit on seconds...\n  got: -1.0"),
        (["--engine", "slow"], "no engine is called 'slow'\n  required: auto, reference, fast, compiled, cuda, ..."),
        (["--max-firings", "-1"], "...limit on firings...\n  got: -1"),
        (["--max-tokens", "-1"], "...limit on tokens...\n  got: -1"),
        (["--max-depth", "-1"], "...limit on depth...\n  got: -1"),
    ],
)
@pytest.mark.parametrize("target", [["add.py", "2", "3"], ["graphs.py:double", "2"]], ids=["function", "graph"])
def test_wrong_values_of_options(tagloom: Any, target: list[str], options: list[str], said: str) -> None:
    """Wrong names and numbers for options are refused with the valid ones, for functions and graphs."""
    assert_refused(tagloom("run", *target, *options), said)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "x.foo"], f"{NO_FORMAT}.foo"),
        (["-o", "x"], f"{NO_FORMAT}no suffix"),
        (["-o", "nowhere/x.svg"], "this file cannot be written\n  got: nowhere/x.svg\n  hint: No such file..."),
        (["-o", "folder.svg"], "this file cannot be written\n  got: folder.svg\n  hint: Is a directory"),
        (["-o", "add.py/x.tl"], "this file cannot be written\n  got: add.py/x.tl\n  hint: Not a directory"),
    ],
)  # fmt: skip
def test_wrong_output_files(tagloom: Any, words: list[str], said: str) -> None:
    """A file that cannot be written or drawn is refused with the reason."""
    assert_refused(tagloom("show", "add.py", *words), said)


def test_an_output_file_that_must_not_be_written(tagloom: Any, folder: Path) -> None:
    """A file without write permission is refused and left unchanged."""
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    (folder / "x.tl").write_text("mine")
    (folder / "x.tl").chmod(0o400)
    assert_refused(
        tagloom("show", "add.py", "-o", "x.tl"), "this file cannot be written\n  got: x.tl\n  hint: Permission..."
    )
    assert (folder / "x.tl").read_text() == "mine"


@pytest.mark.full
def test_missing_forms(tagloom: Any) -> None:
    """A graph has no structured program, and a function without annotations has no form without arguments."""
    assert_refused(
        tagloom("show", "graphs.py:double", "--form", "program"),
        "a graph has no structured program\n  got: graphs.py:double\n  hint: omit --form program",
    )
    assert_refused(tagloom("show", "kinds.py:anything"), "parameter x of anything has no type (kinds.py:34)...")


def test_a_file_that_fails_is_not_the_output(tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the system about a file names the file; only one of stdout is about the output."""

    def fail(target: str) -> bool:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), target)

    monkeypatch.setattr(debug, "is_finding", fail)
    code, out, err = tagloom("debug", "fib.py", "--headless")
    assert (code, out, err) == (2, "", "File name too long: fib.py\n")
