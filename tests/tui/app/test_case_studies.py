"""The bugs of docs/case-studies.md, each found on the screen by few keys."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from onscreen import Screen, shown

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "case-studies.md"


class Hunt(NamedTuple):
    """A program with a bug: its arguments, the keys, and what the screen then shows, as patterns."""

    arguments: str
    keys: str
    evidence: tuple[str, ...]


HUNTS = {
    "power.py": Hunt("2 5", "c", (r"#1 power\(2, 5\)", r"#2 power\(4, 2\)")),
    "fibonacci.py": Hunt("10", "c 5 F2", (r"loop\[1\]: i = 1, a = 0, b = 1", r"loop\[9\]: i = 9, a = 0, b = 1")),
    "backwards.py": Hunt(
        "6", "c 9 F2", (r"nothing fills left\[4\]", r"loop\[4\] has not begun", r"backwards.loop is 4")
    ),
    "stairs.py": Hunt("5", "c 5 F2", (r"ways\(1\) = 0", r"ways\(0\) = 0")),
    "catalan.py": Hunt("3", "c 5 F2", (r"trees\(1\) = 0", r"loop\[0\]: .*ended: not left < subtract")),
    "doubled.py": Hunt("3", "c", (r"deadlock: nothing fills powers\[0\]", "answers")),
}
KEYS = {"F2": "f2"}


@pytest.mark.full
@pytest.mark.parametrize("name", HUNTS)
def test_bugs_are_found_by_few_keys(name: str) -> None:
    """After the keys the screen shows what is wrong; before them it does not."""
    arguments, keys, evidence = HUNTS[name]
    assert len(keys.split()) <= 5

    async def script(screen: Screen) -> None:
        assert not all(re.search(pattern, screen.whole()) for pattern in evidence)
        await screen.press(*(KEYS.get(key, key) for key in keys.split()))
        text = screen.whole()
        assert [pattern for pattern in evidence if not re.search(pattern, text)] == [], text

    shown(script, str(ROOT / "docs" / "case_studies" / name), *arguments.split(), size=(80, 24))


def test_the_keys_of_the_page() -> None:
    """The page lists the programs with these arguments and keys."""
    rows = re.findall(r"^\| \[(\w+\.py)\]\(.*?\) `(.*?)` \| (.*?) \|", PAGE.read_text(), re.MULTILINE)
    listed = {name: (arguments, " ".join(re.findall("`(.*?)`", keys))) for name, arguments, keys in rows}
    assert listed == {name: (hunt.arguments, hunt.keys) for name, hunt in HUNTS.items()}


# Bugs in networks

EXAMPLES = ROOT / "papers_examples"
TREES = ("[-1, -1, 0]", "[-1, -1, 1]", "[11, 0, -1]", "[1, 2, 0]", "[2]")
PLACES = ("[[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [9.0, -9.0]]",)


class NetworkBug(NamedTuple):
    """A change in a network, a command, `compare` with the correct copy if it is empty, keys, and what the screen then
    shows, as patterns."""

    files: tuple[str, ...]
    changes: tuple[tuple[str, str], ...]
    arguments: tuple[str, ...]
    command: str
    keys: str
    evidence: tuple[str, ...]


NETWORK_BUGS = {
    "TreeLSTM": NetworkBug(
        ("recursion/tree_lstm.py", "recursion/tree_rnn.py", "recursion/sentiment_trees.py"),
        (("sigmoid(g) * c_right", "sigmoid(g) * c_left"),),
        TREES,
        "",
        "9 F2",
        (r"node\.multiply_14 \(tree_lstm\.py:53\)", r"node\.index_4"),
    ),
    "digits": NetworkBug(
        ("tensorflow/digits.py",),
        (("tl.log_softmax(x @ w + b)", "tl.log(tl.softmax(x @ w + b))"), ("rate=0.5", "rate=100.0")),
        ("6",),
        "break nonfinite > 0",
        "c 6 F2",
        (r"digits\.py:44", r"port 0  ▶ float64\[100, 10\] 0\.0, ", r"\d+ not finite"),
    ),
    "L2HMC": NetworkBug(
        ("eager/l2hmc.py",),
        (("(x - shift) * tl.exp(-log_scale)", "(x - shift) * tl.exp(log_scale)"),),
        PLACES,
        "",
        "9 F2",
        (r"Sampler_drift\.negative \(correct\.py:85\)", r"there is no such node"),
    ),
}


def find_bug(target: Path, arguments: tuple[str, ...], command: str, keys: str, evidence: tuple[str, ...]) -> None:
    """Give a command and press keys on both sizes of screens; the screen then shows the evidence."""

    async def script(screen: Screen) -> None:
        await screen.do(*filter(None, [command]))
        await screen.press(*(KEYS.get(key, key) for key in keys.split()))
        text = screen.whole()
        assert [pattern for pattern in evidence if not re.search(pattern, text)] == [], text

    for size in ((80, 24), (200, 60)):
        shown(script, str(target), *arguments, size=size)


@pytest.mark.parametrize("bug", NETWORK_BUGS.values(), ids=NETWORK_BUGS)
def test_the_programs_have_what_a_bug_changes(bug: NetworkBug) -> None:
    """What a bug changes occurs once in its program."""
    text = (EXAMPLES / bug.files[0]).read_text()
    assert [text.count(old) for old, _ in bug.changes] == [1] * len(bug.changes)


@pytest.mark.full(first=1)
@pytest.mark.parametrize("name", NETWORK_BUGS)
def test_bugs_in_networks_are_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen shows the cause of a bug in a network, at both sizes."""
    if name == "digits":
        pytest.importorskip("sklearn")
    bug = NETWORK_BUGS[name]
    for file in bug.files:
        shutil.copy(EXAMPLES / file, tmp_path)
    program = tmp_path / Path(bug.files[0]).name
    shutil.copy(program, tmp_path / "correct.py")
    text = program.read_text()
    for old, new in bug.changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    program.write_text(text)
    monkeypatch.chdir(tmp_path)
    words = " ".join(f'"{word}"' for word in bug.arguments)
    find_bug(program, bug.arguments, bug.command or f"compare correct.py {words}", bug.keys, bug.evidence)


@pytest.mark.full
def test_a_bug_in_a_model_of_onnx_is_found(tmp_path: Path) -> None:
    """The tree of tags shows the token that should have ended the loop, and which test ended it."""
    onnx = pytest.importorskip("onnx")
    model = onnx.load(ROOT / "docs" / "models" / "greedy_decoding.onnx")
    last = next(tensor for tensor in model.graph.initializer if tensor.name == "end")
    last.CopyFrom(onnx.numpy_helper.from_array(np.array([4]), "end"))
    onnx.save(model, tmp_path / "decoding.onnx")
    evidence = (r"loop\[7\]: k = 7, .*token = \[3\]", r"loop\[12\].*ended: not k < maximum")
    find_bug(tmp_path / "decoding.onnx", ("[0]", "12"), "", "c 5 F2", evidence)
