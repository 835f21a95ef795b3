"""The systems that are installed here: generated programs on each of them, in a process of its own."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from attack.command_line import run_words
from tagloom.core import dtypes
from tagloom.core.dtypes import DType
from tagloom.core.errors import Invalid
from tagloom.core.types import Type
from tagloom.interp.oracle.adapters import backend_command, backend_names
from tagloom.interp.oracle.backend_process import Backend, Timeouts
from tagloom.interp.oracle.fuzz import judge_case
from tagloom.interp.oracle.generate import FuzzWriter
from tagloom.interp.oracle.sweep import ORDINARY, OpSample, op_samples, run_group, sample_vector

MODULES = {
    "numpy": "numpy",
    "jax": "jax",
    "torch": "torch",
    "torch-compiled": "torch",
    "tensorflow": "tensorflow",
    "tensorflow-function": "tensorflow",
    "tensorflow-unoptimised": "tensorflow",
    "tensorflow-frames": "tensorflow",
    "tensorflow-xla": "tensorflow",
    "onnxruntime": "onnxruntime",
    "onnxruntime-unoptimised": "onnxruntime",
    "onnx-reference": "onnx",
    "stablehlo": "jaxlib",
}
"""The module that each backend of this package needs."""
CASE_STUDIES = Path(__file__).resolve().parents[3] / "docs" / "case-studies.md"
PATIENT = Timeouts(600.0, 600.0, 600.0)
"""Imports and compilers take long beside other work."""
COMPILERS = ("jax", "tensorflow-xla", "torch-compiled", "tensorflow-function")
"""Backends with optimisers, in which failures are findings."""


def test_every_backend_is_listed() -> None:
    """The table of this file has all backends of this package."""
    assert set(MODULES) <= set(backend_names())


@pytest.mark.heavy
@pytest.mark.parametrize("name", MODULES)
def test_generated_programs(name: str) -> None:
    """A system computes most exact programs with the same bits; one that optimises nothing, all of them. Programs
    that it refuses do not count."""
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"{MODULES[name]} is not installed")
    with Backend(backend_command(name), timeouts=PATIENT) as backend:
        judgements = [judge_case(backend, FuzzWriter(Random(f"2:{number}")).write_case()) for number in range(25)]
    verdicts = [found.verdict for found in judgements if found is not None and found.verdict != "refused"]
    assert len(verdicts) > 15 and verdicts.count("alike") >= len(verdicts) - 3 * (name in COMPILERS), verdicts


def takes_indices(sample: OpSample, dtype: DType) -> bool:
    """Whether an op on float64 takes indices or counts of this dtype."""
    operands = [Type(dtypes.float64, (4,)), *(Type(dtype, (4,)) for _ in sample.operand_dtypes[1:])]
    try:
        sample.row.type_rule(*operands, **dict(sample.attributes))
    except Invalid:
        return False
    return True


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["numpy", "jax", "torch", "tensorflow", "onnxruntime", "onnx-reference"])
def test_indices_of_every_dtype(name: str) -> None:
    """An op that a system computes with indices of int64 it computes with indices of every integer dtype."""
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"{MODULES[name]} is not installed")
    samples = [each for each in op_samples() if each.operand_dtypes[:2] == (dtypes.float64, dtypes.int64)]
    computed, failures = set(), []
    with Backend(backend_command(name), timeouts=PATIENT) as backend:
        for sample in samples:
            for dtype in (
                dtypes.int64,
                *(each for each in dtypes.ALL if each.is_integer and takes_indices(sample, each)),
            ):
                vectors = [
                    sample_vector(dtypes.float64, 0),
                    *(sample_vector(dtype, 1) for _ in sample.operand_dtypes[1:]),
                ]
                narrow = sample._replace(operand_dtypes=(dtypes.float64, *(dtype for _ in vectors[1:])))
                result = run_group(backend, narrow, ORDINARY, vectors)
                if result.verdict == "alike":
                    computed.add(sample.label)
                elif sample.label in computed:
                    failures.append((narrow.label, result.verdict, result.reason))
    assert computed and not failures, failures


def case_studies() -> dict[str, str]:
    """The transcripts of `tagloom conform` in the case studies, by backend."""
    transcripts = re.findall(r"```\n(\$ tagloom conform.*?)```\n", CASE_STUDIES.read_text(), re.DOTALL)
    return {transcript.split("--backend ")[1].split()[0]: transcript for transcript in transcripts}


@pytest.mark.heavy
@pytest.mark.parametrize("name", case_studies())
def test_case_studies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug of another system is there, at the first wrong token and with the blame that the case study has."""
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"{MODULES[name]} is not installed")
    monkeypatch.chdir(CASE_STUDIES.parents[1])
    command, _, report = case_studies()[name].partition("\n")
    ran = run_words(shlex.split(command)[2:])
    assert (ran.code, ran.out) == (1, report)
