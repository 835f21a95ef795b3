"""Staging: conditionals and loops of converted functions whose conditions are symbolic become `cond` and `while_loop`.

The state of a conditional is what its branches change: local variables that are read afterwards, and places in the
journal. Both branches start from the same state; their changes are merged, and applied after the conditional. The state
of a loop is what its body or test changes; each part of it that is a value becomes a loop variable.
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import Parameter, Signature
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ...errors import Invalid, TagloomError
from ...ops.op import Attributes
from ...program.program import Location, UniqueNames
from ...types import Type
from ...value import Literal
from ..eager.gradients import call_as_one_step
from ..eager.recording import recording_tapes
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.control_flow import (
    BodyResult,
    emit_cond,
    function_location,
    join_weak_values,
    loop_attributes,
    open_subregion,
    placeholder_results,
    trace_loop,
    unify_results,
)
from ..trace.mutable_arrays import (
    CopiedArrayChange,
    LoopCopy,
    MutableArray,
    copied_arrays,
    has_other_names,
    loop_copy,
    owner_of,
)
from ..trace.numbers import higher_kind, number_kind, to_kind, unify_numbers
from ..trace.program_builder import (
    NoTypeYet,
    RegionBuilder,
    Specialization,
    TracedOperand,
    TracedValue,
    check_current,
    current_aliases,
    current_region,
    emit_op,
    enter_region,
    to_operand,
    unwrap_weak,
    weak_number,
)
from ..trace.python_operations import is_of_user
from ..trace.pytree import attributes_of, flat_treedef, has_attributes, is_record, leaf_names, read_variables, unflatten
from ..trace.source_location import is_internal_file, user_location
from ..trace.stacked_items import DICT_CLASSES, TracedSet, dict_like
from ..trace.symbol import Symbol, array_namespace
from .array_writes import check_not_copied, is_created, make_value
from .choices import created_attributes, like_model, unify_options
from .nested_lists import (
    CHANGEABLE,
    ItemOrigin,
    have_one_place,
    have_parallel_parts,
    is_choice,
    item_origin,
    note_list_choice,
    note_options,
    note_origin,
    note_stacked_lists,
)
from .open_lists import DifferentItems, column_positions, leaf_kind, lift, prototype
from .raising import is_raised, raise_from_here, stage_failure, unreached_operand
from .same_values import defining_node, input_value, is_same_value, origin_of
from .sole_names import (
    LoopListChange,
    has_other_name,
    has_sole_name,
    is_from,
    loop_lists_of,
    make_changeable,
    note_loop_list,
    note_renamed,
    note_sole_name,
    own_loop_lists,
)
from .state import (
    UNBOUND,
    AttributePlace,
    CellPlace,
    ElementsPlace,
    ItemsPlace,
    Journal,
    MaybeUnassigned,
    Place,
    Undefined,
    Variables,
    active_journal,
    commit,
    is_outside,
    is_unassigned,
    open_journal,
    record_write,
    register_created,
)
from .state_errors import (
    changed_constant,
    changed_order,
    changed_structure,
    different_orders,
    different_structures,
    growing_structure,
    unassigned_variable,
)
from .trees import (
    Tree,
    as_copy,
    current_values,
    flatten_state,
    is_one_of_several,
    is_same,
    is_symbolic,
    note_copied,
    note_copied_arrays,
    note_rebuilt,
    older_containers,
    request_records,
    shared_containers,
    split,
    static_objects,
    structure_of,
    zeros_like,
)
from .tries import UndecidedCheck, catching_try, open_construct

_RESULT = ("result",)
"""The key of the result of a branch, among the parts of its state."""
_BOOL = Type(dtypes.bool)
MAX_PLACES = 1000
"""The most variables and other places that a staged loop may change."""
MAX_GROWTHS = 40
"""How often a staged loop is traced again since it changes more places than were known."""
MAX_CONDITIONAL_ITERATIONS = 16
"""The most iterations of a loop of known length that are unrolled where a symbolic condition may end it early."""
MAX_UNROLLED_NODES = 10_000
"""The most nodes that the iterations of a loop of known length may add."""
ITERATIONS_PER_WARNING, MAX_PYTHON_ITERATIONS = 10**6, 10**7
"""The iterations that the loops of a function may make in Python in one trace: each million warns, and the last is
refused. Iterations that add no nodes count, too: without a bound, an endless loop would be a trace that never ends."""
MAX_LENGTH_CHANGES = 100
"""How often loops of a function are traced again because an iteration changes the length of a list."""
MAX_LIST_TRACES = 60
"""How often loops of a function are traced again because a variable has another one's list."""
MAX_STRUCTURE_GROWTHS = 8
"""How often a loop is traced again because an iteration gives one of its variables more values than it has."""


def truth_operand(value: Any) -> TracedOperand:
    """The truth of a symbolic value, as the operand of a predicate; a number is true unless it is 0.

    Raises Invalid (F4), a ValueError, for an array with axes: its truth is ambiguous."""
    operand = to_operand(unwrap_weak(value))
    if operand.type == _BOOL:
        return operand
    if not operand.type.is_scalar or operand.type.dtype.kind not in "biuf":
        raise Invalid(
            "the truth of an array is ambiguous",
            rule="F4",
            where=user_location(),
            required="a bool or a number, without axes",
            got=operand.type,
            hint="write tl.any(x) or tl.all(x)",
        )
    return to_operand(value != 0)


class TracedBranch(NamedTuple):
    """A traced branch of a conditional: the contents of its state at its end, by key, its places, and its line."""

    contents: dict[tuple[Any, ...], Any]
    places: dict[tuple[Any, ...], Place]
    location: Location | None
    failure: Any = None
    """The result of the assertion of a branch that raises, whose contents are never computed."""
    error: Any = None
    """The exception that this branch raises."""
    created_ids: Collection[int] = ()
    """The identities of objects that it creates."""
    region: RegionBuilder | None = None
    own_places: Mapping[tuple[Any, ...], AttributePlace] = MappingProxyType({})
    """The attributes of objects that it creates, and that what follows may refer to."""
    array_values: Mapping[int, Symbol] = MappingProxyType({})
    """By their identities, the values that changed arrays in the contents have at its end."""
    sole_keys: Collection[tuple[Any, ...]] = ()
    """The keys of the lists in the contents that have no other name."""
    item_origins: Mapping[int, ItemOrigin] = MappingProxyType({})
    """By their identities, where the lists, dicts and sets among the contents are items at its end."""

    def is_new(self, container: Any) -> bool:
        """Whether the branch creates a list or dict, or computes values in it."""
        if id(container) in self.created_ids:
            return True
        if ItemsPlace(container).key in self.contents:
            return False
        values = [getattr(leaf, "_tagloom_value", None) for leaf in split(container).leaves]
        return any(isinstance(value, TracedValue) and value.region is self.region for value in values)

    def with_unchanged(self, originals: Mapping[tuple[Any, ...], Any]) -> TracedBranch:
        """This branch, with the sole names of lists in places which it does not change, but the other one does; and
        without those of lists that are in such places, too."""
        unchanged = {key: content for key, content in originals.items() if key not in self.contents}
        others = [_assigned_value(content) for content in unchanged.values()]
        sole = {key for key in self.sole_keys if not has_other_name(_assigned_value(self.contents[key]), others)}
        return self._replace(sole_keys=sole | (_sole_keys({**self.contents, **unchanged}) & unchanged.keys()))

    def items_of(self, container: Any) -> Any:
        """A list or dict with the items that it has at the end of the branch."""
        is_place = type(container) in (list, *DICT_CLASSES)
        return self.contents.get(ItemsPlace(container).key, container) if is_place else container

    def view(self, content: Any, shared: Collection[int]) -> Any:
        """A piece of state with the items and attributes that its lists, dicts and records have at the end of the
        branch; those with the identities in `shared` stay what they are."""
        if type(content) is tuple:
            return tuple(self.view(item, shared) for item in content)
        if type(content) is Choice:
            return Choice(content.number, [self.view(option, shared) for option in content.options])
        if is_record(content) and id(content) not in shared:
            return self._view_record(content, shared)
        if type(content) not in (list, *DICT_CLASSES, TracedSet) or id(content) in shared:
            return content
        items = self.contents.get(ItemsPlace(content).key, content)
        if type(content) is TracedSet:
            return items
        if type(content) in DICT_CLASSES:
            return dict_like(content, {key: self.view(item, shared) for key, item in items.items()})
        return [self.view(item, shared) for item in items]

    def _view_record(self, record: Any, shared: Collection[int]) -> Any:
        attributes = attributes_of(record)
        contents = {
            name: self.view(self.contents.get(AttributePlace(record, name, name).key, content), shared)
            for name, content in attributes.items()
        }
        if all(contents[name] is content for name, content in attributes.items()):
            return record
        copied = object.__new__(type(record))
        for name, content in contents.items():
            object.__setattr__(copied, name, content)
        return copied


def stage_branch(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], variables: Variables) -> Any:
    """Trace both branches of a conditional with a symbolic test, into a cond. Returns their merged results, and gives
    the variables and all other changed places their merged contents."""
    if recording_tapes():
        return _stage_as_one_step("cond", then, lambda: stage_branch(test, then, otherwise, variables), variables)
    region = current_region()
    assert region is not None, "only a trace has symbolic values"
    predicate = truth_operand(read_variable(test))
    construct = open_construct(region)
    if (outcome := construct.outcome()) is not None:
        return _take_branch(predicate, outcome, then if outcome else otherwise)
    name = region.names.fresh_name("cond")
    regions = open_subregion(region), open_subregion(region)
    start = variables.read()
    with construct.surround(Symbol(predicate)):  # type: ignore[arg-type]
        with forget_renamed_lists() as renamed, assume(predicate, True):
            then_branch = trace_stateful_branch(regions[0], then, variables, start)
        with assume(predicate, False):
            else_branch = trace_stateful_branch(regions[1], otherwise, variables, start)
    branches = then_branch, else_branch
    typed_branch = next((branch for branch in branches if branch and branch.failure is None), None)
    if typed_branch is None:
        if branches[0] is None or branches[1] is None:
            raise NoTypeYet
        pair = to_operand(branches[0].failure), to_operand(branches[1].failure)
        return raise_from_here(
            region, Symbol(emit_cond(region, predicate, regions, [pair], [name])[0]), branches[0].error
        )
    merger = _Merger(region, name, regions, predicate)
    keys = list(
        dict.fromkeys([*(then_branch.contents if then_branch else ()), *(else_branch.contents if else_branch else ())])
    )
    places = {**(then_branch.places if then_branch else {}), **(else_branch.places if else_branch else {})}
    if then_branch is None or else_branch is None:
        merged = {key: _placeholder(region, typed_branch.contents[key]) for key in keys}
    else:
        originals = {key: place.read() for key, place in places.items()}
        then_branch, else_branch = (branch.with_unchanged(originals) for branch in (then_branch, else_branch))
        for own_place in (*then_branch.own_places.values(), *else_branch.own_places.values()):
            register_created(own_place.instance)
        for key in keys:
            label = places[key].label if key in places else "the result"
            if then_branch.failure is not None or else_branch.failure is not None:
                merger.add_unreached(key, label, typed_branch.contents[key], regions, branches)
                continue
            contents = [branch.contents.get(key, originals.get(key)) for branch in (then_branch, else_branch)]
            for position, branch in enumerate((then_branch, else_branch)):
                if key in branch.own_places:
                    contents[1 - position] = zeros_like(contents[position])
            merger.add(key, label, contents[0], contents[1], then_branch, else_branch)
        merged = merger.emit(predicate, regions)
    for key, place in places.items():
        if not isinstance(place, CellPlace) or variables.places.get(place.label) is not place:
            record_write(place)
        place.write(merged[key])
    note_renamed(renamed)
    for key, origin in merger.item_origins.items():
        note_origin(_assigned_value(merged[key]), origin.container, origin.index)
    return merged[_RESULT]


def _take_branch(predicate: TracedOperand, outcome: bool, branch: Callable[[], Any]) -> Any:
    """Run the branch that a run of the body of a `try` decides for. For calls, it is under a symbolic condition."""
    journal: Journal | None = None
    try:
        with open_journal() as journal, assume(predicate, outcome):
            return branch()
    finally:
        if journal is not None:
            commit(journal)


_ASSUMPTIONS: ContextVar[tuple[tuple[TracedOperand, bool], ...]] = ContextVar("assumptions", default=())
"""The predicates of the conditionals around the code under trace, with their values in the branches that it is in."""


@contextmanager
def forget_renamed_lists() -> Iterator[list[Any]]:
    """Surrounds the trace of a branch: the other one may use the lists that this one renames. Gives these lists."""
    aliases, renamed = current_aliases(), list[Any]()
    before = dict(aliases.renamed_lists)
    try:
        yield renamed
    finally:
        renamed += [renamed_list for identity, renamed_list in aliases.renamed_lists.items() if identity not in before]
        aliases.renamed_lists = before


@contextmanager
def assume(predicate: TracedOperand, outcome: bool) -> Iterator[None]:
    """Surrounds the trace of a branch: there the predicate has this value."""
    assumptions = [*_ASSUMPTIONS.get(), (predicate, outcome)]
    negation: TracedOperand | None = predicate
    while isinstance(negation, TracedValue):
        origin = origin_of(negation)
        node = defining_node(origin)
        if node is None or node.op != "logical_not":
            break
        negation, outcome = input_value(origin.region, node.inputs[0]), not outcome
        assumptions += [] if negation is None else [(negation, outcome)]
    token = _ASSUMPTIONS.set(tuple(assumptions))
    try:
        yield
    finally:
        _ASSUMPTIONS.reset(token)


def is_assumed(condition: tuple[Any, bool] | None) -> bool:
    """Whether the code under trace runs only where a predicate has this value: it is in that branch of a conditional
    on this predicate, or on one that the same ops compute."""
    if condition is None:
        return False
    return any(
        outcome is condition[1] and is_same_value(predicate, condition[0]) for predicate, outcome in _ASSUMPTIONS.get()
    )


def known_option(choice: Choice) -> Any:
    """The option that is chosen where the code under trace runs; the choice itself where that is not known."""
    number = read_variable(choice.number)
    if not is_symbolic(number):
        return choice
    for position, option in enumerate(choice.options[:-1]):
        is_chosen = to_operand(number == position)
        if is_assumed((is_chosen, True)):
            return option
        if not is_assumed((is_chosen, False)):
            return choice
    return choice.options[-1]


def trace_stateful_branch(
    region: RegionBuilder, function: Callable[[], Any], variables: Variables, start: dict[str, Any]
) -> TracedBranch | None:
    """Trace a branch, and undo what it changes. None if its types are not known yet, or after a type error, which is
    deferred."""
    with open_journal() as journal:
        try:
            with enter_region(region):
                result = read_variables(function())
            changed = journal.changes()
            own = {place.key: place for place in variables.places.values()}
            places: dict[tuple[Any, ...], Place] = {place.key: place for place in variables.live.values()}
            places |= {key: place for key, (place, _) in changed.items() if key not in own}
            contents = {_RESULT: result} | {key: place.read() for key, place in places.items()}
            own_places = {place.key: place for place in created_attributes(contents.values(), journal.created_objects)}
            places |= own_places
            contents |= {key: place.read() for key, place in own_places.items()}
            array_values = _array_values(contents.values()) if any(key[0] is ElementsPlace for key in changed) else {}
            check_current(*contents.values())
            sole_keys, origins = _sole_keys(contents), _item_origins(contents.values())
        except NoTypeYet:
            return None
        except Exception as error:
            if (statement := catching_try(type(error))) is not None and is_of_user(error):
                raise UndecidedCheck(statement) from None
            if is_raised(error):
                with enter_region(region):
                    return TracedBranch({}, {}, function_location(function), stage_failure(region, error), error)
            if not isinstance(error, TagloomError):
                raise
            region.specialization.defer_error(error)
            return None
        finally:
            journal.undo()
            variables.write(start)
    code = getattr(getattr(function, "func", function), "__code__", None)  # of a partial, that of its function
    is_internal = code is None or is_internal_file(code.co_filename)
    location = user_location() if is_internal else function_location(function)
    created = frozenset(journal.created_objects)
    branch = TracedBranch(contents, places, location, None, None, created, region, own_places, array_values, sole_keys)
    return branch._replace(item_origins=origins)


def _item_origins(contents: Iterable[Any]) -> dict[int, ItemOrigin]:
    """Where the lists, dicts and sets among these pieces of state, and among the options of choices, are items now."""
    values = map(_assigned_value, contents)
    items = [item for value in values for item in (value.options if type(value) is Choice else [value])]
    origins = {id(item): item_origin(item) for item in items if type(item) in CHANGEABLE}
    return {
        identity: origin
        for identity, origin in origins.items()
        if origin is not None and not is_choice(origin) and origin.default is None
    }


def _sole_keys(contents: Mapping[tuple[Any, ...], Any]) -> set[tuple[Any, ...]]:
    """The keys of the lists that nothing in other pieces of state may be."""
    sole = {
        key for key, content in contents.items() if key[0] is not ItemsPlace and has_sole_name(_assigned_value(content))
    }
    return {
        key
        for key in sole
        if not has_other_name(
            _assigned_value(contents[key]),
            [_assigned_value(other_content) for other, other_content in contents.items() if other != key],
        )
    }


def _assigned_value(content: Any) -> Any:
    """The value of a piece of state, also where it may be unassigned."""
    return content.value if isinstance(content, MaybeUnassigned) else content


def _array_values(contents: Iterable[Any]) -> dict[int, Symbol]:
    """The values that the arrays in these pieces of state have now, by their identities."""
    values = (content.value if isinstance(content, MaybeUnassigned) else content for content in contents)
    leaves = [leaf for value in values if not is_unassigned(value) for leaf in flatten_state(value).leaves]
    return {id(leaf): Symbol(leaf._tagloom_value) for leaf in leaves if has_other_names(leaf)}


def _placeholder(region: RegionBuilder, content: Any) -> Any:
    """Stands for a piece of state while only one branch has types."""
    if isinstance(content, MaybeUnassigned):
        return MaybeUnassigned(content.name, content.reason, _placeholder(region, content.value))
    if is_unassigned(content):
        return content
    tree = split(content)
    types = [to_operand(unwrap_weak(leaf)).type for leaf in tree.leaves]
    leaves = [unwrap_weak(leaf) for leaf in tree.leaves]
    symbols = placeholder_results(region, flat_treedef(len(types)), types, leaves)
    return tree.rebuild(list(symbols))


class _Merger:
    """Merges the state of two branches, piece by piece, and emits one cond for all that differs."""

    def __init__(
        self,
        region: RegionBuilder,
        name: str,
        regions: tuple[RegionBuilder, RegionBuilder],
        predicate: TracedOperand,
    ) -> None:
        self.region, self.name, self.regions, self.predicate = region, name, regions, predicate
        self.pairs: list[tuple[TracedOperand, TracedOperand]] = []
        self.weak_values: list[int | float | None] = []
        self.names: list[str] = []
        self.pieces: dict[tuple[Any, ...], Any] = {}
        """For each key its content, or a Tree with the numbers of pairs as `_Selected` leaves."""
        self.options: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        """For each key of a Tree the contents in both branches."""
        self.older_lists: dict[tuple[Any, ...], tuple[Sequence[Any], Any]] = {}
        """For each key of a variable or result that is one of several lists from before the conditional, these lists,
        and the number of the one that it is, which may be `_Selected`."""
        self.sole_names: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        """The pieces that are lists without another name in both branches."""
        self.item_origins: dict[tuple[Any, ...], ItemOrigin] = {}
        """The pieces that are one item of a list or dict in both branches, such as `d[k]` after `x = d.get(k)` and `if
        x is None: x = d[k] = []`."""
        self.reasons: dict[tuple[Any, ...], tuple[str, str]] = {}
        """The label of each piece that a branch leaves unassigned, and why."""
        self.conditions: dict[tuple[Any, ...], tuple[TracedOperand, bool]] = {}
        """The branch that assigns such a piece, by the predicate."""

    def add(
        self,
        key: tuple[Any, ...],
        label: str,
        then_value: Any,
        else_value: Any,
        then: TracedBranch,
        otherwise: TracedBranch,
    ) -> None:
        """Merge a piece of state; `label` names it in messages. Raises Invalid (V5) where the branches have structures
        or types between which a program cannot choose."""
        if not is_same(then_value, else_value) and (is_unassigned(then_value) or is_unassigned(else_value)):
            then_value, else_value = self._fill(key, label, then_value, else_value, then, otherwise)
        if is_same(then_value, else_value):
            self.pieces[key] = then_value
            return
        if key[0] is not ItemsPlace and Choice in (type(then_value), type(else_value)):
            then_value, else_value = self._narrow(then_value, 0), self._narrow(else_value, 1)
        origins = then.item_origins.get(id(then_value)), otherwise.item_origins.get(id(else_value))
        if key[0] is not ItemsPlace and have_one_place(*origins):
            outer = [origin for origin in origins if origin is not None and not self._is_inner(origin.index)]
            self.item_origins |= {key: outer[0]} if outer else {}
        if key in then.sole_keys and key in otherwise.sole_keys:
            self.sole_names[key] = then_value, else_value
        shared = shared_containers(
            then_value, else_value, (then.items_of, otherwise.items_of)
        )  # the same on both paths: their items are places themselves
        if key[0] is not ItemsPlace:
            self._add_options(key, (then_value, then), (else_value, otherwise))
        if key not in self.sole_names and key not in self.older_lists and key not in self.item_origins:
            note_copied([then_value, else_value], shared)
        if key[0] is ItemsPlace and type(then_value) is type(else_value) and type(then_value) in (list, *DICT_CLASSES):
            for value in (then_value, else_value):
                note_stacked_lists(key[1], value)
        self.options[key] = then_value, else_value
        then_value, else_value = then.view(then_value, shared), otherwise.view(else_value, shared)
        scopes = [functools.partial(enter_region, region) for region in self.regions]
        with suppress(DifferentItems):
            own_keys = {*then.own_places, *otherwise.own_places}
            unified = unify_options([then_value, else_value], scopes, own_keys)
            if key[0] is not ItemsPlace or not isinstance(unified[0], Choice):
                then_value, else_value = unified
        trees = self._unify_numbers(split(then_value, shared), split(else_value, shared))
        if trees[0].treedef != trees[1].treedef:
            request_records(static_objects([then_value, else_value]))
            raise different_structures(label, trees[0].treedef, trees[1].treedef, then.location, otherwise.location)
        if not trees[0].treedef.has_order_of(trees[1].treedef):
            raise different_orders(label, trees[0].treedef, trees[1].treedef, then.location, otherwise.location)
        leaves = self._pair_leaves(key, label, trees, (then, otherwise))
        created_positions = {k for tree in trees for k, leaf in enumerate(tree.leaves) if is_created(leaf)}
        copied = trees[0].copied_arrays | trees[1].copied_arrays | created_positions
        self.pieces[key] = Tree(leaves, trees[0].treedef, copied)

    def _is_inner(self, value: Any) -> bool:
        """Whether one of the branches computes a value, or code in it."""
        if not is_symbolic(value):
            return False
        region = value._tagloom_value.region
        is_own = region.specialization is self.region.specialization
        return is_own and all(
            region is not own_region for own_region in (self.region, *self.region.enclosing_regions())
        )

    def _narrow(self, value: Any, position: int) -> Any:
        """The option of a choice that there is in the branch at this position, where the condition decides it; else the
        value."""
        if type(value) is not Choice:
            return value
        with enter_region(self.regions[position]), assume(self.predicate, not position):
            return known_option(value)

    def _add_options(
        self, key: tuple[Any, ...], then: tuple[Any, TracedBranch], otherwise: tuple[Any, TracedBranch]
    ) -> None:
        """Note the lists from before the conditional that a variable or result may be, if both branches give it such
        lists, or one of several."""
        choices = [_older_options(*branch_contents) for branch_contents in (then, otherwise)]
        if choices[0] is None or choices[1] is None:
            return
        options = list(
            {id(option): option for choice in choices if choice is not None for option in choice.options}.values()
        )
        if len({type(option) for option in options}) > 1 or not have_parallel_parts(options):
            return
        if choices[0].index is choices[1].index is None:
            self.older_lists[key] = (otherwise[0], then[0]), to_kind(Symbol(self.predicate), "i")  # type: ignore[arg-type]
            return
        numbers = list[TracedOperand]()
        for region, choice in zip(self.regions, choices, strict=True):
            assert choice is not None, "both are"
            own = [next(k for k, candidate in enumerate(options) if candidate is option) for option in choice.options]
            with enter_region(region):
                number = own[0] if choice.index is None else array_namespace().asarray(np.array(own))[choice.index]
                numbers.append(to_operand(number))
        self.older_lists[key] = options, self._select_pair((numbers[0], numbers[1]), None, "")

    def _fill(
        self,
        key: tuple[Any, ...],
        label: str,
        then_value: Any,
        else_value: Any,
        then: TracedBranch,
        otherwise: TracedBranch,
    ) -> tuple[Any, Any]:
        """Two contents, one or both unassigned. A value like the other content replaces the unassigned one; if both are
        unassigned, or one is lost behind a loop, both are UNBOUND. Notes which branch assigns the piece."""
        is_then_missing, is_else_missing = is_unassigned(then_value), is_unassigned(else_value)
        side, branch = (then_value, then) if is_then_missing else (else_value, otherwise)
        reason = side.reason if isinstance(side, Undefined) else f"the branch at {branch.location} does not assign it"
        self.reasons[key] = label, reason
        if is_then_missing != is_else_missing:
            self.conditions[key] = self.predicate, is_else_missing
        then_value, else_value = (
            value.value if isinstance(value, MaybeUnassigned) else value for value in (then_value, else_value)
        )
        if Undefined in (type(then_value), type(else_value)):  # perhaps assigned, but the value is not there
            return UNBOUND, UNBOUND
        if is_unassigned(then_value):
            then_value = zeros_like(else_value, older_containers(else_value, otherwise.is_new))
        elif is_unassigned(else_value):
            else_value = zeros_like(then_value, older_containers(then_value, then.is_new))
        if is_unassigned(then_value) or is_unassigned(else_value):
            return UNBOUND, UNBOUND
        return then_value, else_value

    def _pair_leaves(
        self, key: tuple[Any, ...], label: str, trees: tuple[Tree, Tree], branches: tuple[TracedBranch, TracedBranch]
    ) -> list[Any]:
        """The leaves of a piece of state in both branches, merged: those that differ are results of the cond. Raises
        Invalid (V5) where their types differ."""
        results = [
            BodyResult(_final_leaves(tree, branch), tree.treedef, _weak_flags(tree), branch.location, None)
            for tree, branch in zip(trees, branches, strict=True)
        ]
        leaves: list[Any] = []
        names = _result_names(key, label, len(trees[0].leaves))
        for position, (then_leaf, else_leaf) in enumerate(zip(trees[0].leaves, trees[1].leaves, strict=True)):
            if is_same(then_leaf, else_leaf):
                leaves.append(then_leaf)
                continue
            try:
                leaf_pair = results[0].leaves[position], results[1].leaves[position]
                pair = unify_results(*leaf_pair, results[0], results[1], "")
            except Invalid as error:
                error.message = f"{label} has different types after the branches of `if`"
                raise
            leaves.append(self._select_pair(pair, join_weak_values(results[0], results[1], position), names[position]))
        return leaves

    def _select_pair(
        self, pair: tuple[TracedOperand, TracedOperand], weak_value: int | float | None, name: str
    ) -> _Selected:
        """A further result of the cond, which is one of two values."""
        self.pairs.append(pair)
        self.weak_values.append(weak_value)
        self.names.append(name)
        return _Selected(len(self.pairs) - 1)

    def _unify_numbers(self, then_tree: Tree, else_tree: Tree) -> tuple[Tree, Tree]:
        """Two pieces of state with numbers of one kind: the lower kind of one branch becomes the higher kind of the
        other, where Python allows it."""
        if then_tree.treedef != else_tree.treedef:
            return then_tree, else_tree
        leaves: tuple[list[Any], list[Any]] = ([], [])
        columns = column_positions(then_tree.treedef)
        for position, pair in enumerate(zip(then_tree.leaves, else_tree.leaves, strict=True)):
            kind = unify_numbers(*pair)
            for region, leaf, converted in zip(self.regions, pair, leaves, strict=True):
                with enter_region(region):
                    if position in columns:
                        leaf = lift(leaf, *map(leaf_kind, pair))
                    converted.append(leaf if kind is None else to_kind(leaf, kind))
        return then_tree._replace(leaves=leaves[0]), else_tree._replace(leaves=leaves[1])

    def add_unreached(
        self,
        key: tuple[Any, ...],
        label: str,
        content: Any,
        regions: tuple[RegionBuilder, RegionBuilder],
        branches: Sequence[TracedBranch | None],
    ) -> None:
        """Merge a piece of state of one branch; the other one raises."""
        if isinstance(content, MaybeUnassigned):
            self.reasons[key] = label, content.reason
            content = content.value
        if is_unassigned(content):
            self.pieces[key] = content
            return
        typed_branch = next(branch for branch in branches if branch is not None and branch.failure is None)
        parts = content
        if key[0] is ItemsPlace:  # a copy of the items
            parts = tuple(content.values() if isinstance(content, dict) else content if type(content) is list else ())
        older = older_containers(parts, typed_branch.is_new)  # they stay the objects that they are
        tree, leaves = split(content, older), list[Any]()
        names = _result_names(key, label, len(tree.leaves))
        for position, leaf in enumerate(tree.leaves):
            if not is_symbolic(leaf):
                leaves.append(leaf)
                continue
            operand = to_operand(unwrap_weak(typed_branch.array_values.get(id(leaf), leaf)))
            pair = list[TracedOperand]()
            for region, branch in zip(regions, branches, strict=True):
                with enter_region(region):
                    is_typed = branch is None or branch.failure is None
                    pair.append(operand if is_typed else unreached_operand(branch.failure, operand.type))  # type: ignore[union-attr]
            weak_value = None if unwrap_weak(leaf) is leaf else weak_number(unwrap_weak(leaf))
            leaves.append(self._select_pair((pair[0], pair[1]), weak_value, names[position]))
        self.pieces[key] = tree._replace(leaves=leaves)

    def emit(
        self, predicate: TracedOperand, regions: tuple[RegionBuilder, RegionBuilder]
    ) -> dict[tuple[Any, ...], Any]:
        """The merged state. No cond is needed where the branches do nothing and agree."""
        symbols: list[Any] = self._select(predicate, regions)
        if symbols:
            pass
        elif self.pairs or any(region.nodes or region.store for region in regions):
            pairs = self.pairs or [(to_operand(False), to_operand(False))]
            names, numbers = list[str](), 0
            for label in self.names or [""]:
                names.append(self.region.names.fresh_name(label) if label else self.name if not numbers else "")
                numbers += not label
            names = [name or self.region.names.fresh_name(f"{self.name}_{k}") for k, name in enumerate(names)]
            results = emit_cond(self.region, predicate, regions, pairs, names)
            for result, weak in zip(results, self.weak_values, strict=False):
                result.weak_value = weak
            symbols = list(map(Symbol, results))
        merged: dict[tuple[Any, ...], Any] = {}
        for key, piece in self.pieces.items():
            if isinstance(piece, Tree):
                leaves = [symbols[leaf.number] if isinstance(leaf, _Selected) else leaf for leaf in piece.leaves]
                piece = piece.rebuild(leaves)
                if key in self.options:
                    note_list_choice(piece, Symbol(predicate), self.options[key][::-1])  # type: ignore[arg-type]
                if key in self.sole_names and type(piece) is list:
                    note_sole_name(piece, self.sole_names[key], self)
                if key in self.older_lists:
                    options, number = self.older_lists[key]
                    number = symbols[number.number] if isinstance(number, _Selected) else number
                    note_options(piece, options, number)
            if key in self.reasons:
                label, reason = self.reasons[key]
                condition = self.conditions.get(key)
                is_missing = is_unassigned(piece)
                piece = Undefined(label, reason) if is_missing else MaybeUnassigned(label, reason, piece, condition)
            merged[key] = piece
        return merged

    def _select(self, predicate: TracedOperand, regions: tuple[RegionBuilder, RegionBuilder]) -> list[Any]:
        """The merged values of branches that compute nothing: each takes one op, or none if it is the predicate itself.
        Empty if a cond is needed."""
        operands = [operand for pair in self.pairs for operand in pair]
        is_computed = any(region.nodes or region.store for region in regions) or any(
            isinstance(operand, TracedValue) and operand.region in regions for operand in operands
        )
        if is_computed or not all(first.type == second.type and first.type.is_scalar for first, second in self.pairs):
            return []
        symbols: list[Any] = []
        for pair, weak in zip(self.pairs, self.weak_values, strict=True):
            literals = [operand.value if isinstance(operand, Literal) else None for operand in pair]
            if literals == [True, False] and pair[0].type == _BOOL:
                result = predicate if isinstance(predicate, TracedValue) else None
            elif literals == [False, True] and pair[0].type == _BOOL:
                result = emit_op(self.region, "logical_not", [predicate])
            else:
                result = emit_op(self.region, "where", [predicate, *pair])
                result.weak_value = weak
            if result is None:
                return []
            symbols.append(Symbol(result))
        return symbols


class _OlderOptions(NamedTuple):
    """The lists, dicts or sets from before a conditional that a value may be."""

    options: Sequence[Any]
    index: Any
    """The index of the one that it is; None if there is one."""


def _older_options(value: Any, branch: TracedBranch) -> _OlderOptions | None:
    """The lists, dicts or sets, which a branch has not created, that a value may be at its end; None if they are not
    known."""
    origin = item_origin(value) if type(value) in CHANGEABLE else None
    choice = _OlderOptions([value], None)
    if origin is not None and is_choice(origin):
        choice = _OlderOptions(origin.container, origin.index)
    is_older = all(
        type(option) in CHANGEABLE and not branch.is_new(option) and not is_one_of_several(option)
        for option in choice.options
    )
    return choice if is_older else None


def _closed_sources(
    sources: dict[tuple[Any, ...], set[tuple[Any, ...]]],
) -> dict[tuple[Any, ...], set[tuple[Any, ...]]]:
    """The sources of each key, and theirs, without the keys that have a source which is no key.

    >>> _closed_sources({("a",): {("a",), ("b",)}, ("b",): {("b",)}, ("c",): {("c",), ("d",)}}) == {
    ...     ("a",): {("a",), ("b",)}, ("b",): {("b",)}
    ... }
    True
    """
    while True:
        closed = {
            key: set().union(*(sources[source] for source in own))
            for key, own in sources.items()
            if own <= sources.keys()
        }
        if closed == sources:
            return closed
        sources = closed


class _Selected(NamedTuple):
    """Stands for the result of a cond, by its number."""

    number: int


def _result_names(key: tuple[Any, ...], label: str, count: int) -> list[str]:
    """The names of the results of a cond that merge a piece of state of this many leaves; empty for its own name."""
    names = leaf_names(flat_treedef(count), "") if count > 1 else [""]
    if key == _RESULT:
        return [""] * len(names)
    return [f"{label}{name}" if label.isidentifier() else "state" for name in names]


def _final_leaves(tree: Tree, branch: TracedBranch) -> list[Any]:
    """The leaves of a piece of state at the end of a branch."""
    return [unwrap_weak(branch.array_values.get(id(leaf), leaf)) for leaf in tree.leaves]


def _weak_flags(tree: Tree) -> list[bool]:
    return [unwrap_weak(leaf) is not leaf for leaf in tree.leaves]


def _is_float(leaf: Any) -> bool:
    """Whether a value is a symbolic scalar of a float dtype."""
    return is_symbolic(leaf) and leaf._tagloom_value.type.is_scalar and leaf._tagloom_value.type.dtype.kind == "f"


class CarriedPlace(NamedTuple):
    """A place that a loop changes and whose content is a value: a loop variable of the program for each leaf."""

    place: Place
    tree: Tree
    """The content at the start."""
    names: list[str]
    own_arrays: Mapping[int, MutableArray] = MappingProxyType({})
    """By their positions, the leaves at the start that are arrays which no other place shares. So an iteration may
    change them, and give them other names."""
    sources: Mapping[int, MutableArray] = MappingProxyType({})
    """By their positions, the arrays that the loop changes and that an iteration copies: the next iteration must not
    use the copy after its change."""

    has_own_list: bool = False
    """Whether the content is a list that has no other name, so that an iteration may change it."""

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """The content with these leaves: copies of arrays, which cannot change, but for own arrays."""
        content = list(leaves)
        for position in self.own_arrays:
            content[position] = register_created(MutableArray(leaves[position]._tagloom_value))
        for position in self.copied_arrays:
            content[position] = as_copy(leaves[position], self.sources.get(position))
        value = self.tree.rebuild(content)
        if self.has_own_list:
            make_changeable(register_created(value))
        return value

    @property
    def copied_arrays(self) -> frozenset[int]:
        """The positions of arrays that are not own ones. Those of NumPy may become values of the program."""
        created_positions = {position for position, leaf in enumerate(self.tree.leaves) if is_created(leaf)}
        return (self.tree.copied_arrays | created_positions) - self.own_arrays.keys()


def _carried_place(place: Place, tree: Tree) -> CarriedPlace:
    label, count = place.label if place.label.isidentifier() else "state", len(tree.leaves)
    return CarriedPlace(place, tree, leaf_names(flat_treedef(count), label) if count > 1 else [label] * count)


@dataclass(frozen=True)
class LoopPart:
    """The condition or the body of a staged loop, as `trace_loop` calls it; the signature names the loop variables."""

    function: Callable[..., Any]
    __signature__: Signature

    def __call__(self, *leaves: Any) -> Any:
        return self.function(*leaves)


class _StateGrowth(BaseException):
    """Raised where a loop changes places that are not among its loop variables yet: it is traced again with them. Each
    place has the content that the loop starts with."""

    def __init__(self, starts: Sequence[tuple[Place, Any]]) -> None:
        super().__init__()
        self.starts = starts


class _StructureChange(BaseException):
    """Raised where an iteration changes the length of a list, or gives a variable another option of a choice. The loop
    is traced again; it starts with stacked items, or with a choice, whose structure is that of `model`, too."""

    def __init__(self, place: Place, model: Any) -> None:
        super().__init__()
        self.place, self.model = place, model


class _NumberWidening(BaseException):
    """Raised where an iteration gives a loop variable a number of a higher kind: the loop is traced again, and starts
    with one."""

    def __init__(self, key: tuple[Any, ...], position: int, kind: str) -> None:
        super().__init__()
        self.key, self.position, self.kind = key, position, kind


class _ArrayCopy(BaseException):
    """Raised where an iteration gives a loop variable an array that changes in place: the loop is traced again, and its
    loop variable is a copy of such an array from the start."""

    def __init__(self, key: tuple[Any, ...], positions: frozenset[int], sources: Mapping[int, MutableArray]) -> None:
        super().__init__()
        self.key, self.positions, self.sources = key, positions, sources
        """`sources` are the arrays, by position, that the loop changes."""


class _ListRenaming(BaseException):
    """Raised where an iteration renames lists from before the loop: it is traced again, and must not use them."""

    def __init__(self, lists: Sequence[Any]) -> None:
        super().__init__()
        self.lists = lists


class _LoopState:
    """The places that a loop changes, with their contents at its start. Tracing the loop finds further places, numbers
    of a higher kind, and other structures; then the loop is traced again."""

    def __init__(self, location: Location | None) -> None:
        self.location = location
        self.carried_places: dict[tuple[Any, ...], CarriedPlace] = {}
        self.constants: dict[tuple[Any, ...], Place] = {}
        """The places whose contents are not values; they must be equal after each iteration."""
        self.unassigned_keys: set[tuple[Any, ...]] = set()
        """The keys of variables of another function, which have no value before the loop."""
        self.noted_arrays: set[int] = set()
        """The identities of arrays of which only this loop has copies."""
        self.first_lists: dict[tuple[Any, ...], Any] = {}
        """By the keys of places, the lists at the start that have no other name."""
        self.outer_copies: dict[tuple[Any, ...], Any] = {}
        """By the keys of places, those of these lists that a loop around this one carries as copies, as `LoopList`."""
        self.first_contents: dict[tuple[Any, ...], Any] = {}
        """The content of each place at the start."""
        self.renamed_lists: list[Any] = []
        """The lists from before the loop whose other names must not be used in it, nor after it."""
        self.list_refusals: dict[tuple[Any, ...], Invalid] = {}
        """By the place of each own list, the refusal of its change if it may have another name."""
        self.refusals: dict[tuple[tuple[Any, ...], int], Invalid] = {}
        """By the place and the position of each own array, the refusal of its change if another place has a copy."""
        self.is_traced = True
        self.growths = 0
        """How often places were added since the loop was first traced."""
        self.structure_growths: Counter[tuple[Any, ...]] = Counter()
        """How often each place was given a structure with more values."""

    @property
    def leaves(self) -> list[Any]:
        """The loop variables of the program, at the start."""
        return [leaf for carried in self.carried_places.values() for leaf in carried.tree.leaves]

    @property
    def signature(self) -> Signature:
        """The names of the loop variables."""
        names, unique = [name for carried in self.carried_places.values() for name in carried.names], UniqueNames()
        return Signature([Parameter(unique.fresh_name(name), Parameter.POSITIONAL_OR_KEYWORD) for name in names])

    def note_first_list(self, place: Place, content: Any) -> None:
        """Note a list at the start that has no other name, before it is copied."""
        self.first_contents.setdefault(place.key, content)
        if not isinstance(place, ItemsPlace) and has_sole_name(content) and place.key not in self.first_lists:
            self.first_lists[place.key] = content
            self.outer_copies[place.key] = next(loop_lists_of(content), None)

    def can_own_list(self, place: Place) -> bool:
        """Whether a variable may become the sole name of its list; it is not yet."""
        return place.key not in self.list_refusals and place.key in self.first_lists

    def add_own_list(self, change: LoopListChange) -> None:
        """Let a list be one that only its variable names, so that an iteration may change it. Raises LoopListChange
        for a list that a loop around this one must own before."""
        place = change.copy.place
        if self.outer_copies.get(place.key) is not None:
            raise LoopListChange(self.outer_copies[place.key], change.refusal)
        carried = self.carried_places.get(place.key)
        if carried is None:
            self.constants.pop(place.key, None)
            carried = _carried_place(place, split(self.first_lists[place.key]))
        self.carried_places[place.key] = carried._replace(has_own_list=True)
        self.list_refusals[place.key] = change.refusal
        items_key = ItemsPlace(self.first_lists[place.key]).key
        self.carried_places.pop(items_key, None)
        self.constants.pop(items_key, None)

    def check_own_lists(self) -> None:
        """Raises Invalid (F4) where the loop has two names of a list at its start that it may change."""
        for key, refusal in self.list_refusals.items():
            if not self.has_sole_first_list(key):
                raise refusal

    def has_sole_first_list(self, key: tuple[Any, ...]) -> bool:
        """Whether no other place that the loop changes has the list of a place at the start."""
        others = [first for other, first in self.first_contents.items() if other != key]
        return key not in self.first_lists or not has_other_name(self.first_lists[key], others)

    def rename_lists(self) -> None:
        """Make other names of the own lists at the start unusable, and those of other lists that the loop renames."""
        note_renamed([*self.renamed_lists, *(self.first_lists[key] for key in self.list_refusals)])

    def add(self, place: Place, content: Any) -> None:
        """Make the content of a place loop variables, if it is a value."""
        if isinstance(content, MaybeUnassigned):
            content = content.value
        check_current(content)
        self.note_first_list(place, content)
        if isinstance(place, ItemsPlace) and type(content) in (list, *DICT_CLASSES):
            note_stacked_lists(id(place.container), content)
        if not is_unassigned(content):
            owners = [owner for leaf in flatten_state(content).leaves if (owner := owner_of(leaf)) is not None]
            self.noted_arrays |= {id(owner) for owner in owners if id(owner) not in copied_arrays(owner)}
        tree = None if is_unassigned(content) else split(content)
        if tree is None or not (tree.leaves or place.key in self.list_refusals):
            self.constants[place.key] = place
            return
        note_rebuilt(content)
        own = place.key in self.list_refusals
        self.carried_places[place.key] = _carried_place(place, tree)._replace(has_own_list=own)

    def grow(self, growth: _StateGrowth) -> None:
        """Add places. Raises Invalid (F4) where there are too many."""
        for place, content in growth.starts:
            if self.constants.pop(place.key, None) is not None and not has_other_names(content):
                self.unassigned_keys.add(place.key)
            self.add(place, content)
        self.growths += 1
        if self.growths > MAX_GROWTHS or len(self.carried_places) + len(self.constants) > MAX_PLACES:
            raise Invalid(
                f"a loop changes more than {MAX_PLACES} objects, or different ones each time it is traced",
                rule="F4",
                where=self.location,
                hint="the body seems to keep objects that it creates in each iteration",
            ) from None

    def widen(self, widening: _NumberWidening) -> None:
        """Let a loop variable start with a number of a higher kind."""
        carried = self.carried_places[widening.key]
        leaves = list(carried.tree.leaves)
        leaf = leaves[widening.position]
        leaves[widening.position] = lift(leaf, leaf_kind(leaf), widening.kind)
        self.carried_places[widening.key] = carried._replace(tree=carried.tree._replace(leaves=leaves))

    def note_copies(self, copy: _ArrayCopy) -> None:
        """Let leaves of a loop variable be copies of arrays that change in place."""
        carried = self.carried_places[copy.key]
        copied = carried.tree.copied_arrays | copy.positions
        tree = carried.tree._replace(copied_arrays=copied)
        for source in copy.sources.values():  # the copies look for its changes themselves
            copied_arrays(source).pop(id(source), None)
        self.carried_places[copy.key] = carried._replace(tree=tree, sources={**copy.sources, **carried.sources})
        ordered = sorted(self.carried_places.items(), key=lambda item: type(item[1].place) is not ElementsPlace)
        self.carried_places = dict(ordered)  # the copies look at the sources, which come first

    @property
    def own_arrays(self) -> list[MutableArray]:
        """The arrays at the start that the loop may change, and give other names."""
        return [array for carried in self.carried_places.values() for array in carried.own_arrays.values()]

    def add_own_array(self, change: CopiedArrayChange) -> None:
        """Let a leaf of a loop variable be an array of its own, which an iteration may change. Raises the refusal of
        the change if another place may have a copy of it."""
        _, _, key, position = change.copy
        carried = self.carried_places[key]
        array = carried.tree.leaves[position]
        if isinstance(array, np.ndarray):
            make_value(array)
        outer = loop_copy(array)
        if outer is not None:
            raise CopiedArrayChange(outer, change.refusal)
        if type(array) is not MutableArray or id(array) not in self.noted_arrays or is_outside(array._tagloom_value):
            raise change.refusal
        copied_arrays(array).pop(id(array), None)
        self.carried_places[key] = carried._replace(own_arrays={**carried.own_arrays, position: array})
        self.refusals[key, position] = change.refusal
        self.carried_places.pop(ElementsPlace(array).key, None)

    def check_initial_arrays(self) -> None:
        """Raises Invalid (F4) where the loop has a copy of an array at its start that it may change."""
        own = {id(array) for array in self.own_arrays}
        for key, carried in self.carried_places.items() if own else ():
            for position, array in carried.own_arrays.items():
                if id(array) not in own:
                    raise self.refusals[key, position]
                own.discard(id(array))
        own = {id(array) for array in self.own_arrays}
        for carried in self.carried_places.values() if own else ():
            for position, leaf in enumerate(carried.tree.leaves):
                if position not in carried.own_arrays and id(owner_of(leaf)) in own:
                    raise next(iter(self.refusals.values()))

    def rename_arrays(self) -> None:
        """Note that the arrays at the start may have other names, so that they must not be used by those of before."""
        for array in self.own_arrays:
            place = ElementsPlace(array)
            record_write(place)
            place.write(Undefined(place.label, "a loop has given its name to another array"))

    def change_structure(self, change: _StructureChange, function: Specialization) -> None:
        """Let a place start with another structure. Raises Invalid (F4) if that happens too often in the loops of the
        function, and (V5) if each iteration gives the place more values."""
        function.length_changes += 1
        if function.length_changes > MAX_LENGTH_CHANGES:
            raise Invalid(
                f"iterations of a loop change the structure of {change.place.label} in too many ways",
                rule="F4",
                where=self.location,
                required=f"at most {MAX_LENGTH_CHANGES} traces of the loops of a function",
                hint="make the list before the loop, or use fewer nested loops that change lists",
            ) from None
        key = change.place.key
        carried = self.carried_places.get(key)
        content = change.place.read() if carried is None else carried.tree.rebuild(carried.tree.leaves)
        self.constants.pop(key, None)
        check_current(content)
        self.note_first_list(change.place, content)
        note_rebuilt(content)
        before, after = structure_of(content), structure_of(change.model)
        try:
            self.add(change.place, like_model(content, change.model))
        except DifferentItems:
            raise changed_structure(change.place.label, before, after, self.location) from None
        self.structure_growths[key] += after.size > before.size
        if self.structure_growths[key] > MAX_STRUCTURE_GROWTHS:
            raise growing_structure(change.place.label, before, after, self.location) from None


def stage_loop(
    test: Callable[[], Any],
    body: Callable[[], Any],
    variables: Variables,
    live_places: Iterable[Place] = (),
    parallel_iterations: int | None = None,
) -> None:
    """Trace a loop whose test is symbolic into a while_loop, and give the variables and all other changed places their
    contents after it. `live_places` are further loop variables."""
    region = current_region()
    assert region is not None, "only a trace has symbolic values"
    attributes = loop_attributes(parallel_iterations)
    start = variables.read()
    state = _LoopState(user_location())
    for variable in variables.live.values():
        state.note_first_list(variable, start[variable.label])
        is_object = type(start[variable.label]) in (list, dict, TracedSet) or has_other_names(start[variable.label])
        if is_object:  # one object, if no iteration assigns another
            state.constants[variable.key] = variable
        else:
            state.add(variable, variable.read())
    for place in live_places:
        state.add(place, place.read())
    while True:
        staged = _StagedLoop(test, body, variables, start, state)
        snapshot, outdated = region.snapshot(), dict(current_aliases().outdated_lists)
        try:
            state.check_initial_arrays()
            state.check_own_lists()
            results = staged.trace(attributes)
            break
        except Exception as error:
            is_caught = catching_try(type(error)) is not None and is_of_user(error)
            if not (is_caught or is_raised(error)):
                raise
            _rewind(region, snapshot, outdated)
            variables.write(start)
            stage_branch(test(), body, _do_nothing, variables)  # a loop that always raises makes at most one iteration
            return
        except _NumberWidening as widening:
            _rewind(region, snapshot, outdated)
            state.widen(widening)
        except _StructureChange as change:
            _rewind(region, snapshot, outdated)
            state.change_structure(change, region.specialization)
        except _ArrayCopy as copy:
            _rewind(region, snapshot, outdated)
            state.note_copies(copy)
        except _StateGrowth as growth:
            _rewind(region, snapshot, outdated)
            state.grow(growth)
        except CopiedArrayChange as change:
            if change.copy.loop is not state:
                raise
            _rewind(region, snapshot, outdated)
            state.add_own_array(change)
        except _ListRenaming as renaming:
            _rewind(region, snapshot, outdated)
            state.renamed_lists += renaming.lists
            _count_list_trace(region.specialization, state.location)
        except LoopListChange as change:
            if change.copy.loop is not state:
                raise
            _rewind(region, snapshot, outdated)
            state.add_own_list(change)
            _count_list_trace(region.specialization, state.location)
        finally:
            variables.write(start)
    state.is_traced = False
    staged.write_results(results)


def _rewind(region: RegionBuilder, snapshot: Any, outdated: dict[int, Any]) -> None:
    """Undo a trace of a loop, before it is traced again: no list has changed in it."""
    region.rewind(snapshot)
    current_aliases().outdated_lists = dict(outdated)


def _count_list_trace(function: Specialization, location: Location | None) -> None:
    """Count a trace of a loop that is repeated since its variables give each other lists. Raises Invalid (F4) where
    the loops of a function need too many."""
    function.list_traces += 1
    if function.list_traces > MAX_LIST_TRACES:
        raise Invalid(
            "the loops of a function give lists to other variables in too many ways",
            rule="F4",
            where=location,
            required=f"at most {MAX_LIST_TRACES} repeated traces",
            hint="copy a list where another variable gets it: y = x.copy()",
        ) from None


def stage_rest(
    start: tuple[RegionBuilder, int], variables: Variables, stage: Callable[[], Any], conditional_iterations: int
) -> bool:
    """Stage what is left of a loop that runs in Python, and began at this position of a region, where it is too long;
    whether that was done. A loop that cannot be staged goes on in Python; with a number of iterations that Python
    cannot unroll, it raises the reason."""
    region, first_node = start
    node_count = len(region.nodes) - first_node
    is_long = node_count > MAX_UNROLLED_NODES
    if (
        region is not current_region()
        or recording_tapes()
        or not (is_long or conditional_iterations > MAX_CONDITIONAL_ITERATIONS)
    ):
        return False
    function, location = region.specialization, user_location()
    if location in function.unrolled_loops:
        return False
    mark, contents, deferred = region.mark(), variables.read(), function.deferred_error
    failure: Exception | None = None
    with open_journal(0) as journal:
        try:
            stage()
            failure = function.deferred_error if deferred is None else None
        except Invalid as error:
            failure = error
        if failure is not None:
            journal.undo()
            variables.write(contents)
            region.reset(mark)
            function.deferred_error = deferred
    if failure is None:
        commit(journal)
    elif conditional_iterations > MAX_UNROLLED_NODES:
        raise failure
    else:
        function.unrolled_loops.add(location)
    if node_count > MAX_UNROLLED_NODES and location is not None:
        rest = "its other iterations are a loop of the program"
        outcome = rest if failure is None else f"it goes on: {failure.args[0]}"
        text = f"a loop of known length has added {node_count:,} nodes; {outcome}"
        warnings.warn_explicit(text, RuntimeWarning, location.file, location.line)
    return failure is None


def count_python_iteration(function: Specialization, variables: Variables) -> None:
    """Count an iteration of a loop that runs in Python while this function is traced. After each million iterations it
    warns, with the variables that the loop assigns; raises Invalid after MAX_PYTHON_ITERATIONS."""
    function.python_iterations += 1
    if function.python_iterations % ITERATIONS_PER_WARNING:
        return
    location, iterations = user_location(), function.python_iterations
    numbers = [f"{name} = {value}" for name, value in variables.read().items() if type(value) in (bool, int, float)]
    text = f"loops that run in Python while {function.name} is traced have run {iterations:,} iterations"
    text += f"; this one is at {', '.join(numbers[:3])}" if numbers else ""
    if iterations >= MAX_PYTHON_ITERATIONS:
        raise Invalid(
            text,
            rule="F4",
            where=location,
            required=f"fewer than {MAX_PYTHON_ITERATIONS:,}",
            hint="a loop over arguments of the function is part of the program; compute what is known before the call",
        )
    if location is not None:
        warnings.warn_explicit(text, RuntimeWarning, location.file, location.line)


def _do_nothing() -> None:
    """The other branch of the conditional around a loop: no iteration."""


class _StagedLoop:
    """The condition and the body of a loop as functions of the leaves of its state."""

    def __init__(
        self,
        test: Callable[[], Any],
        body: Callable[[], Any],
        variables: Variables,
        start: dict[str, Any],
        state: _LoopState,
    ) -> None:
        self.test, self.body, self.variables, self.start = test, body, variables, start
        self.state, self.location = state, state.location
        self.body_constants: dict[tuple[Any, ...], Any] = {}
        """The contents without leaves that the body gives to unassigned variables."""
        self.own_contents: dict[tuple[Any, ...], list[tuple[int, Any]]] = {}
        """The own arrays of each place after an iteration, with their positions."""
        self.variable_leaves: dict[tuple[Any, ...], list[Any]] = {}
        """The loop variables of each place, as the part of the loop under trace has them."""
        self.earlier_lists: Collection[int] = ()
        """The identities of the lists that there are before the part of the loop under trace."""
        self.sole_keys: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
        """The keys of places that have lists without another name after any number of iterations, each with those of
        the places that may have had its list before the loop."""

    def trace(self, attributes: Attributes) -> tuple[Any, ...]:
        """Emit the loop; returns the leaves of the state after it. Raises _StateGrowth, _StructureChange or
        _NumberWidening where it must be traced again."""
        leaves, signature = self.state.leaves, self.state.signature
        parts = LoopPart(self.evaluate_test, signature), LoopPart(self.run_body, signature)

        def trace_parts() -> tuple[Any, ...]:
            inner = current_region()
            assert inner is not None, "a loop is part of a trace"
            return trace_loop(inner, *parts, leaves, flat_treedef(len(leaves)), attributes)  # type: ignore[no-any-return]

        if recording_tapes():
            return call_as_one_step("loop", self.body, trace_parts)  # type: ignore[no-any-return]
        return trace_parts()

    def write_results(self, results: Iterable[Any]) -> None:
        """Give all places their contents after the loop, which have these leaves."""
        remaining = iter(results)
        for name, place in self.variables.places.items():
            is_constant = place.key in self.state.constants and place.key not in self.state.carried_places
            is_live_constant = is_constant and name in self.variables.live
            if is_live_constant and is_unassigned(self.start[name]) and place.key in self.body_constants:
                content = self.body_constants[place.key]
                reason = f"the loop at {self.location} assigns it, and may have no iterations"
                is_lost = is_unassigned(content)
                place.write(Undefined(name, reason) if is_lost else MaybeUnassigned(name, reason, content))
        for carried in self.state.carried_places.values():
            if not any(carried.place is place for place in self.variables.places.values()):
                record_write(carried.place)
            value = carried.rebuild([next(remaining) for _ in carried.tree.leaves])
            key, firsts = carried.place.key, self.state.first_lists
            if key in self.sole_keys and type(value) is list:
                sources = tuple(firsts[sole_key] for sole_key in self.sole_keys[key] if sole_key in firsts)
                note_sole_name(value, sources, self, is_of_loop=True)
            carried.place.write(self.partial(carried, value))
        self.state.rename_arrays()
        self.state.rename_lists()

    def evaluate_test(self, *leaves: Any) -> Any:
        """The condition, for loop variables with these leaves."""
        with open_journal() as journal, self._rename_lists():
            try:
                self._enter(leaves)
                test = read_variable(self.test())
                result = Symbol(operand) if isinstance(operand := truth_operand(test), TracedValue) else operand.value
                self._check_places(journal.originals)
            finally:
                journal.undo()
                self.variables.write(self.start)
        return result

    def run_body(self, *leaves: Any) -> tuple[Any, ...]:
        """The leaves after one iteration."""
        with open_journal() as journal, self._rename_lists():
            try:
                self._enter(leaves)
                self.body()
                self._check_places(journal.originals)
                self._check_array_variables()
                self._check_changed_arrays(journal)
                for key in self.state.constants.keys() & journal.originals.keys():
                    self._check_constant(*journal.originals[key])
                self._check_lists()
                next_leaves = [
                    leaf for carried in self.state.carried_places.values() for leaf in self._next_leaves(carried)
                ]
                for carried in self.state.carried_places.values():
                    self._check_next_arrays(carried)
                for name, place in self.variables.places.items():
                    self._check_uncarried(name, place)
            finally:
                journal.undo()
                self.variables.write(self.start)
        return tuple(next_leaves)

    @contextmanager
    def _rename_lists(self) -> Iterator[None]:
        """Surrounds the trace of a part. Raises _ListRenaming for lists from before the loop that it renames."""
        aliases = current_aliases()
        earlier, names, origins = set(aliases.created_lists), set(aliases.sole_names), dict(aliases.item_origins)
        self.earlier_lists = earlier
        with forget_renamed_lists() as renamed:
            try:
                yield
            finally:  # no code has the lists of the part any more
                aliases.sole_names = {key: name for key, name in aliases.sole_names.items() if key in names}
                aliases.item_origins = origins
        known_ids = {id(known_list) for known_list in (*self.state.renamed_lists, *self.state.first_lists.values())}
        outer_renamed = [renamed_list for renamed_list in renamed if id(renamed_list) in earlier - known_ids]
        if outer_renamed:
            raise _ListRenaming(outer_renamed)

    def _enter(self, leaves: Sequence[Any]) -> None:
        remaining = iter(leaves)
        self.variables.write(self.start)
        for place in self.variables.live.values():
            if place.key in self.state.first_lists:
                note_loop_list(self.state.first_lists[place.key], self.state, place)
        for carried in self.state.carried_places.values():
            record_write(carried.place)
            own_leaves = [next(remaining) for _ in carried.tree.leaves]
            self.variable_leaves[carried.place.key] = own_leaves
            value = carried.rebuild(own_leaves)
            self._note_copies(carried, value)
            if not isinstance(carried.place, ItemsPlace):
                note_loop_list(value, self.state, carried.place)
            carried.place.write(self.partial(carried, value))
        self.state.rename_arrays()
        self.state.rename_lists()

    def _note_copies(self, carried: CarriedPlace, value: Any) -> None:
        """Note the arrays in a loop variable that may become its own."""
        copied = carried.copied_arrays
        leaves = flatten_state(value).leaves if copied else []
        for position in copied:
            array = leaves[position]
            copy = LoopCopy(array, self.state, carried.place.key, position)
            current_aliases().loop_copies[id(array)] = copy

    def partial(self, carried: CarriedPlace, value: Any) -> Any:
        """The content of a variable: one without a value before the loop may have none."""
        name = carried.place.label
        is_own = self.variables.places.get(name) is carried.place and is_unassigned(self.start[name])
        if not is_own and carried.place.key not in self.state.unassigned_keys:
            return value
        return MaybeUnassigned(name, f"the loop at {self.location} assigns it, and may have no iterations", value)

    def _check_places(self, originals: dict[tuple[Any, ...], tuple[Place, Any]]) -> None:
        """Raises _StateGrowth where places were changed that are not loop variables yet."""
        own = {place.key for place in self.variables.places.values()}
        own |= {ElementsPlace(array).key for array in self.state.own_arrays}
        grown = [
            originals[key]
            for key in originals
            if key not in own and key not in self.state.carried_places and key not in self.state.constants
        ]
        if grown:
            raise _StateGrowth(grown)

    def _next_leaves(self, carried: CarriedPlace) -> list[Any]:
        content = carried.place.read()
        if isinstance(content, MaybeUnassigned):
            content = content.value
        if is_unassigned(content):
            reason = content.reason if isinstance(content, Undefined) else "the body deletes it"
            raise unassigned_variable(carried.place.label, reason, self.location)
        if not carried.has_own_list:
            note_rebuilt(content)  # the next iteration and what follows the loop have copies of its lists
        tree = split(content, own={*carried.own_arrays, *carried.sources})
        unified = content
        if tree.treedef != carried.tree.treedef:
            start = unflatten(carried.tree.treedef, self.variable_leaves[carried.place.key])
            try:
                unified = self._unify_with_start(carried.place, start, content)
                tree = split(unified)
            except DifferentItems:
                raise changed_structure(
                    carried.place.label, carried.tree.treedef, tree.treedef, self.location
                ) from None
        if tree.treedef != carried.tree.treedef:
            raise _StructureChange(carried.place, prototype(unified))
        if not tree.treedef.has_order_of(carried.tree.treedef):
            raise changed_order(carried.place.label, carried.tree.treedef, tree.treedef, self.location)
        self._check_copies(carried, tree)
        self.own_contents[carried.place.key] = [(position, tree.leaves[position]) for position in carried.own_arrays]
        leaves = current_values(tree.leaves)
        return [self._convert_number(carried, position, leaf) for position, leaf in enumerate(leaves)]

    def _check_lists(self) -> None:
        """Find the lists after an iteration that have no other name. Raises Invalid (F4) where an own list has one."""
        contents = {carried.place.key: carried.place.read() for carried in self.state.carried_places.values()}
        contents |= {place.key: place.read() for place in self.variables.live.values()}
        check_current(*map(_assigned_value, contents.values()))
        sole_keys = _sole_keys(contents)
        for key in self.state.list_refusals.keys() & sole_keys:
            own_loop_lists([_assigned_value(contents[key])], self.state.list_refusals[key])
        own_keys = {
            key
            for key in sole_keys
            if (key in self.state.first_lists or is_unassigned(self._first_content(key)))
            and self.state.has_sole_first_list(key)
            and not is_from(_assigned_value(contents[key]), self.earlier_lists)
        }
        self.sole_keys = _closed_sources(
            {key: {key, *self._former_places(_assigned_value(contents[key]))} for key in own_keys}
        )
        for key, refusal in self.state.list_refusals.items():
            if key not in self.sole_keys:
                raise refusal

    def _former_places(self, value: list[Any]) -> Iterator[tuple[Any, ...]]:
        """The keys of the places that may have had a list before the iteration; None for one of another loop."""
        for copy in loop_lists_of(value):
            yield copy.place.key if copy.loop is self.state else (None,)

    def _first_content(self, key: tuple[Any, ...]) -> Any:
        return next((self.start[name] for name, place in self.variables.places.items() if place.key == key), None)

    @staticmethod
    def _check_changed_arrays(journal: Journal) -> None:
        """Raises Invalid (F4) where an iteration has changed an array, and then made a copy of it that the next one may
        use."""
        arrays = [place.array for place, _ in journal.originals.values() if isinstance(place, ElementsPlace)]
        for array in arrays:
            if type(array) is MutableArray and id(array) not in journal.created_objects:
                check_not_copied(array)

    def _check_copies(self, carried: CarriedPlace, tree: Tree) -> None:
        """Raises _ArrayCopy for copies of arrays that the loop variable does not have yet; Invalid (F4) for a copy of
        another array than that of which it may be a copy."""
        owners = {
            position: owner_of(tree.leaves[position]) for position in tree.copied_arrays - carried.own_arrays.keys()
        }
        changed = {
            position: owner
            for position, owner in owners.items()
            if owner is not None and ElementsPlace(owner).key in self.state.carried_places
        }
        if tree.copied_arrays - carried.tree.copied_arrays or changed.keys() - carried.sources.keys():
            raise _ArrayCopy(carried.place.key, tree.copied_arrays, changed)
        for position, source in carried.sources.items():
            if owners.get(position) is not source:
                note_copied_arrays([tree.leaves[position]])
                check_not_copied(changed.get(position))

    def _check_next_arrays(self, carried: CarriedPlace) -> None:
        """Raises Invalid (F4) if another place also has such an array after an iteration, or the array was there before
        the loop. An array that is copied in the loop must become an array of its own, too."""
        journal, others = active_journal(), set[int]()
        assert journal is not None, "the body of a loop has one"
        for key, contents in self.own_contents.items():
            others |= {id(array) for _, array in contents if key != carried.place.key}
        for position, array in self.own_contents[carried.place.key]:
            refusal = self.state.refusals[carried.place.key, position]
            copy = loop_copy(array)
            if copy is not None and copy.loop is self.state:
                raise CopiedArrayChange(copy, refusal)
            if type(array) is np.ndarray:
                make_value(array)
            is_copied = id(array) in others or id(array) in copied_arrays(array)
            if type(array) is not MutableArray or is_copied or id(array) not in journal.created_objects:
                raise refusal
            others.add(id(array))

    def _check_array_variables(self) -> None:
        """Raises _StateGrowth for the variables that an iteration gives another array."""
        grown = [
            (place, self.start[name])
            for name, place in self.variables.live.items()
            if place.key not in self.state.carried_places
            and has_other_names(self.start[name])
            and place.read() is not self.start[name]
        ]
        if grown:
            raise _StateGrowth(grown)

    def _convert_number(self, carried: CarriedPlace, position: int, leaf: Any) -> Any:
        """A leaf after an iteration: a number of the kind that the loop variable has. Raises _NumberWidening where it
        is of a higher kind."""
        variable = self.variable_leaves[carried.place.key][position]
        kind = unify_numbers(variable, leaf)
        start = carried.tree.leaves[position]
        if position in column_positions(carried.tree.treedef):
            kinds = leaf_kind(variable), leaf_kind(leaf)
            if None not in kinds and higher_kind(*map(str, kinds)) != kinds[0]:
                raise _NumberWidening(carried.place.key, position, str(kinds[1]))
            return lift(leaf, *kinds)
        if kind is None and type(start) in (bool, int) and _is_float(leaf):  # of a different dtype than float64
            raise _NumberWidening(carried.place.key, position, "f")
        if kind is None:
            return leaf
        if number_kind(variable) != kind:
            raise _NumberWidening(carried.place.key, position, kind)
        return to_kind(leaf, kind)

    def _check_constant(self, place: Place, before: Any) -> None:
        """A place whose content is not a value must have an equal content after an iteration."""
        content = place.read()
        if place in self.variables.places.values() or is_same(content, before):
            return
        if isinstance(place, CellPlace) and is_unassigned(before):
            start = zeros_like(content.value if isinstance(content, MaybeUnassigned) else content)
            if is_unassigned(content) and is_unassigned(start):
                return
            if not is_unassigned(start) and split(start).leaves:
                raise _StateGrowth([(place, start)])
        if is_unassigned(content) or is_unassigned(before) or not _are_equal(split(content), split(before)):
            self._check_structure(place, before, content)
            raise changed_constant(place.label, before, content, self.location)

    @staticmethod
    def _unify_with_start(place: Place, start: Any, content: Any) -> Any:
        """The content of a place after an iteration, with the structure that it has together with the one before.
        Raises DifferentItems where there is none: an object that the body creates stands for one of each iteration."""
        journal = active_journal()
        assert journal is not None, "the body of a loop has one"
        request_records(item for item in static_objects(content) if id(item) in journal.created_objects)
        unified = unify_options([start, content], is_repeated=True)[1]
        is_created = any(id(item) in journal.created_objects for item in static_objects(unified))
        if is_created or (isinstance(place, ItemsPlace) and isinstance(unified, Choice)):
            raise DifferentItems
        return unified

    @staticmethod
    def _is_lasting(content: Any) -> bool:
        """Whether a content without leaves is the same after each iteration: not an object that the body creates."""
        journal = active_journal()
        assert journal is not None, "the body of a loop has one"
        created = [item for item in static_objects(content) if id(item) in journal.created_objects]
        request_records(created)
        is_function = type(content) is FunctionType and content.__closure__ is None
        return not created and (content is None or type(content) is str or is_function or has_attributes(content))

    def _check_structure(self, place: Place, before: Any, content: Any) -> None:
        """Raises _StructureChange if an empty place has a list with values, or another option of a choice, after an
        iteration; and Invalid if the keys of a dict are in another order."""
        with suppress(DifferentItems):
            raise _StructureChange(place, prototype(self._unify_with_start(place, before, content)))
        start, tree = split(before).treedef, split(content).treedef
        if tree == start and not tree.has_order_of(start):
            raise changed_order(place.label, start, tree, self.location)

    def _check_uncarried(self, name: str, place: Place) -> None:
        """A variable that is not a value must stay the same object, if it is read in a later iteration or after the
        loop."""
        if name not in self.variables.live or place.key in self.state.carried_places:
            return
        content, before = place.read(), self.start[name]
        if is_unassigned(before):
            content = content.value if isinstance(content, MaybeUnassigned) else content
            start = zeros_like(content)
            if not is_unassigned(start) and split(start).leaves:
                raise _StateGrowth([(place, start)])
            if not is_unassigned(content):
                self.body_constants[place.key] = content if self._is_lasting(content) else UNBOUND
            return
        if not is_same(content, before):
            if type(before) in (list, dict, TracedSet) and not split(before).leaves and split(content) == split(before):
                note_rebuilt([before, content])  # equal lists without values
                note_loop_list(before, self.state, place)
                return
            self._check_structure(place, before, content)
            raise Invalid(
                f"loop variable {name} changes, but it is not a value of a program",
                rule="V5",
                where=self.location,
                required=f"{before!r} after each iteration"[:200],
                got=repr(content)[:200],
                hint="a loop whose condition is symbolic can carry numbers and arrays, in tuples, lists and dicts",
            )


def _are_equal(first: Tree, second: Tree) -> bool:
    """Whether two pieces of state have one structure, and leaves that are the same."""
    return first.treedef == second.treedef and all(map(is_same, first.leaves, second.leaves))


def _stage_as_one_step(name: str, original: Callable[..., Any], stage: Callable[[], Any], variables: Variables) -> Any:
    """Stage a branch as a function of its own, which active tapes record as one step."""
    start = variables.read()
    contents: list[Any] = []
    trees: list[Tree] = []

    def run() -> Any:
        variables.write(start)
        result = stage()
        contents[:] = [result, *(place.read() for place in variables.places.values())]
        variables.write(start)
        values = [content.value if isinstance(content, MaybeUnassigned) else content for content in contents]
        trees[:] = [Tree([], flat_treedef(0)) if is_unassigned(value) else split(value) for value in values]
        return tuple(leaf for tree in trees for leaf in tree.leaves) or (False,)

    leaves = iter(call_as_one_step(name, original, run))

    def rebuild(content: Any, tree: Tree) -> Any:
        is_maybe = isinstance(content, MaybeUnassigned) and not is_unassigned(content.value)
        if is_unassigned(content) and not is_maybe:
            return content
        value = tree.rebuild([next(leaves) for _ in tree.leaves])
        return MaybeUnassigned(content.name, content.reason, value, content.condition) if is_maybe else value

    result, *merged = [rebuild(*pair) for pair in zip(contents, trees, strict=True)]
    variables.write(dict(zip(variables.places, merged, strict=True)))
    return result
