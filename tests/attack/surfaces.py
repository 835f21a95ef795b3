"""The surfaces on which foreign input arrives, each with a generator of damaged input.

An input is used, or refused with an error of ours. Whatever else it raises is a failure, and so is one that takes more
than MAX_SECONDS. `python tests/attack/surfaces.py COUNT [SEED [SURFACE...]]` attacks every surface with its share of
COUNT inputs, or these surfaces with COUNT inputs each, and prints the table of docs/checks.md. The seed, which is new
each time, is printed, too.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import numpy as np
import tagloom as tl
from attack.command_line import run_words
from attack.displays import START_OPTIONS, begin_display, command_lines, display_violations
from attack.flat_graphs import graph_and_arguments
from attack.foreign_systems import attack_backend, attack_exported_program, attack_module, check_command
from attack.hostile_names import HOSTILE, MARK, faults, rename
from support.generators.json_edits import (
    EVERY,
    PROGRAMS,
    arguments_for,
    corrupt_text,
    documents,
    edit_lines,
    fib,
    mutate_data,
)
from support.programs.tensorflow_graphs import FRAMES, FUNCTIONS, SAVED_MODEL
from tagloom.core.files import read_array
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.interp.oracle.report import compare_reports
from tagloom.tui.cli.conform_report import read_report
from tagloom.tui.cli.examples import PAGE_ARGUMENTS
from tagloom.tui.cli.show import LayoutProgress
from tagloom.tui.session.commands import new_session
from tagloom.viz.pictures import PICTURES

ROOT = Path(__file__).resolve().parents[2]
LIMITS = tl.Limits(firings=300, tokens=10_000, depth=100)
MAX_SECONDS = 60
MARKUP = (
    f"<{MARK} a=1>", f"</script><{MARK}>", f"</title><{MARK}>", f"--><{MARK}>", f"]]><{MARK}>", f"</svg><{MARK}/>",
    f'" onmark="{MARK}', f"' onmark='{MARK}", f"&lt;{MARK}&gt;", f"\\u003c{MARK}\\u003e", "${1}`", "\\", "%s&#x0;",
)  # fmt: skip
"""Parts of names that HTML, SVG or a script could take for its own."""
Attack = Callable[[random.Random, Path], None]
"""One input: generated from the dice, and used."""


def _use(subject: Any) -> None:
    """Check, lower and run a document, as the command line would."""
    if isinstance(subject, tl.Document):
        subject = subject[subject.names[0]] if subject.names else None
    if isinstance(subject, Program):
        subject = None if program_problems(subject) else lower(subject)
    if isinstance(subject, Graph):
        tl.run_graph(subject, arguments_for(subject), limits=LIMITS, unchecked=True, world=tl.World(len))


@cache
def _texts() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "tests" / "corpus").glob("*.tl"))]


@cache
def _documents() -> list[Any]:
    return documents()


@cache
def _logs(suffix: str) -> list[bytes]:
    logs = []
    with TemporaryDirectory() as folder:
        for graph, arguments in EVERY:
            path = Path(folder, f"run{suffix}")
            tl.run_graph(graph, arguments, keep=path, unchecked=True, limits=LIMITS, world=tl.World(len))
            logs.append(path.read_bytes())
    return logs


@cache
def _checkpoint() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.safetensors")
        tl.Checkpoint(v=tl.Variable(np.arange(6.0)), parts=[tl.Variable(1), {"k": tl.Variable(True)}]).save(path)
        return path.read_bytes()


def attack_text(dice: random.Random, folder: Path) -> None:
    _use(tl.parse(corrupt_text(dice, dice.choice(_texts())).decode(errors="replace")))


def attack_document(dice: random.Random, folder: Path) -> None:
    document = dice.choice(_documents())
    if dice.random() < 0.5:
        _use(tl.from_json(corrupt_text(dice, json.dumps(document).encode())))
    else:
        _use(tl.from_json(json.dumps(mutate_data(dice, document, dice.choice([1, 1, 2, 5])))))


def attack_json_log(dice: random.Random, folder: Path) -> None:
    content = dice.choice(_logs(".jsonl"))
    lines = content.splitlines(keepends=True)
    content = corrupt_text(dice, content) if dice.random() < 0.5 else b"".join(edit_lines(dice, lines))
    (folder / "a.jsonl").write_bytes(content)
    tl.read_events(folder / "a.jsonl")


def attack_column_log(dice: random.Random, folder: Path) -> None:
    (folder / "a.npz").write_bytes(corrupt_text(dice, dice.choice(_logs(".npz"))))
    tl.read_events(folder / "a.npz")


def attack_checkpoint(dice: random.Random, folder: Path) -> None:
    (folder / "a.safetensors").write_bytes(corrupt_text(dice, _checkpoint()))
    str(tl.Checkpoint(v=tl.Variable(np.zeros(6)), parts=[]).restore(folder / "a.safetensors"))


def attack_array(dice: random.Random, folder: Path) -> None:
    file = io.BytesIO()
    np.save(file, np.zeros(dice.choice([(), (3,), (2, 0)]), dice.choice(["<i8", ">f4", "?", "U3", "c16"])))
    (folder / "a.npy").write_bytes(corrupt_text(dice, file.getvalue()))
    tl.asarray(read_array(folder / "a.npy"))


@cache
def _run_checkpoint() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.json")
        fib.run(8, engine="distributed", checkpoint=path, limits=tl.Limits(firings=200))
        return path.read_bytes()


def attack_run_checkpoint(dice: random.Random, folder: Path) -> None:
    """Damaged bytes, or a forged content with the digest that it must have."""
    content = _run_checkpoint()
    if dice.random() < 0.3:
        content = corrupt_text(dice, content)
    else:
        forged = json.dumps(mutate_data(dice, json.loads(content)["content"], dice.choice([1, 1, 2, 5])))
        content = f'{{"sha256":"{sha256(forged.encode()).hexdigest()}","content":{forged}}}\n'.encode()
    (folder / "run.json").write_bytes(content)
    limits = tl.Limits(firings=2_000, seconds=MAX_SECONDS / 2)
    fib.run(8, engine="distributed", resume=folder / "run.json", limits=limits)


JSON_FILES: dict[str, tuple[Any, list[str]]] = {
    "script.json": (
        {"tagloom": "schedule", "version": 1, "positions": [0, 1, 0, 2], "then": "waves"},
        ["run", "program.tl", "3", "--schedule", "hand:script.json"],
    ),
    "finding.json": (
        {"backend": "numpy", "function": "fib", "words": ["3"], "first_difference": {"events": 5}},
        ["debug", ".", "--headless", "--timeout", "2"],
    ),
}
"""Other files that commands read: each with a content, and a command on it in its folder."""


def _damaged_json(dice: random.Random, document: Any) -> bytes:
    text = json.dumps(mutate_data(dice, document, dice.choice([1, 1, 2, 5]))).encode()
    return text if dice.random() < 0.6 else corrupt_text(dice, text)


def attack_json_file(dice: random.Random, folder: Path) -> None:
    name = dice.choice(list(JSON_FILES))
    document, words = JSON_FILES[name]
    (folder / "program.tl").write_text(tl.print_program(fib.trace(3).program))
    (folder / name).write_bytes(_damaged_json(dice, document))
    check_command([str(folder) if word == "." else word for word in words], folder)


REPORT = {
    "report": 1,
    "backends": [
        {
            "backend": "numpy", "settings": {"ops": "all", "programs": "seed 1"},
            "cases": {"ops": {"add": ["wrong value", "1 is 2"]}, "programs": {"3": ["error", "it ended"]}},
        },
    ],
}  # fmt: skip


def attack_report(dice: random.Random, folder: Path) -> None:
    (folder / "report.json").write_bytes(_damaged_json(dice, REPORT))
    report = read_report(folder / "report.json")
    list(compare_reports(report, REPORT)), list(compare_reports(REPORT, report))


def attack_model(dice: random.Random, folder: Path) -> None:
    from onnx import TensorProto, helper

    kinds, sizes = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL), ("n", 3, 2**40)
    kind, size = dice.choice(kinds), dice.choice(sizes)
    nodes = [
        helper.make_node(dice.choice(["Add", "Loop", "If", "Gather", "Relu"]), ["x", "y"], [dice.choice(["z", ""])])
    ]
    values = [helper.make_tensor_value_info(dice.choice([name, *HOSTILE]), kind, [size]) for name in "xyz"]
    model = helper.make_model(helper.make_graph(nodes, dice.choice(["g", *HOSTILE]), values[:2], values[2:]))
    (folder / "a.onnx").write_bytes(corrupt_text(dice, model.SerializeToString()))
    tl.from_onnx(folder / "a.onnx")


@cache
def _graph_files() -> list[tuple[str, bytes]]:
    return [(path.suffix, path.read_bytes()) for path in (FRAMES, FUNCTIONS)]


def attack_graph(dice: random.Random, folder: Path) -> None:
    """Damaged bytes; or a node, an op or a function that is renamed, which leaves the sizes in a .pb file wrong."""
    suffix, content = dice.choice(_graph_files())
    if dice.random() < 0.3:
        name = dice.choice([b"following", b"FloorMod", b"StatelessWhile", b"Switch", b"Merge", b"steps"])
        content = content.replace(
            name, dice.choice([*HOSTILE, "Switch", "Enter", "steps", "n"]).encode("utf-8", "replace")
        )
    elif dice.random() < 0.5 and suffix == ".pbtxt":
        lines = content.splitlines(keepends=True)
        first, second = sorted(dice.choices(range(len(lines)), k=2))
        content = b"".join([*lines[:second], *lines[first : first + 3], *lines[second + dice.randrange(3) :]])
    else:
        content = corrupt_text(dice, content)
    path = folder / f"a{suffix}"
    path.write_bytes(content)
    _use_graph(tl.from_tensorflow(path))


def attack_saved_model(dice: random.Random, folder: Path) -> None:
    """A SavedModel with one of its files damaged."""
    model = folder / "model"
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(SAVED_MODEL, model)
    path = dice.choice(sorted(path for path in model.rglob("*") if path.is_file()))
    path.write_bytes(corrupt_text(dice, path.read_bytes()))
    _use_graph(tl.from_tensorflow(model))


def _use_graph(function: Any) -> None:
    """Trace the function of a graph, print its program, and run it."""
    program = function.program
    problems = list(faults(tl.print_program(program)))
    assert not problems, problems
    arguments = [np.zeros([size or 2 for size in each.type.shape or ()], each.type.dtype.numpy)
                 for each in program.main.body.parameters]  # fmt: skip
    function.run(*arguments, limits=LIMITS)


def attack_metrics(dice: random.Random, folder: Path) -> None:
    lines = [json.dumps({"step": step, "loss": dice.choice([0.5, "nan", 1e308, step])}) for step in range(5)]
    content = corrupt_text(dice, "".join(f"{line}\n" for line in lines).encode())
    (folder / "a.jsonl").write_bytes(content)
    problems = list(faults(tl.curve(folder / "a.jsonl").svg))
    assert not problems, problems


def attack_session(dice: random.Random, folder: Path) -> None:
    session = new_session(START_OPTIONS)
    graph, arguments = dice.choice(EVERY)
    history = begin_display(graph, arguments, "waves")
    assert history is not None
    session.add_run(history)
    words = [*HOSTILE, "'", '"', "[", "9" * 30, "main", "-1", "@", "fired and"]
    for line in dice.sample(list(command_lines(session, dice, folder)), 10):
        reply = session.execute(" ".join([line, *dice.choices(words, k=dice.randrange(3))]))
        problems = [fault for text in reply.text for fault in faults(text)]
        assert not problems, problems


def attack_displays(dice: random.Random, folder: Path) -> None:
    history = begin_display(*graph_and_arguments(dice), dice.choice(["waves", "lifo", "random:3"]))
    problems = [] if history is None else list(display_violations(history, dice, folder))
    assert not problems, problems


class _Page(HTMLParser):
    """What a browser makes of a page: its elements, and the pages of its frames."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements, self.frames = list[tuple[str, dict[str, str | None]]](), list[str]()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.frames += [value for name, value in attrs if name == "srcdoc" and value]

    handle_startendtag = handle_starttag


def page_problems(text: str) -> Iterator[str]:
    """What a name has put into the HTML or SVG of a notebook: elements, attributes, control characters."""
    yield from faults(text)
    page = _Page(text)
    for tag, attributes in page.elements:
        if tag == MARK.lower() or any(name.startswith((MARK.lower(), "onmark")) for name in attributes):
            yield f"<{tag} {attributes}>"
    for frame in page.frames:
        yield from page_problems(frame)


def attack_notebook(dice: random.Random, folder: Path) -> None:
    part = dice.choice(MARKUP)
    graph = lower(tl.from_json(json.dumps(rename(tl.to_json(dice.choice(PROGRAMS)), part))))
    history = begin_display(graph, arguments_for(graph), "waves")
    assert history is not None
    for form in dice.sample(list(PICTURES), 3):
        with suppress(tl.TagloomError):
            svg = tl.picture(history, form)._repr_svg_()
            ElementTree.fromstring(svg)
            assert not list(page_problems(svg)), (form, part)
    player = history.player()
    page = player._repr_html_()
    assert _Page(page).frames == [player.html] and not list(page_problems(page)), part


MOMENTS = (
    "0-6", "0,3", "0-300:150", "-1,0", "9-1", "0-", "1,,2", "0-99999999999", f"0-{'9' * 30}", "1-2:0", "x", "0\n1",
    "\u0663-5",
)  # fmt: skip
PICTURE_FILES = (
    "run.gif", "run.apng", "run.pdf", "frame-%d.svg", "frame-%d.pdf", "frame-%d%d.svg", "%s-%d.svg", "%n.gif",
    "run.GIF", "none/run.gif", "folder.gif", "run\0.gif", f"{'x' * 300}.gif", "\ud800.gif", ".gif", "run.gif/", "run",
    "%d.exe", *(f"{part}.gif".replace("/", "") for part in HOSTILE),
)  # fmt: skip
MAGIC = {".gif": b"GIF89a", ".apng": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<"}


def attack_pictures(dice: random.Random, folder: Path) -> None:
    """Pictures of a run at several moments, in files of any name: animations, documents, a file for each moment. Each
    file that is there afterwards is whole."""
    target = folder / "pictures"
    shutil.rmtree(target, ignore_errors=True)
    (target / "folder.gif").mkdir(parents=True)
    program = rename(tl.to_json(fib.trace(3).program), dice.choice([*MARKUP, *HOSTILE, "", "", ""]))
    (target / "program.json").write_text(json.dumps(program))
    words = ["show", "program.json", dice.choice(["1", "2"]), f"--at={dice.choice(MOMENTS)}"]
    words += [
        "-o",
        dice.choice(PICTURE_FILES),
        *dice.choice([[], ["--seconds", dice.choice(["0", "nan", "1e9", "-1"])]]),
    ]
    with patch.dict(os.environ, {"NO_COLOR": "1"}), patch.object(LayoutProgress, "report"):
        command = run_words(words, folder=target)
    assert not command.raised, command.raised
    problems = [*faults(command.out), *faults(command.err)]
    assert not problems, problems
    for path in target.iterdir():
        if path.is_file() and path.suffix in MAGIC:
            assert path.read_bytes().startswith(MAGIC[path.suffix]), path


SIMULATED: dict[str, tuple[str, ...]] = {
    "--workers": ("1", "1,10", "10000", "0", "999999999", "1,,2", "9" * 40, "-1"),
    "--backup": ("0", "0,4", "7", "999999999", "-1"),
    "--servers": ("1", "16", "0", "-1", "9" * 30, "100000"),
    "--bytes": ("0", "1e6", "1e308", "nan", "inf", "-1", "5e-324"),
    "--work": ("0", "1.5", "1e308", "-0.0", "nan"),
    "--straggling": ("none", "lognormal:0.5", "lognormal:1e308", "exponential:-1", "pareto:0", "pareto:1e-9",
                     "slow:2:1", "slow:0.1:1e308", "lognormal", "none+none", "+", "lognormal:" + "9" * 400),
    "--steps": ("1", "3", "0", "99999999999999999999"),
    "--seed": ("0", "7", "-1", "9" * 40),
}  # fmt: skip
"""The options of `tagloom simulate`, with values that fit and others."""


def attack_simulation(dice: random.Random, folder: Path) -> None:
    words = ["simulate", dice.choice(["null", "sparse", "backup", "dense-1GB", *HOSTILE])]
    words += ["--workers", "1,10", "--steps", "3"]  # the defaults take seconds; the last of equal options counts
    for option in dice.sample(list(SIMULATED), dice.randrange(4)):
        words += [option, dice.choice([*SIMULATED[option], *SIMULATED[option], dice.choice(HOSTILE)])]
    check_command([word.replace("\0", "") for word in words], folder)


def attack_examples(dice: random.Random, folder: Path) -> None:
    """Examples and pages of exercises, written into a folder of any name, where files of their names may be folders,
    links or other programs. No other program is replaced, and no page is written then."""
    shutil.rmtree(folder / "lessons", ignore_errors=True)
    target = folder / "lessons" / dice.choice(["x", *HOSTILE]).replace("\0", "").replace("/", "")
    names = [f"{name}{ending}" for name in PAGE_ARGUMENTS for ending in (".py", "_right.py", ".html")]
    others: list[Path] = []
    if dice.random() < 0.7:
        target.mkdir(parents=True)
        others = [target / name for name in dice.sample(names, dice.randrange(3))]
    for other in others:
        match dice.randrange(4):
            case 0:
                other.write_text(f"raise SystemExit({dice.choice(HOSTILE)!r})\n")
            case 1:
                other.mkdir()
            case 2:
                other.symlink_to(folder / "lessons" / "nowhere")
            case _:
                other.symlink_to("/dev/zero")
    before = [(other.lstat().st_ino, other.lstat().st_mode) for other in others]
    is_slow = not others and dice.random() < 0.9  # ten programs run
    check_command(["examples", "--copy" if is_slow else "--pages", str(target)], folder)
    assert [(other.lstat().st_ino, other.lstat().st_mode) for other in others] == before


SURFACES: dict[str, tuple[str, Attack, float]] = {
    "text": ("text form (.tl)", attack_text, 1),
    "document": ("programs, graphs and outcomes (.json)", attack_document, 1),
    "json_log": ("logs (.jsonl)", attack_json_log, 1),
    "column_log": ("logs (.npz)", attack_column_log, 1),
    "checkpoint": ("checkpoints (.safetensors)", attack_checkpoint, 1),
    "array": ("arrays (.npy)", attack_array, 1),
    "graph": ("graphs of TensorFlow (.pb, .pbtxt)", attack_graph, 1),
    "saved_model": ("SavedModels", attack_saved_model, 0.5),
    "exported_program": ("exported programs of PyTorch (.pt2)", attack_exported_program, 0.25),
    "module": ("modules of StableHLO (.mlir)", attack_module, 0.25),
    "metrics": ("metrics, drawn by `curve`", attack_metrics, 1),
    "run_checkpoint": ("checkpoints of runs of the engine `distributed`", attack_run_checkpoint, 0.5),
    "json_file": ("schedules by hand, and findings of `tagloom conform`", attack_json_file, 0.2),
    "report": ("reports of `tagloom conform`, compared", attack_report, 1),
    "backend": ("replies of a process that `tagloom conform` asks", attack_backend, 0.25),
    "simulation": ("options of `tagloom simulate`", attack_simulation, 0.25),
    "examples": ("folders that examples and pages of exercises are written into", attack_examples, 0.05),
    "session": ("ten lines of session commands, with hostile words", attack_session, 0.2),
    "pictures": ("pictures of several moments, in files of any name", attack_pictures, 0.05),
    "notebook": ("pictures and pages of a notebook, with markup in names", attack_notebook, 0.05),
    "displays": ("graphs of any shape, in all pictures, the player and the session", attack_displays, 0.03),
}
"""For each surface: what it is, one attack, and the share of COUNT that the table's run has of it."""
if find_spec("onnx") is not None:
    SURFACES["model"] = ("models (.onnx), with hostile names, checked by another process", attack_model, 0.02)


def attack_failure(name: str, seed: int, folder: Path) -> str:
    """What one input of a surface raises, besides an error of ours; empty if nothing."""
    before = signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(MAX_SECONDS)
    try:
        SURFACES[name][1](random.Random(f"{name} {seed}"), folder)
    except tl.TagloomError as error:
        return next(faults(str(error)), "")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{name}, seed {seed}: {traceback.format_exc(limit=-4)}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return ""


class OutOfTime(BaseException):
    """An input took too long. No Exception: what is attacked must not catch it."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise OutOfTime(f"an input took more than {MAX_SECONDS} s")


def main(count: int, seed: int, names: Sequence[str] = ()) -> int:
    """Attack every surface, each with its share of a count of inputs, or these surfaces with all of them; print the
    table, and return 1 if anything failed."""
    print(f"seed {seed}", flush=True)
    print("| surface | inputs | failures | seconds |\n|---|---|---|---|", flush=True)
    total = 0
    for name in names or SURFACES:
        title, _, share = SURFACES[name]
        start, failures = time.monotonic(), []
        inputs = count if names else max(1, round(count * share))
        with TemporaryDirectory() as folder:
            for number in range(inputs):
                if failure := attack_failure(name, seed + number, Path(folder)):
                    failures.append(failure)
        seconds = time.monotonic() - start
        print(f"| {title} | {inputs:,} | {len(failures)} | {seconds:.0f} |", flush=True)
        print(*failures[:3], sep="\n", file=sys.stderr, flush=True)
        total += len(failures)
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 10**9, sys.argv[3:]))
