"""Broken twins of speculation: each has one mechanism that is wrong, and a scenario that shows it."""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MemberDescriptorType
from typing import Any, NamedTuple

import numpy as np
from pytest import MonkeyPatch
from tagloom.interp.speculation import (
    arithmetic,
    calls,
    containers,
    handlers,
    heap,
    library,
    numpy_arrays,
    object_operations,
    patterns,
    program_functions,
    speculative_function,
    staging,
)
from tagloom.interp.speculation.generation import Generation
from tagloom.interp.speculation.heap import LIMIT, AllocationKey, ObjectTable
from tagloom.interp.speculation.layouts import ConstantLayout, DequePool, NumberLayout, UnionLayout, zero_leaves
from tagloom.interp.speculation.object_operations import ObjectOperations
from tagloom.interp.speculation.operators import PythonOperators
from tagloom.interp.speculation.speculative_function import Definitions, SpeculativeGraph
from tagloom.interp.speculation.staging import CaughtCheck, Guard, NewObject, StagedValue, Staging, Unreachable


class Twin(NamedTuple):
    """What is wrong, and the name of a scenario that shows it."""

    patch: Callable[[MonkeyPatch], None]
    scenario: str


def _unchecked_assumptions(patch: MonkeyPatch) -> None:
    def check(generation: Generation, condition: Any, *arguments: Any, **options: Any) -> None:
        if condition is False:
            raise Unreachable

    patch.setattr(Generation, "check", check)


def _variables_end_at_returns(patch: MonkeyPatch) -> None:
    patch.setattr(program_functions, "LATE_READERS", ())


def _sizes_of_two(patch: MonkeyPatch) -> None:
    patch.setattr(numpy_arrays, "_size", lambda staging, elements, axis: staging.constant(2))


def _powers_unchecked(patch: MonkeyPatch) -> None:
    def power(staging: Staging, base: Any, power: Any, *_: Any) -> StagedValue:
        return staging.number("f", staging.emit("pow", base, power))

    patch.setattr(arithmetic, "_power_of_floats", power)


def _unchecked_overflow(patch: MonkeyPatch) -> None:
    patch.setattr(arithmetic, "MAX_INTEGER", 2.0**200)


def _lost_aliases(patch: MonkeyPatch) -> None:
    def index(table: ObjectTable, instance: Any, owner: type) -> int:
        table.objects.append(instance)
        table.classes.append(owner)
        return len(table.objects) - 1

    patch.setattr(ObjectTable, "index", index)
    _shared_attributes(patch)  # else that check sends the call to Python


def _stale_fields(patch: MonkeyPatch) -> None:
    sound = Generation.write_heap

    def write_heap(generation: Generation, key: Any, *arguments: Any, **options: Any) -> None:
        before = generation.state.heap.get(key)
        sound(generation, key, *arguments, **options)
        if before is not None:  # it is None where inference has just met the key, and generation starts again
            generation.state.heap[key] = before

    patch.setattr(Generation, "write_heap", write_heap)


def _shared_attributes(patch: MonkeyPatch) -> None:
    patch.setattr(ObjectTable, "_check_namespaces", lambda *arguments: None)


def _no_commit(patch: MonkeyPatch) -> None:
    patch.setattr(ObjectTable, "changes", lambda *arguments: iter(()))


def _commit_of_one_object(patch: MonkeyPatch) -> None:
    sound = ObjectTable.changes

    def changes(*arguments: Any) -> Iterator[Any]:
        return iter(list(sound(*arguments))[:1])

    patch.setattr(ObjectTable, "changes", changes)


def _commit_before_assertions(patch: MonkeyPatch) -> None:
    """Numbers of the first argument are written before the run."""
    sound = SpeculativeGraph.encode

    def encode(graph: SpeculativeGraph, roots: dict[str, Any]) -> Any:
        encoded = sound(graph, roots)
        for key in graph.fields:
            if key in graph.generation.requirements.assigned_keys and type(roots["counter"].n) is int:
                roots["counter"].n += 1
        return encoded

    patch.setattr(SpeculativeGraph, "encode", encode)


def _unchecked_numbers(patch: MonkeyPatch) -> None:
    sound = ObjectTable.encode

    def encode(table: ObjectTable, value: Any, layout: Any, place: object) -> Iterator[Any]:
        if layout == NumberLayout("i") and isinstance(value, float):
            return iter([int(value)])
        return sound(table, value, layout, place)

    patch.setattr(ObjectTable, "encode", encode)


def _unchecked_definitions(patch: MonkeyPatch) -> None:
    patch.setattr(SpeculativeGraph, "check_definitions", lambda graph: None)


def _definitions_compared_once(patch: MonkeyPatch) -> None:
    patch.setattr(Definitions, "is_unchanged", lambda definitions: True)


def _branches_exchanged(patch: MonkeyPatch) -> None:
    sound = Generation.branch

    def branch(generation: Generation, predicate: Any, then: Any, otherwise: Any) -> StagedValue:
        if isinstance(predicate, bool):
            return sound(generation, predicate, then, otherwise)
        return sound(generation, predicate, otherwise, then)

    patch.setattr(Generation, "branch", branch)


def _options_by_position(patch: MonkeyPatch) -> None:
    def coerce_options(staging: Staging, value: StagedValue, layout: Any) -> StagedValue:
        assert isinstance(value.layout, UnionLayout)
        leaves = [leaf for option in layout.options for leaf in zero_leaves(option)]
        own = list(value.leaves[1:])
        return StagedValue(layout, (value.leaves[0], *(own + leaves[len(own) :])[: len(leaves)]))

    patch.setattr(Staging, "coerce_options", coerce_options)


def _operators_of_symbols(patch: MonkeyPatch) -> None:
    """Scalar arrays are promoted as Python numbers are."""

    def on_arrays(staging: Staging, name: str, *values: StagedValue) -> StagedValue:
        operands = [staging.array_operand(value) for value in values]
        return staging.wrap_array(staging.located(lambda: arithmetic._PYTHON[name](*operands)))

    patch.setattr(arithmetic, "_on_arrays", on_arrays)


def _unchecked_integers(patch: MonkeyPatch) -> None:
    patch.setattr(Staging, "integer", lambda staging, leaf, node: staging.number("i", leaf))


def _unchecked_pools(patch: MonkeyPatch) -> None:
    """A list in two pools is in the table twice."""

    def index(table: ObjectTable, instance: Any, owner: type) -> int:
        index = table.indices.setdefault((id(instance), owner), len(table.objects))  # type: ignore[call-overload]
        if index == len(table.objects):
            table.objects.append(instance)
            table.classes.append(owner)
        return int(index)

    patch.setattr(ObjectTable, "index", index)


def _lost_items(patch: MonkeyPatch) -> None:
    patch.setitem(speculative_function.CONTAINER_WRITERS, list, lambda instance, items, length, tail: None)


def _unchecked_room(patch: MonkeyPatch) -> None:
    """Lists grow into the items of the next list."""
    sound = containers._number

    def number(staging: Staging, pool: type, name: str, owner: StagedValue) -> Any:
        return 2**40 if name == LIMIT else sound(staging, pool, name, owner)

    patch.setattr(containers, "_number", number)


TWINS = {
    "unchecked pools": Twin(_unchecked_pools, "list_aliases"),
    "lost items": Twin(_lost_items, "sort"),
    "unchecked room": Twin(_unchecked_room, "grow_rows"),
    "operators of symbols": Twin(_operators_of_symbols, "scaled"),
    "unchecked integers": Twin(_unchecked_integers, "inverted"),
    "options by position": Twin(_options_by_position, "unions"),
    "unchecked assumptions": Twin(_unchecked_assumptions, "late_write"),
    "unchecked overflow": Twin(_unchecked_overflow, "power"),
    "shared attributes": Twin(_shared_attributes, "write_both"),
    "lost aliases": Twin(_lost_aliases, "aliases"),
    "stale fields": Twin(_stale_fields, "count_and_bump"),
    "no commit": Twin(_no_commit, "swap_friends"),
    "commit of one object": Twin(_commit_of_one_object, "swap_friends"),
    "commit before assertions": Twin(_commit_before_assertions, "late_write"),
    "unchecked numbers": Twin(_unchecked_numbers, "double"),
    "unchecked definitions": Twin(_unchecked_definitions, "redefined"),
    "definitions compared once": Twin(_definitions_compared_once, "redefined"),
    "branches exchanged": Twin(_branches_exchanged, "depth"),
}


def _one_new_object(patch: MonkeyPatch) -> None:
    """All new objects of a class are one."""
    sound = Staging.allocate

    def allocate(staging: Staging, owner: type, node: Any) -> StagedValue:
        before = staging.leaves_of(AllocationKey(owner)) if AllocationKey(owner) in staging.keys else None
        value = sound(staging, owner, node)
        if before is not None:
            staging.state.heap[AllocationKey(owner)] = before[0] * 0 + value.leaves[0] * 0 + before[0], before[1]
        return value

    patch.setattr(Staging, "allocate", allocate)


def _no_new_objects(patch: MonkeyPatch) -> None:
    """New objects have no attributes."""
    patch.setattr(ObjectTable, "new_attributes", lambda *arguments: iter(()))


def _unordered_attributes(patch: MonkeyPatch) -> None:
    """New objects have their attributes in the order of their names, backwards."""
    sound = ObjectTable.new_attributes

    def new_attributes(*arguments: Any) -> Iterator[Any]:
        return iter(sorted(sound(*arguments), key=lambda each: each[1], reverse=True))

    patch.setattr(ObjectTable, "new_attributes", new_attributes)


def _unassigned_attributes(patch: MonkeyPatch) -> None:
    """An attribute that `__init__` has not assigned is 0."""
    patch.setattr(Staging, "publish", lambda staging, new: None)
    patch.setattr(NewObject, "has", lambda new, name: True)


def _constant_class_attributes(patch: MonkeyPatch) -> None:
    """Attributes of classes have the value that they had when the graph was made."""
    sound = Generation._read_class_attribute

    def read(generation: Generation, owner: type, name: str) -> StagedValue:
        value = sound(generation, owner, name)
        return value if isinstance(value.layout, ConstantLayout) else generation.constant(getattr(owner, name))

    patch.setattr(Generation, "_read_class_attribute", read)


def _no_cleanup(patch: MonkeyPatch) -> None:
    """`finally` and `__exit__` do nothing."""
    patch.setattr(Generation, "_run_cleanup", lambda generation, action: None)


def _cleanup_hides_exits(patch: MonkeyPatch) -> None:
    """What follows a block runs after its exits, which are lost."""

    def run_cleanup(generation: Generation, action: Callable[[], object]) -> None:
        generation.state.exit = generation.constant(0)
        action()

    patch.setattr(Generation, "_run_cleanup", run_cleanup)


def _lost_lines(patch: MonkeyPatch) -> None:
    """`print` prints nothing."""
    patch.setattr(Generation, "_call_print", lambda generation, *arguments: generation.constant(None))


def _one_text(patch: MonkeyPatch) -> None:
    """All strings of a graph that are compared are one."""
    patch.setattr(Staging, "number_of_text", lambda staging, text: 0)


def _last_option(patch: MonkeyPatch) -> None:
    """Of several values beside a tag, the last is taken."""
    patch.setattr(Staging, "select", lambda staging, tag, options: tuple(options[-1][1]))


def _dropped_options_unchecked(patch: MonkeyPatch) -> None:
    """A value is taken to be one of the layouts that have a graph, without an assertion."""
    sound = Staging.check

    def check(staging: Staging, condition: Any, node: Any, claim: str, reason: str, **options: Any) -> None:
        if "the graph has no such value" in reason:
            raise Unreachable
        sound(staging, condition, node, claim, reason, **options)

    patch.setattr(Staging, "check", check)


def _attributes_always_there(patch: MonkeyPatch) -> None:
    """`hasattr` is true, and `getattr` never takes its default."""

    def find(generation: Generation, owner: StagedValue, name: str, node: Any, present: Any, absent: Any) -> Any:
        return present(generation.read_attribute(owner, name, node))

    patch.setattr(Generation, "find_attribute", find)


def _finalizers_ignored(patch: MonkeyPatch) -> None:
    patch.setattr(heap, "_PLAIN_SPECIALS", heap._PLAIN_SPECIALS[:-1])
    for module in (heap, staging):
        patch.setattr(module, "SPECIAL_ATTRIBUTES", heap.SPECIAL_ATTRIBUTES[: len(heap._PLAIN_SPECIALS)])


def _state_before_raise_lost(patch: MonkeyPatch) -> None:
    """The handler does not see the effects of a statement before it raises."""
    sound_begin, sound_check = Guard.begin, Staging.check
    starts = []

    def begin(staging: Staging, passed: Any, made: Any) -> Guard:
        starts.append(staging.state.copy())
        return sound_begin(staging, passed, made)

    def check(staging: Staging, *arguments: Any, **options: Any) -> None:
        try:
            sound_check(staging, *arguments, **options)
        except CaughtCheck:
            staging.state = starts[-1].copy()
            raise

    patch.setattr(Guard, "begin", staticmethod(begin))
    patch.setattr(Staging, "check", check)


def _last_handler_first(patch: MonkeyPatch) -> None:
    sound = handlers._catchers
    patch.setattr(handlers, "_catchers", lambda *arguments: sound(*arguments)[::-1])


def _exceptions_end_at_loops(patch: MonkeyPatch) -> None:
    patch.setattr(Generation, "_may_raise", lambda *arguments: False)


def _loops_go_on_after_a_raise(patch: MonkeyPatch) -> None:
    """The next item of a tuple is assigned even if an item before it has raised."""

    def run_unrolled(generation: Generation, statement: Any, items: Any) -> None:
        for item in items:
            generation.assign(statement.target, item)
            generation.run_block(statement.body)

    patch.setattr(Generation, "_run_unrolled", run_unrolled)


def _attributes_of_each_node(patch: MonkeyPatch) -> None:
    """An attribute that is None raises AttributeError wherever it is used."""
    sound = Staging.for_each_class

    def for_each_class(staging: Staging, owner: Any, node: Any, action: Any, raises: Any = None) -> StagedValue:
        return sound(staging, owner, node, action, AttributeError if isinstance(node, ast.Attribute) else raises)

    patch.setattr(Staging, "for_each_class", for_each_class)


def _checks_pass_for_all_values(patch: MonkeyPatch) -> None:
    """A check that has passed for one value passes for each other value in its statement."""
    sound = Guard.begin

    class Unforgettable(list[Any]):
        def remove(self, key: Any) -> None:
            pass

    def begin(staging: Staging, passed: Any, made: Any) -> Guard:
        return replace(sound(staging, passed, made), passed_checks=Unforgettable(passed))

    patch.setattr(Guard, "begin", staticmethod(begin))


def _whole_lists_as_parts(patch: MonkeyPatch) -> None:
    def tail(items, start):  # type: ignore[no-untyped-def]
        return [items[position] for position in range(len(items))]

    patch.setattr(library, "tail", tail)


def _first_items_under_an_index(patch: MonkeyPatch) -> None:
    patch.setattr(ObjectOperations, "_choose_item", lambda operations, items, index, node: items[0])


def _quotients_that_are_not_rounded(patch: MonkeyPatch) -> None:
    patch.setitem(arithmetic._OPS, "FloorDiv", "divide")


def _arguments_of_other_types(patch: MonkeyPatch) -> None:
    sound = ObjectTable.allocation
    patch.setattr(ObjectTable, "allocation", lambda table, key: [np.int64(number) for number in sound(table, key)])


def _slots_by_any_name(patch: MonkeyPatch) -> None:
    def slots_of(owner: type) -> dict[str, Any]:
        members = [item for base in reversed(owner.__mro__[:-1]) for item in base.__dict__.items()]
        return {name: member for name, member in members if type(member) is MemberDescriptorType}

    patch.setattr(heap, "slots_of", slots_of)
    patch.setattr(object_operations, "slots_of", slots_of)


def _shared_dicts_beside_slots(patch: MonkeyPatch) -> None:
    patch.setattr(ObjectTable, "_namespaces", lambda table, owner, plan: plan.dicts)


def _first_key_for_all(patch: MonkeyPatch) -> None:
    def find_key(pairs, key):  # type: ignore[no-untyped-def]
        return 0

    patch.setattr(library, "find_key", find_key)


def _keys_that_keep_their_order(patch: MonkeyPatch) -> None:
    def write(instance: dict[Any, Any], items: Any, length: int, tail: Any) -> None:
        for key, value in (*(pair for _, pair in items), *tail):
            instance[key] = value

    patch.setitem(speculative_function.CONTAINER_WRITERS, dict, write)


def _items_of_sets_lost(patch: MonkeyPatch) -> None:
    patch.setattr(speculative_function, "write_set", lambda instance, is_cleared, items: None)


def _sets_in_the_order_of_their_items(patch: MonkeyPatch) -> None:
    patch.setattr(ObjectTable, "note_unordered_sets", lambda table, owner, changes: None)


def _cleared_sets_that_keep_their_table(patch: MonkeyPatch) -> None:
    sound = heap.write_set
    patch.setattr(speculative_function, "write_set", lambda instance, is_cleared, items: sound(instance, False, items))


def _sets_as_python_adds_each(patch: MonkeyPatch) -> None:
    patch.setattr(containers, "forget_order", lambda staging, owner, node: None)


def _pairs_as_they_came(patch: MonkeyPatch) -> None:
    sound = heap.items_of
    patch.setattr(heap, "items_of", lambda value: list(dict.items(value)) if isinstance(value, dict) else sound(value))


def _lists_that_are_sorted_in_full(patch: MonkeyPatch) -> None:
    """A list keeps its items while `sort` computes their keys."""
    patch.setattr(containers, "write_length", lambda *arguments: None)


def _keys_bound_for_each_item(patch: MonkeyPatch) -> None:
    def bind_key(generation: Generation, key: Any, node: Any) -> Any:
        item = ast.copy_location(ast.Name(f" item {node.lineno}:{node.col_offset}", ast.Load()), node)
        return None if isinstance(key, ast.Constant) else ast.copy_location(ast.Call(key, [item], []), node)

    patch.setattr(Generation, "_bind_key", bind_key)


def _deques_without_bound(patch: MonkeyPatch) -> None:
    patch.setitem(containers.METHODS[DequePool], ("append", 1), containers._append)


def _defaults_not_kept(patch: MonkeyPatch) -> None:
    patch.setattr(containers, "_make_default", lambda staging, *arguments: staging.constant(0))


def _loops_over_changed_dicts(patch: MonkeyPatch) -> None:
    sound = Staging.check

    def check(staging: Staging, condition: Any, node: Any, claim: str, *arguments: Any, **options: Any) -> None:
        if claim != "the loop does not add or remove items":
            sound(staging, condition, node, claim, *arguments, **options)

    patch.setattr(Staging, "check", check)


def _exceptions_of_calls_lost(patch: MonkeyPatch) -> None:
    sound = Generation._emit_call
    patch.setattr(Generation, "_emit_call", lambda *arguments: sound(*arguments)._replace(code=None))


def _products_that_are_rounded(patch: MonkeyPatch) -> None:
    patch.setattr(arithmetic, "_SPLITTER", 1.0)


def _last_of_the_largest(patch: MonkeyPatch) -> None:
    def largest_by(items, keys):  # type: ignore[no-untyped-def]
        best = 0
        for position in range(1, len(items)):
            if keys[position] >= keys[best]:
                best = position
        return items[best]

    patch.setattr(library, "largest_by", largest_by)


def _changes_of_arrays_lost(patch: MonkeyPatch) -> None:
    patch.setattr(ObjectTable, "array_changes", lambda table, owner, before, after: iter(()))


def _shared_elements_unnoticed(patch: MonkeyPatch) -> None:
    follow = ObjectTable._follow_array

    def follow_array(table: ObjectTable, instance: Any, owner: Any) -> None:
        table._array_owners.clear()
        follow(table, instance, owner)

    patch.setattr(ObjectTable, "_follow_array", follow_array)


def _views_get_names(patch: MonkeyPatch) -> None:
    patch.setattr(numpy_arrays, "is_basic_key", lambda key: False)


def _augmented_arrays_are_new(patch: MonkeyPatch) -> None:
    patch.setattr(numpy_arrays, "is_reference", lambda layout: False)


def _named_tuples_as_tuples(patch: MonkeyPatch) -> None:
    decode = ObjectTable.decode

    def decode_plain(table: ObjectTable, layout: Any, leaves: Iterator[Any]) -> Any:
        value = decode(table, layout, leaves)
        return tuple(value) if isinstance(value, tuple) else value

    patch.setattr(ObjectTable, "decode", decode_plain)


def _views_keep_their_elements(patch: MonkeyPatch) -> None:
    patch.setattr(numpy_arrays, "_read_view", lambda staging, value: value)


def _arrays_without_axes_as_scalars(patch: MonkeyPatch) -> None:
    wrap = numpy_arrays._wrap
    patch.setattr(numpy_arrays, "_wrap", lambda result, is_scalar: wrap(result, is_scalar=True))


def _changed_arrays_unknown(patch: MonkeyPatch) -> None:
    follow = ObjectTable._follow_array

    def follow_array(table: ObjectTable, instance: Any, owner: Any) -> None:
        table._changed_arrays = frozenset()
        follow(table, instance, owner)

    patch.setattr(ObjectTable, "_follow_array", follow_array)


def _keys_backwards(patch: MonkeyPatch) -> None:
    read_keys = containers.dict_keys

    def read_backwards(staging: Staging, pool: type, owner: StagedValue) -> StagedValue:
        keys = read_keys(staging, pool, owner)
        return staging.dispatch(keys, lambda option: staging.tuple_of(staging.items(option)[::-1]))

    patch.setattr(containers, "dict_keys", read_backwards)


def _keys_added_unnoticed(patch: MonkeyPatch) -> None:
    patch.setattr(containers, "options_of", lambda layout: ())


def _backwards_past_the_end(patch: MonkeyPatch) -> None:
    iterate = containers.iterate_list

    def iterate_all(*arguments: Any) -> containers.Iteration:
        return replace(iterate(*arguments), has_item=lambda position: True)

    patch.setattr(containers, "iterate_list", iterate_all)


def _first_items_compared(patch: MonkeyPatch) -> None:
    compare = PythonOperators._compare_tuples

    def compare_first(operators: PythonOperators, name: str, left: Any, right: Any, node: Any) -> StagedValue:
        return compare(operators, name, left[:1], right[:1], node)

    patch.setattr(PythonOperators, "_compare_tuples", compare_first)


def _equal_items_called(patch: MonkeyPatch) -> None:
    patch.setattr(PythonOperators, "has_own_comparison", lambda operators, layout: False)


def _properties_read_twice(patch: MonkeyPatch) -> None:
    read_view = Generation._dict_view

    def read_twice(generation: Generation, node: ast.expr) -> Any:
        view = read_view(generation, node)
        return view if isinstance(view, tuple) else node

    patch.setattr(Generation, "_dict_view", read_twice)


def _any_class_matches(patch: MonkeyPatch) -> None:
    patch.setitem(patterns._OPERATORS, "has_class", lambda calls, *rest: calls.constant(True))


def _last_of_heaps(patch: MonkeyPatch) -> None:
    patch.setitem(calls._LIST_FUNCTIONS, heapq.heappop, _pop_last)


def _breaks_of_else_lost(patch: MonkeyPatch) -> None:
    end = Generation._end_loop

    def end_loop(generation: Generation, statement: Any, outer: StagedValue) -> None:
        end(generation, statement, outer)
        if statement.orelse:
            generation._clear_exit(staging.BREAK, outer)

    patch.setattr(Generation, "_end_loop", end_loop)


def _pop_last(heap: Any) -> Any:
    return heap.pop()


OBJECT_TWINS = {
    "arrays that change unknown": Twin(_changed_arrays_unknown, "row_that_changes"),
    "keys backwards": Twin(_keys_backwards, "loops_over_dicts"),
    "added keys unnoticed": Twin(_keys_added_unnoticed, "dict_that_grows_in_a_loop"),
    "backwards past the end": Twin(_backwards_past_the_end, "list_that_shrinks_backwards"),
    "first items compared": Twin(_first_items_compared, "order_of_tuples"),
    "equality of the same items called": Twin(_equal_items_called, "tuples_of_objects"),
    "properties of loops read twice": Twin(_properties_read_twice, "loops_over_properties"),
    "any class matches": Twin(_any_class_matches, "expression_by_patterns"),
    "breaks of else lost": Twin(_breaks_of_else_lost, "breaks_in_else_of_loops"),
    "last items of heaps": Twin(_last_of_heaps, "events_in_a_heap"),
    "views keep their elements": Twin(_views_keep_their_elements, "views_before_a_change"),
    "arrays without axes are scalars": Twin(_arrays_without_axes_as_scalars, "array_without_axes_that_is_kept"),
    "changes of arrays lost": Twin(_changes_of_arrays_lost, "counts_of_numpy"),
    "shared elements unnoticed": Twin(_shared_elements_unnoticed, "overlap_after_some_calls"),
    "views get names": Twin(_views_get_names, "row_with_a_name"),
    "augmented arrays are new": Twin(_augmented_arrays_are_new, "change_of_a_parameter"),
    "named tuples are tuples": Twin(_named_tuples_as_tuples, "span_of_a_named_tuple"),
    "checks pass for all values": Twin(_checks_pass_for_all_values, "item_popped_before_it_is_written"),
    "loops go on after a raise": Twin(_loops_go_on_after_a_raise, "raised_in_a_loop_over_a_tuple"),
    "attributes of each node": Twin(_attributes_of_each_node, "none_in_a_with"),
    "state before the raise lost": Twin(_state_before_raise_lost, "printed_before_raised"),
    "last handler first": Twin(_last_handler_first, "first_handler_that_matches"),
    "exceptions end at loops": Twin(_exceptions_end_at_loops, "handler_around_a_loop"),
    "finalizers ignored": Twin(_finalizers_ignored, "finalizer_of_dropped_objects"),
    "attributes always there": Twin(_attributes_always_there, "attributes_that_may_be_missing"),
    "one new object": Twin(_one_new_object, "list_build"),
    "no new objects": Twin(_no_new_objects, "tree_copy"),
    "unordered attributes": Twin(_unordered_attributes, "tree_copy"),
    "unassigned attributes": Twin(_unassigned_attributes, "init_reads_unassigned"),
    "constant class attributes": Twin(_constant_class_attributes, "class_attribute_changes"),
    "sizes of two": Twin(_sizes_of_two, "sizes_of_numpy_that_differ"),
    "powers unchecked": Twin(_powers_unchecked, "powers_of_floats"),
    "variables end at returns": Twin(_variables_end_at_returns, "variable_of_a_branch_in_finally"),
    "no cleanup": Twin(_no_cleanup, "finally_runs"),
    "cleanup hides exits": Twin(_cleanup_hides_exits, "finally_return"),
    "lost lines": Twin(_lost_lines, "printed_numbers"),
    "one text": Twin(_one_text, "compare_names"),
    "last option": Twin(_last_option, "string_or_none"),
    "dropped options unchecked": Twin(_dropped_options_unchecked, "union_with_none"),
    "whole lists as parts": Twin(_whole_lists_as_parts, "parts_of_lists_of_objects"),
    "first items under an index": Twin(_first_items_under_an_index, "item_of_a_tuple_that_may_be_missing"),
    "slots by any name": Twin(_slots_by_any_name, "slot_with_two_names"),
    "shared dicts beside slots": Twin(_shared_dicts_beside_slots, "slots_beside_shared_dicts"),
    "first key for all": Twin(_first_key_for_all, "one_dict_at_two_places"),
    "keys that keep their order": Twin(_keys_that_keep_their_order, "keys_that_come_and_go"),
    "items of sets lost": Twin(_items_of_sets_lost, "visited_in_a_set"),
    "sets in the order of their items": Twin(
        _sets_in_the_order_of_their_items, "sets_that_lose_items_before_others_come"
    ),
    "cleared sets that keep their table": Twin(_cleared_sets_that_keep_their_table, "sets_that_are_cleared"),
    "sets as Python adds each": Twin(_sets_as_python_adds_each, "sets_of_constants_and_keys"),
    "pairs as they came": Twin(_pairs_as_they_came, "order_of_an_ordered_dict"),
    "lists that are sorted in full": Twin(_lists_that_are_sorted_in_full, "sort_with_keys_that_read_the_list"),
    "keys bound for each item": Twin(_keys_bound_for_each_item, "key_functions_of_an_object_that_a_call_returns"),
    "deques without bound": Twin(_deques_without_bound, "window_in_a_deque"),
    "defaults not kept": Twin(_defaults_not_kept, "groups_in_a_defaultdict"),
    "loops over changed dicts": Twin(_loops_over_changed_dicts, "dict_that_changes_in_its_loop"),
    "exceptions of calls lost": Twin(_exceptions_of_calls_lost, "withdrawals_that_fail"),
    "products that are rounded": Twin(_products_that_are_rounded, "prices_that_are_rounded"),
    "last of the largest": Twin(_last_of_the_largest, "sorted_with_keys"),
    "arguments of other types": Twin(_arguments_of_other_types, "tree_copy"),
    "quotients that are not rounded": Twin(_quotients_that_are_not_rounded, "quotients_of_ints_and_floats"),
}
"""Twins that scenarios and edge cases of objects show."""
