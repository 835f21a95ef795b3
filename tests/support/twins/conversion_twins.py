"""Twins of the front end: each pass or operator with one fault, and a function of the tables that shows it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any, NamedTuple

from pytest import MonkeyPatch
from support.programs import plain_functions, printed
from support.programs.everyday import collections_of_numbers, searches, sequences
from support.programs.everyday import objects as everyday_objects
from support.programs.reference import calls, conditionals, exits, loops, places
from tagloom.core.frontend.source import calls as call_operators
from tagloom.core.frontend.source import (
    convert,
    entry,
    items,
    open_lists,
    printing,
    program_operators,
    raising,
    ranges,
    staging,
    state,
    texts,
)
from tagloom.core.frontend.source import sequences as symbolic_sequences
from tagloom.core.frontend.source.entry import OPERATORS
from tagloom.core.frontend.source.operators import Operators
from tagloom.core.frontend.source.passes import control_flow, expressions, matches

operators = OPERATORS.cell_contents


class Twin(NamedTuple):
    """A fault, and a function and arguments on which it shows."""

    patch: Callable[[MonkeyPatch], None]
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


TWINS: dict[str, Twin] = {}


def twin(function: Callable[..., Any], *arguments: Any) -> Callable[[Any], Any]:
    """Add a patch to the table; its docstring says what is broken."""

    def add(patch: Callable[[MonkeyPatch], None]) -> Callable[[MonkeyPatch], None]:
        TWINS[patch.__name__] = Twin(patch, function, arguments)
        return patch

    return add


@twin(loops.the_test_after_a_break_is_not_evaluated, 10)
def test_after_a_break(patch: MonkeyPatch) -> None:
    """A loop evaluates its test after a `break`."""
    sound = operators.while_stmt

    def while_stmt(test: Any, body: Any, state: Any, live: Any, form: Any = "plain", *rest: Any) -> Any:
        def tested(go_on: Any) -> Any:
            result = body(go_on)
            go_on()
            return result

        return sound(test, body if form == "plain" else tested, state, live, form, *rest)

    patch.setattr(operators, "while_stmt", while_stmt)


@twin(loops.for_else, 5, 3)
def else_after_a_break(patch: MonkeyPatch) -> None:
    """The `else` of a loop runs after a `break`, too."""
    sound = control_flow._LoopExits.dispatch
    patch.setattr(
        control_flow._LoopExits,
        "dispatch",
        lambda self, otherwise=(): [*sound(self), *otherwise],
    )


@twin(conditionals.ands_give_operands, 1, 2, 3)
def and_gives_a_bool(patch: MonkeyPatch) -> None:
    """`and` gives whether all operands are true."""
    sound = operators.and_
    patch.setattr(operators, "and_", lambda *each, **state: operators.not_(operators.not_(sound(*each, **state))))


@twin(conditionals.ors_give_operands, 0, 2, 0)
def or_gives_the_last_operand(patch: MonkeyPatch) -> None:
    """`or` gives its last operand."""
    patch.setattr(operators, "or_", lambda one, *others, state=None: others[-1]())


@twin(conditionals.the_middle_is_computed_once, 5)
def middle_computed_twice(patch: MonkeyPatch) -> None:
    """A chained comparison computes its middle for both comparisons."""

    def chain(one: Any, *steps: Any, state: Any = None) -> Any:
        compare, operand, *rest = steps
        result = compare(one, operand())
        return operators.and_(result, lambda: chain(operand(), *rest)) if rest else result

    patch.setattr(operators, "chain", chain)


@twin(loops.for_zero_trips_leave_the_target, 0)
def target_changed_by_zero_trips(patch: MonkeyPatch) -> None:
    """A loop over a range that makes no trip assigns its target."""
    patch.setattr(Operators, "_assign_last", lambda self, place, numbers, value: place.write(value))


@twin(conditionals.swap_in_an_arm, 2, 4)
def variables_not_undone(patch: MonkeyPatch) -> None:
    """The second branch starts with the variables that the first branch has assigned."""
    patch.setattr(state.Variables, "write", lambda self, contents: None)


@twin(places.two_names_of_one_object, -3)
def writes_not_undone(patch: MonkeyPatch) -> None:
    """What a branch changes besides variables stays changed."""
    patch.setattr(state.Journal, "undo", lambda self: None)


@twin(conditionals.two_variables_on_both_arms, 3)
def arms_merged_the_wrong_way(patch: MonkeyPatch) -> None:
    """A variable has the value of the other branch."""
    sound = staging._Merger.add

    def add(self: Any, key: Any, label: str, one: Any, other: Any, then: Any, otherwise: Any) -> None:
        sound(self, key, label, other, one, otherwise, then)

    patch.setattr(staging._Merger, "add", add)


@twin(conditionals.walrus_in_a_test, 3)
def walrus_in_the_thunk(patch: MonkeyPatch) -> None:
    """`:=` in an operand assigns a variable of the operand's function."""
    patch.setattr(expressions._Expressions, "_operand", lambda self, node: self.visit(node))


@twin(plain_functions.loop_at_the_end_of_an_arm, 3, 5)
def result_of_an_arm_dropped(patch: MonkeyPatch) -> None:
    """A branch that ends with a loop returns nothing."""
    patch.setattr(
        control_flow._ControlFlow,
        "_convert_rest",
        lambda self, body, block, anchor: self.convert(body, block) if body else [],
    )


class _Breaks(ast.NodeTransformer):
    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return ast.copy_location(ast.Break(), node)


@twin(loops.continue_in_a_for, 5)
def continue_leaves_the_loop(patch: MonkeyPatch) -> None:
    """`continue` makes no further trip."""
    sound = control_flow.convert_control_flow
    patch.setattr(convert, "convert_control_flow", lambda node: sound(_Breaks().visit(node)))


@twin(conditionals.created_in_one_arm, False)
def unassigned_is_zero(patch: MonkeyPatch) -> None:
    """A variable that is assigned on one path only can be read on all."""
    patch.setattr(operators, "load", lambda read, name: operators.assigned_value(read()))


@twin(loops.return_on_each_path, 3)
def one_exit_for_all(patch: MonkeyPatch) -> None:
    """All exits of a statement have the number of the first."""
    patch.setattr(control_flow._ExitSelection, "number", lambda self, statement: ast.Constant(1))


@twin(places.a_nonlocal_variable, -1)
def nonlocal_not_announced(patch: MonkeyPatch) -> None:
    """An assignment to a variable of an enclosing function is not undone."""
    patch.setattr(operators, "before_nonlocal", lambda read: None)


@twin(places.a_global_variable, -1)
def global_not_announced(patch: MonkeyPatch) -> None:
    """An assignment to a global variable is not undone."""
    patch.setattr(operators, "before_global", lambda read: None)


@twin(places.two_names_of_one_object, -3)
def attribute_not_announced(patch: MonkeyPatch) -> None:
    """An assignment to an attribute is not undone."""
    patch.setattr(operators, "set_attribute", lambda value, instance, name: setattr(instance, name, value))


@twin(places.two_names_of_one_list, 3, -4)
def item_not_announced(patch: MonkeyPatch) -> None:
    """An assignment to an item is not undone."""
    patch.setattr(operators, "set_item", lambda value, container, key: container.__setitem__(key, value))


@twin(conditionals.a_number_as_test, -2)
def negative_numbers_are_false(patch: MonkeyPatch) -> None:
    """A number is true if it is positive."""
    sound = staging.truth_operand

    def truth_operand(value: Any) -> Any:
        return staging.to_operand(value > 0) if value._tagloom_value.type.dtype.kind == "i" else sound(value)

    patch.setattr(staging, "truth_operand", truth_operand)


@twin(loops.while_two_variables, 3)
def nothing_is_live(patch: MonkeyPatch) -> None:
    """No variable is read after a statement."""
    patch.setattr(control_flow, "live_before", lambda statements, live_after, exits: frozenset())


@twin(loops.for_steps_and_starts, 3, 5)
def one_trip_too_many(patch: MonkeyPatch) -> None:
    """A loop over a range comes to its end."""
    patch.setattr(ranges.SymbolicRange, "has", lambda self, number: number <= self.stop)


@twin(loops.for_a_symbolic_step, 7, -1)
def steps_go_up(patch: MonkeyPatch) -> None:
    """A range with a symbolic step goes up."""
    patch.setattr(ranges.SymbolicRange, "has", lambda self, number: number < self.stop)


@twin(places.private_names, 4)
def names_not_mangled(patch: MonkeyPatch) -> None:
    """Private names of classes stay as they are."""
    patch.setattr(convert, "mangle_names", lambda node, class_name: node)


@twin(conditionals.match_with_guard, 5)
def guards_dropped(patch: MonkeyPatch) -> None:
    """A case of a `match` ignores its guard."""
    sound = matches._Matches.visit_Match

    def visit(self: Any, node: ast.Match) -> Any:
        for case in node.cases:
            case.guard = None
        return sound(self, node)

    patch.setattr(matches._Matches, "visit_Match", visit)


@twin(conditionals.membership, 9)
def always_in(patch: MonkeyPatch) -> None:
    """Each number is in each container."""
    patch.setattr(operators, "in_", lambda item, container: item == item)
    patch.setattr(operators, "not_in", lambda item, container: item != item)


@twin(exits.exceptions_of_three_classes, -1)
def assertions_hold(patch: MonkeyPatch) -> None:
    """A branch that raises has an assertion that holds."""
    sound = raising.stage_assertion
    patch.setattr(raising, "stage_assertion", lambda condition, error: sound(True, error))


@twin(exits.a_division_of_constants_in_an_arm, 2)
def known_failures_end_the_trace(patch: MonkeyPatch) -> None:
    """A known operation that fails in a branch fails the trace."""
    patch.setattr(staging, "is_raised", lambda error: hasattr(error, raising.RAISED_AT))


@twin(calls.prints_in_a_loop, 3)
def prints_while_tracing(patch: MonkeyPatch) -> None:
    """`print` prints when the function is traced."""
    patch.setitem(operators.builtins, print, builtins.print)


@twin(plain_functions.assigned_before_the_loop_is_staged, 0, True)
def start_of_a_loop_lost(patch: MonkeyPatch) -> None:
    """A variable that may be unassigned before a loop has no value there."""
    sound = staging._LoopState.add

    def add(loop_state: Any, place: Any, content: Any) -> None:
        is_lost = isinstance(content, state.MaybeUnassigned)
        sound(loop_state, place, state.Undefined(content.name, content.reason) if is_lost else content)

    patch.setattr(staging._LoopState, "add", add)


@twin(exits.in_finally, -1)
def nothing_after_the_last_exit(patch: MonkeyPatch) -> None:
    """A statement whose paths all return is followed by a return of nothing."""
    patch.setattr(operators, "is_last_exit", lambda chosen, number: False)


@twin(sequences.pick_name_length, 2)
def the_first_item_at_each_symbolic_index(patch: MonkeyPatch) -> None:
    """A known list gives its first item at each symbolic index."""
    sound = items.select
    patch.setattr(items, "select", lambda container, index: sound([container[0]] * len(container), index))


@twin(sequences.set_at, 1, 7)
def an_item_assigned_everywhere(patch: MonkeyPatch) -> None:
    """An assignment at a symbolic index changes all items."""
    patch.setattr(items, "_choose", lambda test, then, otherwise: then)


@twin(everyday_objects.print_kinds, 3, 2.5)
def bools_printed_as_literals(patch: MonkeyPatch) -> None:
    """A printed bool is `true`, as in the text form."""
    patch.setattr(printing, "FormattedValue", lambda value: value)


@twin(everyday_objects.same_condition, True, 4)
def every_condition_is_assumed_the_other_way(patch: MonkeyPatch) -> None:
    """A variable that one branch assigns is unassigned in that branch of the next conditional on the same condition."""
    patch.setattr(program_operators.ProgramOperators, "is_assumed", lambda self, condition: False)


@twin(sequences.sum_nested_ranges, 4)
def sums_forget_their_items(patch: MonkeyPatch) -> None:
    """The sum of a generator expression over a symbolic range is its start."""
    patch.setattr(symbolic_sequences, "set_attribute", lambda value, total, name: None)


@twin(sequences.zipped_ranges, 4, 9)
def zip_goes_on_to_the_longest(patch: MonkeyPatch) -> None:
    """`zip` ends with the longest of its sequences."""
    sound = symbolic_sequences.apply
    patch.setattr(symbolic_sequences, "apply", lambda op, *operands: sound(op.replace("min", "max"), *operands))


@twin(everyday_objects.tuple_match_values, 0, 4)
def sequence_patterns_ignore_their_items(patch: MonkeyPatch) -> None:
    """A sequence pattern matches each sequence of its length."""
    sound = matches._tests
    patch.setattr(matches, "_tests", lambda *arguments: sound(*arguments)[:1])


@twin(exits.a_raise_after_a_raise_of_an_arm, -1)
def the_last_raise_hides_the_first(patch: MonkeyPatch) -> None:
    """A `raise` that no symbol decides on ends the trace, whatever comes first."""
    patch.setattr(entry, "is_raised_after_effects", lambda region, error: False)


@twin(sequences.squares, 5)
def appended_items_come_first(patch: MonkeyPatch) -> None:
    """What a loop appends to a list of symbolic length is put in front of it."""
    sound = open_lists.join_columns
    patch.setattr(open_lists, "join_columns", lambda columns, depth: sound(columns[::-1], depth))


@twin(collections_of_numbers.distances_on_a_ring, 7)
def a_loop_ends_where_its_list_ended(patch: MonkeyPatch) -> None:
    """A loop over a list of symbolic length does not see the items that its body appends."""
    patch.setattr(symbolic_sequences.LiveItems, "has", lambda self, number: number < self.count)


@twin(collections_of_numbers.grid_paths, 3, 4)
def items_of_items_are_copies(patch: MonkeyPatch) -> None:
    """An assignment to an item of an item of a list of symbolic length changes a copy."""
    patch.setattr(items, "item_origin", lambda item: None)


@twin(collections_of_numbers.josephus, 5, 2)
def pop_takes_the_item_after(patch: MonkeyPatch) -> None:
    """`pop` removes another item than the one that it returns."""
    sound = open_lists.take_slice

    def take_slice(stacked: Any, index: slice) -> Any:
        return sound(
            stacked, index if index.start is None or type(index.start) is int else slice(index.start - 1, None)
        )

    patch.setattr(open_lists, "take_slice", take_slice)


@twin(searches.sections, 3)
def managers_of_generators_print_while_tracing(patch: MonkeyPatch) -> None:
    """A generator under `contextmanager` is not converted."""
    patch.setattr(call_operators, "_MANAGER_CODE", None)


@twin(searches.first_divisors, 30)
def next_gives_the_last_item(patch: MonkeyPatch) -> None:
    """`next` of a generator expression goes on after the first item."""
    sound = symbolic_sequences.next_item

    def next_item(operators: Any, generator: Any, *default: Any) -> Any:
        push = generator.push
        generator.push = lambda items, add: push(items, lambda item: add(item) and False)
        return sound(operators, generator, *default)

    patch.setattr(symbolic_sequences, "next_item", next_item)


@twin(printed.numbers_in_one_line, 3)
def a_begun_line_is_lost(patch: MonkeyPatch) -> None:
    """What `print(..., end=...)` has printed is not in the line that the next call ends."""
    patch.setattr(printing.OpenLine, "replace", lambda line, text: None)


@twin(printed.collected_numbers, [3, 1, 2])
def items_of_an_empty_list_are_separated(patch: MonkeyPatch) -> None:
    """`print("x", *items)` prints a separator before no items."""
    patch.setattr(printing, "stage_branch", lambda test, then, otherwise, variables: otherwise())


@twin(printed.instances, 3)
def fields_of_no_class(patch: MonkeyPatch) -> None:
    """`repr` of a dataclass or a named tuple shows no fields."""
    patch.setattr(texts, "_fields_of", lambda value: [])
