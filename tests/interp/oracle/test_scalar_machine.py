"""A machine in C for programs of scalars conforms to the corpus, and on generated programs; changes that break it
show."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import tagloom as tl
from tagloom.interp.oracle.backend_process import Backend
from tagloom.interp.oracle.conform_corpus import run_corpus
from tagloom.interp.oracle.fuzz import judge_case
from tagloom.interp.oracle.generate import generate_case
from tagloom.interp.oracle.judge import FAILURES

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
SOURCE = Path(__file__).parent / "scalar_machine.c"
FEW = ("comparisons", "conversions", "even_or_odd", "fibonacci", "floor_and_remainder", "promotion", "trap_in_loop")
"""Files of the corpus whose cases are mostly about scalars."""


def build(folder: Path, source: str) -> list[str]:
    """The command of the machine of this source; skips the test where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    text, machine = folder / "machine.c", folder / "machine"
    text.write_text(source)
    subprocess.run([compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-o", machine, text, "-lm"], check=True)
    return [str(machine)]


def count_verdicts(command: Sequence[str], files: Sequence[Path]) -> Counter[str]:
    """The verdicts on the cases of texts; the words of those that are failures count, too."""
    verdicts: Counter[str] = Counter()
    with Backend(command) as backend:
        for file in files:
            for words, _, judgement in run_corpus(backend, tl.parse(file.read_text())):
                verdicts[judgement.verdict] += 1
                verdicts[f"{words}: {judgement.reason}"] += judgement.verdict in FAILURES
    return +verdicts


@pytest.mark.full
def test_a_part_of_the_corpus(tmp_path: Path) -> None:
    """The machine is alike in the cases of a few files, traps among them, and refuses what it lacks."""
    verdicts = count_verdicts(build(tmp_path, SOURCE.read_text()), [CORPUS / f"{name}.tl" for name in FEW])
    assert set(verdicts) <= {"alike", "refused"} and verdicts["alike"] > 45, verdicts


@pytest.mark.heavy
def test_the_corpus(tmp_path: Path) -> None:
    """The machine is alike in 582 of the cases of the corpus, and refuses the others."""
    verdicts = count_verdicts(build(tmp_path, SOURCE.read_text()), sorted(CORPUS.glob("*.tl")))
    assert set(verdicts) == {"alike", "refused"} and verdicts["alike"] >= 582, verdicts


@pytest.mark.full
def test_generated_programs(tmp_path: Path) -> None:
    """The machine computes generated programs of constructs that it supports with the same bits, and refuses few."""
    with Backend(build(tmp_path, SOURCE.read_text())) as backend:
        backend.start()
        assert backend.capabilities is not None
        cases = [generate_case(7, number, backend.capabilities) for number in range(100)]
        judgements = [judge_case(backend, case) for case in cases]
    verdicts = Counter(judgement.verdict for judgement in judgements if judgement is not None)
    assert set(verdicts) <= {"alike", "refused"} and verdicts["alike"] > 60, verdicts


BREAKS = {
    "quotients toward zero": (
        "return x / y - (x % y != 0 && (x < 0) != (y < 0));",
        "return x / y;",
        "floor_and_remainder",
    ),
    "the wrong branch": ("inputs[0].integer ? 0 : 1", "inputs[0].integer ? 1 : 0", "fibonacci"),
    "the entry for each callee": ("program->bodies[node->callee]", "program->bodies[program->entry]", "even_or_odd"),
    "int8 without a sign": ('[INT8] = {"int8", 8, true, false}', '[INT8] = {"int8", 8, false, false}', "conversions"),
    "comparisons that include equality": ("return boolean(x < y);", "return boolean(x <= y);", "comparisons"),
}
"""Changes to the source: what it does then, the text and what replaces it, and a file of the corpus that shows it."""


@pytest.mark.full
@pytest.mark.parametrize("words", BREAKS)
def test_a_broken_machine_is_caught(tmp_path: Path, words: str) -> None:
    """A change that breaks the machine shows in a case of the corpus."""
    before, after, name = BREAKS[words]
    source = SOURCE.read_text()
    assert before in source
    verdicts = count_verdicts(build(tmp_path, source.replace(before, after)), [CORPUS / f"{name}.tl"])
    assert FAILURES & set(verdicts), verdicts
