"""Broken pruning: each twin has one known error, and the laws of partial programs catch it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import tagloom as tl
from support.laws.partial_laws import each_value_violations, tagged_value_violations
from support.programs.partial_programs import ALL
from tagloom.core.ops.effects import resource_of
from tagloom.core.program.program import FunctionDef, Node, Program, Region
from tagloom.core.tag import Tag
from tagloom.core.transform import prune
from tagloom.core.transform.prune import PhasePruner, PruneResult, ResultPruner, prune_program, rename_functions
from tagloom.core.value import Value
from tagloom.interp.function import fetch_feed as tagged
from tagloom.interp.machine.event import Event

Broken = Callable[[pytest.MonkeyPatch], None]


def keep_producers_of_feeds(patch: pytest.MonkeyPatch) -> None:
    """The node of a fed value still fires."""
    right = prune.MainBody.required_nodes
    patch.setattr(prune.MainBody, "required_nodes", lambda self, expected, fed, keep: right(self, expected, (), keep))


def consume_computed_values(patch: pytest.MonkeyPatch) -> None:
    """Consumers of a fed value get the computed one instead of the parameter."""
    patch.setattr(prune, "rename_inputs", lambda node, calls: node)


def fetch_first_results(patch: pytest.MonkeyPatch) -> None:
    """The first result of a node is fetched, whichever is requested."""

    def first_result(main: Any, name: str) -> str:
        return main.producers[name].name if name in main.producers else name

    right = prune.MainBody.check_value
    patch.setattr(prune.MainBody, "check_value", lambda self, name, done: first_result(self, right(self, name, done)))


def keep_unneeded_effects(patch: pytest.MonkeyPatch) -> None:
    """Effects happen although nothing needs them."""
    right = prune.MainBody.required_nodes

    def required_nodes(self: Any, expected: Any, feeds: Any, keep: Iterable[str]) -> set[str]:
        effects = [node.name for node in self.body.nodes if resource_of(node.op)]
        return right(self, expected, feeds, [*keep, *effects])

    patch.setattr(prune.MainBody, "required_nodes", required_nodes)


def drop_puts_without_uses(patch: pytest.MonkeyPatch) -> None:
    """A put to a cell is kept only if its own result is needed."""
    patch.setattr(prune.MainBody, "cell_writers", lambda self: {})


def keep_unbegun_phases(patch: pytest.MonkeyPatch) -> None:
    """A call keeps its phases although no node begins them."""
    patch.setattr(PhasePruner, "prune_node", lambda self, node, phases: node)


def drop_later_phases(patch: pytest.MonkeyPatch) -> None:
    """No node has a further phase."""
    right = PhasePruner.prune_node
    patch.setattr(PhasePruner, "prune_node", lambda self, node, phases: right(self, node, 1))


def recurse_into_pruned_form(patch: pytest.MonkeyPatch) -> None:
    """A main function that calls itself calls its pruned form."""

    def with_entry(program: Program, main: FunctionDef, fewer: PhasePruner) -> Program:
        others = [function for function in program.functions if function.name != program.entry]
        return replace(program, functions=(main, *others))

    patch.setattr(prune, "replace_entry", with_entry)


def rename_pruned_functions(patch: pytest.MonkeyPatch) -> None:
    """A pruned function gets another name, on which random numbers depend."""
    right = prune.replace_entry

    def with_entry(program: Program, main: FunctionDef, fewer: PhasePruner) -> Program:
        result = right(program, main, fewer)
        names = {
            function.name: f"{function.name}_part" for function in result.functions if function.name != result.entry
        }
        return replace(result, functions=tuple(rename_functions(function, names) for function in result.functions))

    patch.setattr(prune, "replace_entry", with_entry)


def admit_two_drawing_forms(patch: pytest.MonkeyPatch) -> None:
    """A function that draws is not refused when it has two forms."""
    patch.setattr(prune, "check_random_draws", lambda program, name, of: None)


def keep_all_parameters(patch: pytest.MonkeyPatch) -> None:
    """All parameters are kept, used or not."""

    def prune(program: Program, *arguments: Any) -> PruneResult:
        part, names = prune_program(program, *arguments)
        others = [var for var in program.main.body.parameters if var.name not in names]
        body = replace(part.main.body, parameters=(*part.main.body.parameters, *others))
        functions = tuple(replace(f, body=body) if f.name == part.entry else f for f in part.functions)
        return PruneResult(replace(part, functions=functions), (*names, *(var.name for var in others)))

    patch.setattr("support.laws.partial_laws.prune_program", prune)


def yield_first_results(patch: pytest.MonkeyPatch) -> None:
    """A region with fewer results keeps the first ones."""
    right = ResultPruner.prune_region
    patch.setattr(
        ResultPruner, "prune_region", lambda self, region, expected: right(self, region, range(len(expected)))
    )


def drop_puts_in_loops(patch: pytest.MonkeyPatch) -> None:
    """In a loop, a put to a cell is kept only if its own result is needed."""
    patch.setattr(ResultPruner, "has_effects", lambda self, node, types: False)


def drop_variables_of_next_values(patch: pytest.MonkeyPatch) -> None:
    """A loop variable is kept only if its result is needed, even if the next values of others use it."""
    right = ResultPruner.prune_loop

    def loop(self: ResultPruner, node: Node, expected: list[int]) -> Node:
        patch.setattr(prune, "used_parameters", lambda region: [])
        return right(self, node, expected)

    patch.setattr(ResultPruner, "prune_loop", loop)


def keep_results_of_first_call(patch: pytest.MonkeyPatch) -> None:
    """A function keeps the results that its first call needs."""
    right = prune.calls_with_uses

    def first(region: Region) -> Iterator[tuple[Node, set[str]]]:
        results = list(right(region))
        yield from {node.attribute("function"): (node, used) for node, used in reversed(results)}.values()

    patch.setattr(prune, "calls_with_uses", first)


def keep_first_parameter_only(patch: pytest.MonkeyPatch) -> None:
    """A function with fewer results keeps its first parameter only."""
    right = prune.used_parameters
    prune_node = ResultPruner.prune_node

    def node(self: ResultPruner, node: Node, used: Collection[str]) -> Node:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(prune, "used_parameters", right)
            return prune_node(self, node, used)

    patch.setattr(prune, "used_parameters", lambda region: right(region)[:1])
    patch.setattr(ResultPruner, "prune_node", node)


def keep_uncalled_functions(patch: pytest.MonkeyPatch) -> None:
    """A function that is not called any more is kept, and calls a function that has changed."""
    right = prune.prune_call

    def prune_call(program: Program, place: prune.CallSite) -> Program:
        pruned = right(program, place)
        uncalled = (f for f in program.functions if f.name not in {kept.name for kept in pruned.functions})
        return replace(pruned, functions=(*pruned.functions, *uncalled))

    patch.setattr(prune, "prune_call", prune_call)


def prune_main_body_only(patch: pytest.MonkeyPatch) -> None:
    """Functions are not pruned if the main body needs no pruning."""

    def prune_if_changed(program: Program, *arguments: Any) -> PruneResult:
        result = prune.prune_main_body(program, *arguments)
        return result if result.program is program else prune_program(program, *arguments)

    patch.setattr("support.laws.partial_laws.prune_program", prune_if_changed)


BROKEN: tuple[Broken, ...] = (
    keep_producers_of_feeds,
    consume_computed_values,
    fetch_first_results,
    keep_unneeded_effects,
    drop_puts_without_uses,
    keep_unbegun_phases,
    drop_later_phases,
    recurse_into_pruned_form,
    rename_pruned_functions,
    admit_two_drawing_forms,
    yield_first_results,
    drop_puts_in_loops,
    drop_variables_of_next_values,
    keep_results_of_first_call,
    keep_first_parameter_only,
    keep_uncalled_functions,
    keep_all_parameters,
    prune_main_body_only,
)


def feed_no_tokens(patch: pytest.MonkeyPatch) -> None:
    """A value fed under a tag can be fetched, but tokens keep their values."""
    patch.setattr(tagged, "apply_feed", lambda history, event, value: history)


def feed_under_all_tags(patch: pytest.MonkeyPatch) -> None:
    """A value fed under one tag is fed under all."""
    right = tagged.parse_location
    everywhere = lambda graph, text: right(graph, text)._replace(matches=lambda tag: True)  # noqa: E731
    patch.setattr("tagloom.interp.function.fetch_feed.parse_location", everywhere)


def fetch_computed_values(patch: pytest.MonkeyPatch) -> None:
    """A value that is fed and fetched has its computed value."""
    right = tagged._FetchObserver._record_result

    def record_result(self: tagged._FetchObserver, event: Event, tag: Tag, value: Value) -> None:
        right(self, event, tag, value)
        for place, values in self.results:
            if event.token.node in place.nodes and place.matches(tag):
                values[event.token.tag, event.token.node] = tag, value

    patch.setattr(tagged._FetchObserver, "_record_result", record_result)


def fetch_under_inner_tags(patch: pytest.MonkeyPatch) -> None:
    """Results of a call or loop have a tag inside of it."""
    patch.setattr(tagged, "result_tag", lambda graph, event: event.token.tag)


def feed_first_consumer_only(patch: pytest.MonkeyPatch) -> None:
    """Only one of the tokens that carry a value is changed."""
    right = tagged.apply_feed
    only = lambda history, event, value: right(history, event._replace(sent=event.sent[:1]), value)  # noqa: E731
    patch.setattr(tagged, "apply_feed", only)


def run_beyond_fetches(patch: pytest.MonkeyPatch) -> None:
    """A run continues after it has all that is fetched."""
    patch.setattr(tagged._FetchObserver, "is_complete", lambda self, state: False)


@pytest.mark.full
@pytest.mark.parametrize(
    "broken",
    [
        feed_no_tokens,
        feed_under_all_tags,
        fetch_computed_values,
        fetch_under_inner_tags,
        feed_first_consumer_only,
        run_beyond_fetches,
    ],
    ids=lambda broken: broken.__name__,
)
def test_broken_fetching_under_tags_is_caught(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every twin, some value under a tag is wrong or missing."""
    broken(monkeypatch)
    try:
        wrong = next(tagged_value_violations(), None)
    except (tl.Deadlock, tl.Exhausted) as error:
        wrong = str(error)
    assert wrong is not None


@pytest.mark.full(first=6)
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_pruning_is_caught(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every twin is wrong on some small program."""
    broken(monkeypatch)
    assert any(next(each_value_violations(case), None) for case in ALL.values())
