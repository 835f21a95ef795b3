"""The laws of partial programs, as one function: a fetched value equals its value in a run of the whole program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from support.generators.effect_programs import Witness
from support.generators.generator import Case
from support.programs.partial_programs import endless, fib, model
from tagloom.core import dtypes
from tagloom.core.errors import Usage
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.program import PULLBACK_TARGET, Node, Program, Var
from tagloom.core.program.validate import program_problems
from tagloom.core.tag import ENVIRONMENT, ROOT
from tagloom.core.transform.prune import prune_program
from tagloom.core.types import Handle, HandleType, Type
from tagloom.core.value import Literal, fingerprint, literal
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.function.fetch_feed import format_tag, result_tag
from tagloom.interp.outcome.outcome import Outcome

LIMITS = Limits(firings=2_000)


def names(program: Program) -> list[str]:
    """The values of the main body that may be fetched and fed."""
    return [name for name, type_ in types(program).items() if not isinstance(type_.dtype, HandleType)]


def types(program: Program) -> dict[str, Type]:
    body = program.main.body
    return dict([*body.parameters, *(result for node in body.nodes for result in node.results)])


@st.composite
def draw_request(draw: Any, cases: st.SearchStrategy[Any]) -> tuple[Case, list[str] | None, list[str]]:
    """A case, and the values of it to fetch and feed; None stands for its results."""
    case = draw(cases.filter(lambda case: case is not None))
    several = st.lists(st.sampled_from(names(case.program) or ["?"]), unique=True, max_size=3)
    fetches, feeds = draw(several), draw(several)
    return case, draw(st.sampled_from([fetches, None])) if names(case.program) else None, feeds


def violations(case: Case, fetches: Sequence[str] | None, feeds: Sequence[str]) -> Iterator[str]:
    """P1 to P5: violations of the partial program in which some values are fed with those of a whole run. A value that
    the whole run did not compute is not fed."""
    program, world = case.program, Witness()
    full_run = run_graph(lower(program), case.arguments, keep="events", limits=LIMITS, world=world)
    if full_run.status == "Exhausted":
        return
    had = values(program, case.arguments, full_run)
    fed = [name for name in feeds if name in had]
    try:
        part, source_names = prune_program(program, fetches, fed)
    except Usage as error:
        if error.rule != "P5":
            yield f"refused: {error}"
        return
    if problems := program_problems(part) or graph_problems(lower(part)):
        yield f"the part breaks a rule: {problems[0]}"
        return
    part_world = Witness()
    run = run_graph(lower(part), [had[name] for name in source_names], keep="events", limits=LIMITS, world=part_world)
    operands = program.main.body.results if fetches is None else fetches
    expected = [bits(each.value if isinstance(each, Literal) else had.get(each)) for each in operands]
    if [bits(result) for result in run.results] != expected:
        yield f"fetched {run.results} of {operands}, with {fed} fed, and the whole has {expected}"
    more = firings(part, run, program.entry) - firings(program, full_run, program.entry)
    parameters = [f"{program.entry}.{parameter.name}" for parameter in part.main.body.parameters]
    fed_parameters = {parameter for parameter, name in zip(parameters, source_names, strict=True) if name in fed}
    if more := [firing for firing in more if firing[0] not in fed_parameters]:
        yield f"the part fires {more[0]}, and the whole does not"
    if Counter(part_world.lines) - Counter(world.lines) or Counter(map(repr, part_world.calls)) - Counter(
        map(repr, world.calls)
    ):
        yield "the part has effects that the whole has not"
    unneeded = {node.name for node in part.main.body.nodes} - needed_nodes(program, operands, fed)
    if unneeded:
        yield f"{sorted(unneeded)} are there, and {operands} do not depend on them"
    results = {result.name for node in part.main.body.nodes for result in node.results}
    used_names = {each for node in part.main.body.nodes for each in node.inputs} | {*part.main.body.results}  # type: ignore[arg-type]
    if idle := [parameter.name for parameter in part.main.body.parameters if parameter.name not in used_names]:
        yield f"the part takes {idle}, and does not use it"
    if old := used_names & results & {*fed}:
        yield f"{old} is fed, and what is computed is used"
    if not calls_itself(program) and prune_program(with_more(program), fetches, fed).program != part:
        yield "one more node that nobody needs makes another part"


def with_more(program: Program) -> Program:
    """The program with one more node in its main body, whose result is unused."""
    main, idle = program.main, Var("idle", Type(dtypes.int64))
    body = replace(main.body, nodes=(*main.body.nodes, Node("identity", (literal(1),), (idle,))))
    results = [replace(each, body=body) if each is main else each for each in program.functions]
    return replace(program, functions=tuple(results))


def calls_itself(program: Program) -> bool:
    """Whether a function calls the main function, which is then kept whole as well."""
    calls = [node for each in program.functions for node in each.body.walk() if node.op == "call"]
    return any(node.attribute("function") == program.entry for node in calls)


def bits(value: Any) -> Any:
    """The bits of a value; of a handle its size and tag, since the numbers of its nodes differ."""
    if isinstance(value, Handle):
        return value.size, format_tag(value.tag)
    return None if value is None else fingerprint(value)


def values(program: Program, arguments: Sequence[Any], run: Outcome) -> dict[str, Any]:
    """The values of the main body in a run, by its events."""
    results = dict(zip((parameter.name for parameter in program.main.body.parameters), arguments, strict=True))
    value_names, nodes = names(program), run.graph.nodes
    for event in run.events:
        node = nodes[event.token.node]
        if not event.is_firing or node.function != program.entry or node.name not in value_names:
            continue
        if result_tag(run.graph, event) == ROOT:
            results.update((node.name, value) for output, value in event.outputs if output == 0)
    return results


def firings(program: Program, run: Outcome, entry: str) -> Counter[Any]:
    """How often each node fired under each tag on the same operands; the main function is named `entry`. Returns of
    results, and tokens from the environment other than arguments, are left out."""
    graph = run.graph
    hidden = {edge.node for _, output in graph.arguments[: graph.hidden_count] for edge in output.edges}
    result: Counter[Any] = Counter()
    for event in run.events:
        node = graph.nodes[event.token.node]
        if (
            event.is_firing
            and event.token.node not in hidden
            and node.site != ENVIRONMENT
            and not is_literal(node.name)
        ):
            function = entry if node.function == program.entry else node.function
            operands = tuple(map(bits, event.inputs or ()))
            result[f"{function}.{node.name}", format_tag(event.token.tag), operands] += 1
    return result


def is_literal(name: str) -> bool:
    """Whether a node only sends a literal (L7)."""
    return name.startswith("literal")


def needed_nodes(program: Program, operands: Sequence[Any], fed: Sequence[str]) -> set[str]:
    """The nodes of the main body that some values may need, found by a search through names. If cells are among them,
    every node that takes a cell may be needed."""
    body, all_types = program.main.body, types(program)
    maker = {result.name: node for node in body.nodes for result in node.results}
    cells = {name for name, type_ in all_types.items() if isinstance(type_.dtype, HandleType)}
    touching = [node for node in body.nodes if cells & {*node.inputs, *(name for name, _ in node.results)}]  # type: ignore[arg-type]
    results: set[str] = set()
    ahead = [name for name in operands if isinstance(name, str) and name not in fed]
    while ahead:
        node = maker.get(ahead.pop())
        if node is None or node.name in results:
            continue
        results.add(node.name)
        ahead += [name for name in node.inputs if isinstance(name, str) and name not in fed]
        ahead += [node.attribute(PULLBACK_TARGET)] if node.op == "pullback" else []
        if node in touching:
            ahead += [each.name for each in touching]
    return results


def each_value_violations(case: Case) -> Iterator[str]:
    """What is wrong when each value is fetched, and when each is fed and the results are fetched."""
    value_names = names(case.program)
    for name in value_names:
        yield from violations(case, [name], [])
        yield from violations(case, None, [name])
        yield from violations(case, value_names, [name])
        for other in value_names:
            yield from violations(case, [name], [other])


def tagged_value_violations() -> Iterator[str]:
    """What is wrong with some values under tags; the right ones are known."""
    values_by_name: list[tuple[Any, dict[str, Any], Any]] = [
        ("main/loop[1]/add_1", {}, 1.0),
        ("main/loop[*]/s", {}, {f"main/loop[{k}]": k / 2 for k in range(4)}),
        ("main/tanh", {}, 0.5),
        ("main/subtract", {}, 0.5),
        (("main/loop[*]/i", "loop_s"), {}, ({f"main/loop[{k}]": k for k in range(4)}, 1.5)),
        ("loop_s", {"main/loop[1]/add_1": 10.0}, 10.5),
        ("main/loop[1]/add_1", {"main/loop[1]/add_1": 10.0}, 10.0),
        ("main/loop[2]/add_1", {"main/loop[*]/add_1": 10.0}, 10.0),
        ("loop_s", {"main/loop[3]/s": 9.0}, 9.0),
        ("cond", {"main/subtract": 9.0}, 9.0),
        ("loop", {"main/loop[1]/i": 3}, 3),
    ]
    for fetch, feed, expected in values_by_name:
        result = model.partial(fetch, {"tanh": 0.5, "greater": False, **feed})(1.0)
        if result != expected:
            yield f"{fetch} is {result} and not {expected}, where {feed} is fed"
    for fetch, expected in (("main/fib/fib_1", 2), ("main/fib/fib/add", 3)):
        if (result := fib.partial(fetch)(5)) != expected:
            yield f"{fetch} is {result} and not {expected}"
    outcome = endless.partial("main/loop[4]/i").run(0, limits=Limits(firings=1_000))
    if outcome.status != "Returned" or outcome.value != 4:
        yield f"what does not end gives {outcome.status} {outcome.results}"
