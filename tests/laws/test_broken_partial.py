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


def keeps_what_is_fed(patch: pytest.MonkeyPatch) -> None:
    """The node of a fed value still fires."""
    right = prune.MainBody.required_nodes
    patch.setattr(prune.MainBody, "required_nodes", lambda self, expected, fed, keep: right(self, expected, (), keep))


def leaves_the_old_value(patch: pytest.MonkeyPatch) -> None:
    """Consumers of a fed value get the computed one instead of the parameter."""
    patch.setattr(prune, "rename_inputs", lambda node, calls: node)


def fetches_the_first(patch: pytest.MonkeyPatch) -> None:
    """The first result of a node is fetched, whichever is requested."""

    def first(main: Any, name: str) -> str:
        return main.producers[name].name if name in main.producers else name

    right = prune.MainBody.check_value
    patch.setattr(prune.MainBody, "check_value", lambda self, name, done: first(self, right(self, name, done)))


def keeps_effects(patch: pytest.MonkeyPatch) -> None:
    """Effects happen although nothing needs them."""
    right = prune.MainBody.required_nodes

    def needed(self: Any, expected: Any, fed: Any, keep: Iterable[str]) -> set[str]:
        effects = [node.name for node in self.body.nodes if resource_of(node.op)]
        return right(self, expected, fed, [*keep, *effects])

    patch.setattr(prune.MainBody, "required_nodes", needed)


def forgets_puts(patch: pytest.MonkeyPatch) -> None:
    """A put to a cell is kept only if its own result is needed."""
    patch.setattr(prune.MainBody, "cell_writers", lambda self: {})


def leaves_phases_open(patch: pytest.MonkeyPatch) -> None:
    """A call keeps its phases although no node begins them."""
    patch.setattr(PhasePruner, "prune_node", lambda self, node, phases: node)


def cuts_too_short(patch: pytest.MonkeyPatch) -> None:
    """No node has a further phase."""
    right = PhasePruner.prune_node
    patch.setattr(PhasePruner, "prune_node", lambda self, node, phases: right(self, node, 1))


def calls_itself_in_part(patch: pytest.MonkeyPatch) -> None:
    """A main function that calls itself calls its pruned form."""

    def with_entry(program: Program, main: FunctionDef, fewer: PhasePruner) -> Program:
        others = [function for function in program.functions if function.name != program.entry]
        return replace(program, functions=(main, *others))

    patch.setattr(prune, "replace_entry", with_entry)


def renames(patch: pytest.MonkeyPatch) -> None:
    """A pruned function gets another name, on which random numbers depend."""
    right = prune.replace_entry

    def with_entry(program: Program, main: FunctionDef, fewer: PhasePruner) -> Program:
        result = right(program, main, fewer)
        names = {
            function.name: f"{function.name}_part" for function in result.functions if function.name != result.entry
        }
        return replace(result, functions=tuple(rename_functions(function, names) for function in result.functions))

    patch.setattr(prune, "replace_entry", with_entry)


def draws_by_another_name(patch: pytest.MonkeyPatch) -> None:
    """A function that draws is not refused when it has two forms."""
    patch.setattr(prune, "check_random_draws", lambda program, name, of: None)


def keeps_parameters(patch: pytest.MonkeyPatch) -> None:
    """All parameters are kept, used or not."""

    def kept(program: Program, *asked: Any) -> PruneResult:
        part, taken = prune_program(program, *asked)
        more = [var for var in program.main.body.parameters if var.name not in taken]
        body = replace(part.main.body, parameters=(*part.main.body.parameters, *more))
        functions = tuple(replace(f, body=body) if f.name == part.entry else f for f in part.functions)
        return PruneResult(replace(part, functions=functions), (*taken, *(var.name for var in more)))

    patch.setattr("support.laws.partial_laws.prune_program", kept)


def yields_the_first(patch: pytest.MonkeyPatch) -> None:
    """A region with fewer results keeps the first ones."""
    right = ResultPruner.prune_region
    patch.setattr(
        ResultPruner, "prune_region", lambda self, region, expected: right(self, region, range(len(expected)))
    )


def drops_puts(patch: pytest.MonkeyPatch) -> None:
    """In a loop, a put to a cell is kept only if its own result is needed."""
    patch.setattr(ResultPruner, "has_effects", lambda self, node, types: False)


def forgets_the_next_values(patch: pytest.MonkeyPatch) -> None:
    """A loop variable is kept only if its result is needed, even if the next values of others use it."""
    right = ResultPruner.prune_loop

    def loop(self: ResultPruner, node: Node, expected: list[int]) -> Node:
        patch.setattr(prune, "used_parameters", lambda region: [])
        return right(self, node, expected)

    patch.setattr(ResultPruner, "prune_loop", loop)


def forgets_other_calls(patch: pytest.MonkeyPatch) -> None:
    """A function keeps the results that its first call needs."""
    right = prune.calls_with_uses

    def first(region: Region) -> Iterator[tuple[Node, set[str]]]:
        results = list(right(region))
        yield from {node.attribute("function"): (node, used) for node, used in reversed(results)}.values()

    patch.setattr(prune, "calls_with_uses", first)


def drops_arguments(patch: pytest.MonkeyPatch) -> None:
    """A function with fewer results keeps its first parameter only."""
    right = prune.used_parameters
    prune_node = ResultPruner.prune_node

    def node(self: ResultPruner, node: Node, used: Collection[str]) -> Node:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(prune, "used_parameters", right)
            return prune_node(self, node, used)

    patch.setattr(prune, "used_parameters", lambda region: right(region)[:1])
    patch.setattr(ResultPruner, "prune_node", node)


def keeps_what_nobody_calls(patch: pytest.MonkeyPatch) -> None:
    """A function that is no longer called is kept, and calls a function that has changed."""
    right = prune.prune_call

    def narrowed(program: Program, place: prune.CallSite) -> Program:
        left = right(program, place)
        uncalled = (each for each in program.functions if each.name not in {other.name for other in left.functions})
        return replace(left, functions=(*left.functions, *uncalled))

    patch.setattr(prune, "prune_call", narrowed)


def looks_at_the_main_body_only(patch: pytest.MonkeyPatch) -> None:
    """Functions are not pruned if the main body needs no pruning."""

    def looked(program: Program, *asked: Any) -> PruneResult:
        whole = prune.prune_main_body(program, *asked)
        return whole if whole.program is program else prune_program(program, *asked)

    patch.setattr("support.laws.partial_laws.prune_program", looked)


BROKEN: tuple[Broken, ...] = (
    keeps_what_is_fed,
    leaves_the_old_value,
    fetches_the_first,
    keeps_effects,
    forgets_puts,
    leaves_phases_open,
    cuts_too_short,
    calls_itself_in_part,
    renames,
    draws_by_another_name,
    yields_the_first,
    drops_puts,
    forgets_the_next_values,
    forgets_other_calls,
    drops_arguments,
    keeps_what_nobody_calls,
    keeps_parameters,
    looks_at_the_main_body_only,
)


def feeds_nothing(patch: pytest.MonkeyPatch) -> None:
    """A value fed under a tag can be fetched, but tokens keep their values."""
    patch.setattr(tagged, "apply_feed", lambda history, event, value: history)


def feeds_everywhere(patch: pytest.MonkeyPatch) -> None:
    """A value fed under one tag is fed under all."""
    right = tagged.parse_location
    everywhere = lambda graph, text: right(graph, text)._replace(matches=lambda tag: True)  # noqa: E731
    patch.setattr("tagloom.interp.function.fetch_feed.parse_location", everywhere)


def fetches_the_machine_s_value(patch: pytest.MonkeyPatch) -> None:
    """A value that is fed and fetched has its computed value."""
    right = tagged._FetchObserver._record_result

    def take(self: tagged._FetchObserver, event: Event, tag: Tag, value: Value) -> None:
        right(self, event, tag, value)
        for place, seen in self.results:
            if event.token.node in place.nodes and place.matches(tag):
                seen[event.token.tag, event.token.node] = tag, value

    patch.setattr(tagged._FetchObserver, "_record_result", take)


def takes_the_tag_of_the_firing(patch: pytest.MonkeyPatch) -> None:
    """Results of a call or loop have a tag inside of it."""
    patch.setattr(tagged, "result_tag", lambda graph, event: event.token.tag)


def feeds_the_first_consumer(patch: pytest.MonkeyPatch) -> None:
    """Only one of the tokens that carry a value is changed."""
    right = tagged.apply_feed
    only = lambda history, event, value: right(history, event._replace(sent=event.sent[:1]), value)  # noqa: E731
    patch.setattr(tagged, "apply_feed", only)


def looks_on(patch: pytest.MonkeyPatch) -> None:
    """A run continues after it has all that is fetched."""
    patch.setattr(tagged._FetchObserver, "is_complete", lambda self, state: False)


@pytest.mark.full
@pytest.mark.parametrize(
    "broken",
    [
        feeds_nothing,
        feeds_everywhere,
        fetches_the_machine_s_value,
        takes_the_tag_of_the_firing,
        feeds_the_first_consumer,
        looks_on,
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


@pytest.mark.full
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_pruning_is_caught(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every twin is wrong on some small program."""
    broken(monkeypatch)
    assert any(next(each_value_violations(case), None) for case in ALL.values())
