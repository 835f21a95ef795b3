"""What other systems hand in, damaged: exported programs of PyTorch, modules of StableHLO, replies of backends."""

from __future__ import annotations

import copy
import json
import os
import random
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tagloom as tl
from attack.command_line import run_words
from attack.hostile_names import HOSTILE, faults
from support.generators.json_edits import STRANGE, corrupt_text, mutate_data
from support.programs import torch_archives
from support.programs.stablehlo_modules import TEXT, document
from tagloom.interp.exchange.stablehlo.model import module_function
from tagloom.interp.exchange.stablehlo.module import read_module
from tagloom.interp.exchange.stablehlo.operations import ROWS as OPERATIONS
from tagloom.interp.exchange.torch.operations import ROWS as OPERATORS

LIMITS = tl.Limits(firings=2_000, seconds=20)


def use_function(function: Any, arguments: tuple[int, ...]) -> None:
    """Trace an imported function, print its program, and run it."""
    problems = list(faults(tl.print_program(function.program)))
    assert not problems, problems
    function.run(*arguments, engine="reference", limits=LIMITS)


def attack_exported_program(dice: random.Random, folder: Path) -> None:
    """Damaged bytes, damaged data of an entry, exchanged operators and operands, or hostile names."""
    content = torch_archives.ADDING.read_bytes()
    match dice.randrange(4):
        case 0:
            content = corrupt_text(dice, content) if dice.random() < 0.7 else content[: dice.randrange(len(content))]
        case 1:
            ending = dice.choice([torch_archives.MODEL, torch_archives.WEIGHTS])
            data = mutate_data(dice, torch_archives.document(ending), dice.choice([1, 1, 2, 5]))
            content = torch_archives.archive({torch_archives.full_name(ending): json.dumps(data).encode()})
        case 2:
            content = torch_archives.changed(partial(exchange_nodes, dice))
        case _:
            text = json.dumps(torch_archives.document())
            for name in dice.sample(["digits", "argmax", "while_loop", "lstm", "reader", "torch_models.py"], 3):
                text = text.replace(name, name + json.dumps(dice.choice(HOSTILE))[1:-1])
            content = torch_archives.archive({torch_archives.full_name(torch_archives.MODEL): text.encode()})
    (folder / "a.pt2").write_bytes(content)
    use_function(tl.from_torch(folder / "a.pt2"), (27, 48))


def exchange_nodes(dice: random.Random, data: Any) -> None:
    nodes = torch_archives.graph_nodes(data["graph_module"]["graph"])
    node, other = dice.choice(nodes), dice.choice(nodes)
    match dice.randrange(3):
        case 0:
            node["target"] = f"torch.ops.{dice.choice([*OPERATORS, *HOSTILE])}.default"
        case 1:
            node["inputs"] = other["inputs"]
        case _:
            node["outputs"] = other["outputs"]


def attack_module(dice: random.Random, folder: Path) -> None:
    """A damaged text, where jaxlib can parse it; or what its parser says of a module, with other operations, operands,
    types, attributes or names."""
    if find_spec("jaxlib") is not None and dice.random() < 0.1:
        text = TEXT.read_bytes()
        if dice.random() < 0.3:  # places that the text does not have
            place = dice.choice([b"0:1", b"1:0", b"4294967295:4294967295", b"99999999999:1"])
            text = text.replace(b"\n    return", b' loc("-":' + place + b")\n    return")
        (folder / "a.mlir").write_bytes(text if dice.random() < 0.2 else corrupt_text(dice, text))
        use_function(tl.from_stablehlo(folder / "a.mlir"), (6,))
        return
    contents = copy.deepcopy(document())
    operations = [each for function in contents["functions"] for each in block_operations(function["body"])]
    for _ in range(dice.choice([1, 1, 2, 5])):
        change_operation(dice, contents, dice.choice(operations))
    use_function(module_function(read_module(contents)), (6,))


def block_operations(block: Any) -> Iterator[Any]:
    """The operations of a block of a document, those in its regions included."""
    for operation in block["operations"]:
        yield operation
        for region in operation["regions"]:
            yield from block_operations(region)


def change_operation(dice: random.Random, contents: Any, operation: Any) -> None:
    match dice.randrange(7):
        case 0:
            operation["name"] = dice.choice([*sorted(OPERATIONS), *HOSTILE])
        case 1 if operation["operands"]:
            operation["operands"][dice.randrange(len(operation["operands"]))] = dice.choice(operation["operands"])
        case 2 if operation["attributes"]:
            operation["attributes"][dice.choice(list(operation["attributes"]))] = copy.deepcopy(dice.choice(STRANGE))
        case 3:
            sizes: list[Any] = [[], [4], [2, 2], [0], [None], [2**40], [2**70], [1] * 200]
            operation["types"] = [[dice.choice(["i1", "i32", "f32", "ui8", "", *HOSTILE]), dice.choice(sizes)]]
        case 4:
            operation["origin"] = dice.choice(HOSTILE)
            operation["frames"] = [[dice.choice(HOSTILE), dice.choice(HOSTILE), 1, 0, 1, 1]]
        case 5:
            contents["lines"] = [line + dice.choice(HOSTILE) for line in contents["lines"]]
        case _:
            function = dice.choice(contents["functions"])
            function["body"]["names"] = [f"n{dice.choice(HOSTILE)}" for _ in function["body"]["names"]]


REPLIES: list[dict[str, Any]] = [
    {"seq": 1, "reply": "hello", "protocol": 1, "name": "foreign", "version": "1", "language": "Python",
     "ops": ["add", "multiply"], "flags": ["folding"], "levels": [{"name": "eager", "part": "kernels"}]},
    {"seq": 2, "reply": "compiled", "program": 0},
    {"seq": 3, "reply": "returned", "results": [{"dtype": "int64", "data": 7}]},
    {"seq": 4, "reply": "dropped"},
    {"seq": 5, "reply": "bye"},
]  # fmt: skip
OTHER_ENDINGS: dict[str, Callable[[str], dict[str, Any]]] = {
    "refused": lambda message: {"kind": "op", "message": message},
    "trapped": lambda message: {"message": message},
    "deadlocked": lambda message: {"message": message},
    "error": lambda message: {"message": message},
}
"""Replies to a run besides results."""
BACKEND = """
import sys
replies = open(sys.argv[1], "rb").read().split(b"\\n\\n")
for line, reply in zip(sys.stdin.buffer, replies):
    sys.stdout.buffer.write(reply + b"\\n")
    sys.stdout.buffer.flush()
sys.stderr.write(sys.argv[2])
"""
"""A process that gives the replies of a file to whatever it is asked."""


def attack_backend(dice: random.Random, folder: Path) -> None:
    """A process that answers `tagloom conform`, with damaged replies and hostile words."""
    replies = copy.deepcopy(REPLIES)
    if dice.random() < 0.3:
        ending = dice.choice(list(OTHER_ENDINGS))
        replies[2] = {"seq": 3, "reply": ending, **OTHER_ENDINGS[ending](f"no value {dice.choice(HOSTILE)}")}
    if dice.random() < 0.3:
        replies[0][dice.choice(["name", "version", "language"])] = dice.choice(HOSTILE)
    lines = [json.dumps(reply).encode() for reply in replies]
    for _ in range(dice.randrange(3)):
        place = dice.randrange(3)
        changed = mutate_data(dice, replies[place], dice.choice([1, 2]))
        lines[place] = json.dumps(changed).encode() if dice.random() < 0.6 else corrupt_text(dice, lines[place])
    (folder / "replies").write_bytes(b"\n\n".join(lines))
    (folder / "backend.py").write_text(BACKEND)
    (folder / "sum.tl").write_text("func main(a: int64, b: int64) -> int64 {\n  s = add a, b\n  return s\n}\n")
    last_words = dice.choice(["", *HOSTILE]).replace("\0", "")
    command = [sys.executable, "-S", "-E", str(folder / "backend.py"), str(folder / "replies"), last_words]
    words = ["conform", "--backend", shlex.join(command), "--timeout", "5"]
    words += dice.choice([["sum.tl", "3", "4"], ["sum.tl", "3", "4", "--json"], ["--ops", "--op", "add"]])
    check_command(words, folder)


def check_command(words: list[str], folder: Path) -> None:
    """Run a command in a folder; raises AssertionError if it raises, or prints what controls a terminal."""
    with patch.dict(os.environ, {"NO_COLOR": "1", "TAGLOOM_PROGRESS": "off"}):  # those are control sequences of our own
        command = run_words(words, ["run"], folder)
    assert not command.raised, command.raised
    problems = [*faults(command.out), *faults(command.err)]
    assert not problems, problems
