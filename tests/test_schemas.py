"""The published schemas and the code agree: everything that is written fits them, and what does not fit is rejected."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tagloom as tl
from hypothesis import given, settings
from referencing import Registry, Resource
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from support.generators.json_edits import EVERY, documents, mutate_data
from support.laws.machine_laws import LIMITS
from support.programs.parallel_programs import fib
from tagloom.core import dtypes
from tagloom.core.graph.lower import lower

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "schemas"
SCHEMAS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
REGISTRY: Registry[Any] = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
)
FORMS = {
    form: jsonschema.Draft202012Validator(SCHEMAS[form], registry=REGISTRY)
    for form in ("program", "graph", "outcome", "events")
}


def problem(form: str, document: Any) -> str | None:
    """The first violation of a form's schema by a document."""
    error = next(FORMS[form].iter_errors(document), None)
    return None if error is None else f"{error.json_path}: {error.message[:200]}"


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("form", sorted(SCHEMAS))
def test_schema(form: str) -> None:
    """Each schema is a JSON Schema of draft 2020-12, with a version in its name and a description."""
    schema = SCHEMAS[form]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:tagloom:{form}:1"
    assert schema["description"] and schema["title"]


def test_dtypes() -> None:
    """The schemas have every dtype."""
    assert SCHEMAS["common"]["$defs"]["dtype"]["enum"] == [repr(dtype) for dtype in dtypes.ALL]


@given(cases())
@settings(max_examples=6)
def test_written_documents_fit(tmp_path_factory: Any, case: Case) -> None:
    """A generated program, its graph, its outcome, and every line of its log fit their schemas."""
    graph, path = lower(case.program), tmp_path_factory.mktemp("log") / "run.jsonl"
    outcome = tl.run_graph(graph, case.arguments, limits=LIMITS, keep=path)
    assert problem("program", tl.to_json(case.program)) is None
    assert problem("graph", tl.to_json(graph)) is None
    assert problem("outcome", tl.to_json(outcome)) is None
    lines = path.read_text().splitlines()
    for line in [*lines[:40], lines[-1]]:
        assert problem("events", json.loads(line)) is None


@given(act_cases(early=True))
@settings(max_examples=4)
def test_documents_of_effects_fit(tmp_path_factory: Any, case: Case) -> None:
    """Documents of programs with cells, effects, random numbers and bounds fit their schemas."""
    graph, path = lower(case.program), tmp_path_factory.mktemp("log") / "run.jsonl"
    outcome = tl.run_graph(graph, case.arguments, limits=LIMITS, keep=path, world=Witness(), seed=2**63)
    for form, subject in (("program", case.program), ("graph", graph), ("outcome", outcome)):
        assert problem(form, tl.to_json(subject)) is None
    lines = path.read_text().splitlines()
    for line in [*lines[:40], lines[-1]]:
        assert problem("events", json.loads(line)) is None


def test_a_line_of_workers_fits(tmp_path: Path) -> None:
    """Each line of the log of a run on several workers fits its schema, and a rank of no worker does not."""
    path = tmp_path / "run.jsonl"
    fib.run(5, engine="distributed", keep=path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [problem("events", line) for line in lines] == [None] * len(lines)
    assert list(lines[-2]) == ["workers"]
    lines[-2]["workers"]["ranks"][0] = -2
    assert problem("events", lines[-2]) is not None


@pytest.mark.full
@pytest.mark.parametrize("number", range(len(EVERY)))
def test_every_ending_fits(number: int, tmp_path: Path) -> None:
    """Documents and log lines of traps, deadlocks and broken runs fit their schemas."""
    graph, arguments = EVERY[number]
    path = tmp_path / "run.jsonl"
    outcome = tl.run_graph(graph, arguments, keep=path, unchecked=True)
    assert problem("outcome", tl.to_json(outcome)) is None
    for line in path.read_text().splitlines():
        assert problem("events", json.loads(line)) is None


def assert_refused_alike(seeds: range) -> None:
    """A document that the schema rejects is Malformed for the reader."""
    wrong = 0
    originals = documents()
    for seed in seeds:
        dice = random.Random(seed)
        original = dice.choice(originals)
        document = mutate_data(dice, original, dice.choice([1, 1, 3]))
        complaint = problem(original["tagloom"], document)
        if complaint is None:
            continue
        wrong += 1
        with pytest.raises(tl.Malformed):
            tl.from_json(document)
            pytest.fail(f"seed {seed}: read, though {complaint}")
    assert wrong > len(seeds) / 4


@pytest.mark.full
def test_readers_agree_with_the_schemas() -> None:
    """A document that the schema rejects, after one to three mutations, is Malformed for the reader, which may reject
    more."""
    assert_refused_alike(range(400))


@pytest.mark.heavy
def test_readers_agree_with_the_schemas_on_many_documents() -> None:
    """The law holds for 4,600 more documents."""
    assert_refused_alike(range(400, 5_000))


def assert_lines_refused_alike(seeds: range, path: Path) -> None:
    """A log with a line that its schema rejects is not read."""
    for number, (graph, arguments) in enumerate(EVERY):
        tl.run_graph(graph, arguments, keep=path, unchecked=True)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for seed in seeds:
            dice = random.Random(f"{number} {seed}")
            where = dice.randrange(len(lines))
            changed = mutate_data(dice, lines[where])
            complaint = problem("events", changed)
            if complaint is None:
                continue
            path.write_text("".join(json.dumps(line) + "\n" for line in [*lines[:where], changed, *lines[where + 1 :]]))
            with pytest.raises(tl.TagloomError):
                tl.read_events(path)
                pytest.fail(f"run {number}, seed {seed}, line {where + 1}: read, though {complaint}")


@pytest.mark.full
def test_logs_with_lines_that_the_schema_rejects(tmp_path: Path) -> None:
    """Logs with a line that the schema rejects are not read."""
    assert_lines_refused_alike(range(20), tmp_path / "run.jsonl")


@pytest.mark.heavy
def test_many_logs_with_lines_that_the_schema_rejects(tmp_path: Path) -> None:
    """The law holds for 420 more changes to each log."""
    assert_lines_refused_alike(range(20, 440), tmp_path / "run.jsonl")
