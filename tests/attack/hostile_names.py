"""Documents whose names, keys, messages and prints try to control a terminal, or to look like other text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tagloom as tl
from support.generators.json_edits import FILL, fib
from tagloom.core.graph.lower import lower

MARK = "FORGED"
"""The beginning of the line that a hostile name tries to add."""
HOSTILE = (
    "\x1b]0;title\x07", "\x1b[2J\x1b[H", f"x\r{MARK}", "\x9b2J", "\x9d0;title\x9c", "\x07", "\x7f", "\x00",
    "\u202edesrever\u202c", "\u2066isolated\u2069", "\u200fmark", f"x\u2028{MARK}", f"x\x85{MARK}", "\ufeff",
    f"x\n{MARK}",
)  # fmt: skip
"""Parts of names."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What must not be in any text that people see; line feeds and tabs may."""
CONTROL_NAME = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What no name of a document may have."""
FORGED = re.compile(rf"^{MARK}", re.MULTILINE)
RENAMED = ("fib", "fill", "square", "then", "n", "m", "v", "c", "i")


def faults(text: str) -> Iterator[str]:
    """What is wrong with text that people see."""
    for match in (*CONTROL.finditer(text), *FORGED.finditer(text)):
        start = max(match.start() - 60, 0)
        yield repr(text[start : match.end() + 20])


def rename(document: Any, part: str) -> Any:
    """A document whose names of functions, nodes, variables and files, prints and messages contain this part."""
    match document:
        case dict():
            return {key: _rename_value(key, value, part) for key, value in document.items()}
        case list():
            return [rename(each, part) for each in document]
    return document


def _rename_value(key: str, value: Any, part: str) -> Any:
    if key in ("name", "function", "callee", "entry", "file", "message") and isinstance(value, str):
        return f"{value}{part}"
    if key == "text" and isinstance(value, str):
        return f"{value}{part.replace(chr(10), '')}"  # a program may print several lines
    if key in ("inputs", "operands", "yields", "returns") and isinstance(value, list):
        return [f"{each}{part}" if isinstance(each, str) else rename(each, part) for each in value]
    return rename(value, part)


def write_documents(folder: Path, part: str) -> list[tuple[Path, list[str]]]:
    """Programs, graphs and logs with this part in their names, and arguments for them."""
    files: list[tuple[Path, list[str]]] = []
    program = fib.trace(2).program
    for stem, subject, words in (
        ("program", program, ["2"]),
        ("graph", lower(program), ["2"]),
        ("fill", FILL, ["2"]),
        ("fill_graph", lower(FILL), ["2"]),
    ):
        file = folder / f"{stem}.json"
        file.write_text(json.dumps(rename(tl.to_json(subject), part)))
        files.append((file, words))
    text = tl.print_program(FILL)
    for name in RENAMED:
        text = re.sub(rf"\b{name}\b", f"{name}{part}", text)
    (folder / "text.tl").write_text(text, encoding="utf-8", errors="replace")
    files.append((folder / "text.tl", ["2"]))
    for suffix in (".jsonl", ".npz"):
        log = folder / f"log{suffix}"
        try:
            tl.run_graph(tl.from_json((folder / "fill_graph.json").read_text()), [2], keep=log, world=tl.World(len))
        except tl.TagloomError:  # the names are refused
            continue
        files.append((log, []))
    (folder / "plain.jsonl").unlink(missing_ok=True)
    tl.run_graph(lower(FILL), [2], keep=folder / "plain.jsonl", world=tl.World(len))
    lines = [json.loads(line) for line in (folder / "plain.jsonl").read_text().splitlines()]
    (folder / "edited.jsonl").write_text("".join(json.dumps(rename(line, part)) + "\n" for line in lines))
    files.append((folder / "edited.jsonl", []))
    plain = folder / "plain.tl"
    plain.write_text(tl.print_program(FILL).replace("cell 1", f"cell{part.replace(chr(10), '')} 1"), errors="replace")
    files.append((plain, ["2"]))
    if "\0" not in part:
        named = folder / f"name{part.replace('/', '')}.tl"
        named.write_text(tl.print_program(FILL))
        files.append((named, ["2"]))
        wrong = folder / f"wrong{part.replace('/', '')}.tl"
        wrong.write_text("func f(")
        files.append((wrong, ["2"]))
    return files


def command_words(file: Path, words: list[str], folder: Path) -> Iterator[list[str]]:
    """Every command of the command line that takes a program, on this file."""
    yield from (["run", str(file), *words, *more] for more in ([], ["--stats"], ["--json"], ["--engine", "fast"]))
    yield ["run", str(file), *words, "--max-firings", "5"]
    yield ["run", str(file), *words, "more"]
    yield ["check", str(file), *words]
    yield ["check", "--every-schedule", "--max-states", "20", str(file), *words]
    yield ["check", str(file), *words, "--against", str(folder / "plain.tl")]
    yield from (["show", str(file), *more] for more in ([], ["--form", "program"], ["--form", "image"], ["--ascii"]))
    yield from (["show", str(file), *words, "--form", form, "--ascii"] for form in ("graph", "tags", "unfolded"))
    yield from (
        ["show", str(file), *words, "--form", form, "-o", str(folder / "shown.svg")] for form in ("tags", "profile")
    )
    yield ["play", str(file), *words, "-o", str(folder / "page.html")]
    yield ["warm", str(file), "--engine", "nothing"]
    yield ["debug", str(file), *words]


def plain_words(part: str, folder: Path) -> Iterator[list[str]]:
    """Commands with this part among their own words."""
    for command in ("run", "check", "show", "play", "debug", "warm", "explain", "ops", "examples", "curve"):
        yield [command, part]
        yield [command, f"--{part}"]
    plain = str(folder / "plain.tl")
    yield [part]
    yield ["run", f"{plain}:{part}", "4"]
    yield ["run", plain, part]
    yield ["run", plain, f'"{part}"']
    yield ["run", plain, "4", "--schedule", part]
    yield ["run", plain, "4", "--engine", part]
    yield ["run", plain, "4", "--fetch", part]
    yield ["run", plain, "4", "--feed", f"{part}=1"]
    yield ["run", plain, "4", "--keep", f"{folder}/{part}/x.jsonl"]
    yield ["show", plain, "--form", part]
    yield ["show", plain, "--only", part, "--ascii"]
    yield ["show", plain, "-o", str(folder / f"x.{part}")]
    yield ["curve", str(folder / "metrics.jsonl"), "-o", str(folder / "curve.svg")]
    yield ["curve", str(folder / "broken.jsonl")]


def write_metrics(folder: Path, part: str) -> None:
    """A file of metrics with this part in a name, and one that is broken."""
    (folder / "metrics.jsonl").write_text("".join(json.dumps({"step": n, f"loss{part}": n}) + "\n" for n in range(3)))
    (folder / "broken.jsonl").write_text(f'{{"step": 1, "loss{part}": []}}\n', errors="replace")
