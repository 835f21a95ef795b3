"""Tracing: a Python function runs on symbolic values, and the operations that it applies become a program.

This module has the functions and regions under trace, their names and values, the inference of result types, and the
emission of the program. `symbol`, and the functions that users call, are built on top of it.

The file goes from the whole to its parts, callers before callees: `ProgramBuilder` builds a program, `Specialization`
is one of its functions, `RegionBuilder` a region of a function, `TracedValue` a value in a region. At the end,
`emit_program` assembles the program.

Each function is traced once per list of argument types (a `Specialization`), and its result types are inferred to a
fixpoint. A function starts with no result types. It gets the types of the branches that return without needing them,
and then the narrowest types that admit every result. It is traced again when the signature of a function that it calls
has changed, until nothing changes. This terminates, because types only widen, and a Python number whose type is settled
keeps it. A trace that fails with a type error yields no result types; the error is raised if the fixpoint still has it.
So the result types of a function depend on the function and its callees, not on its callers or the order of tracing.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import CellType, CodeType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...dtypes import BY_PYTHON, PYTHON_DTYPES, DType, promote
from ...errors import Invalid, TagloomError, Usage, describe_class
from ...ops.effects import lookup_row
from ...ops.op import Attributes
from ...program.program import (
    MAX_NESTING,
    STRUCTURED_OPS,
    FunctionDef,
    Location,
    Node,
    Operand,
    Program,
    Region,
    UniqueNames,
    Var,
)
from ...recursion import recursion_limit
from ...types import Type
from ...value import Literal, literal
from .aliases import Aliases, AliasMark
from .annotation import FunctionSpec
from .captures import Resource, VariableBase, constant_resource, literal_resource, sort_resources
from .choice import Choice
from .pytree import (
    TreeDef,
    TreeType,
    array_hint,
    attributes_of,
    describe_difference,
    flatten,
    has_packed_rows,
    is_dataclass_instance,
    is_named_tuple,
    is_number_list,
    is_python_constant,
    is_record_class,
    is_text_structure,
    is_user_object,
    leaf_names,
    leaf_paths,
    read_variables,
    result_treedef,
    separate_rows,
    unflatten,
)
from .source_location import definition_location, forget_calls, traced_user_location, user_location, user_name_of
from .stacked_items import DICT_CLASSES, StackedItems, is_stacked_array, stack_as_array
from .text import AS_CHARACTERS, CodePoints
from .unusable_value import UnusableValue

MAX_LITERAL_ELEMENTS = 64
"""The most elements of an array that a program has as a literal; larger constants become hidden arguments."""

MAX_CONSTANTS = 1000
"""The most constants of one program that are hidden arguments; more count as an endless recursion."""

MAX_FUNCTIONS = 1000
"""The most functions that one program may have; more count as an endless recursion."""

MAX_GROWING_CALLS = 100
"""The most calls in a row of a function by itself with larger arguments; more count as an endless recursion."""

MAX_NESTED_TRACES = 12
"""The most functions traced inside one another, so that Python's stack does not overflow."""

MAX_NESTED_LOCALS = 48
"""The most local functions traced inside one another; they cannot be traced later."""

MAX_NESTING_ERRORS = 8
"""How often local functions may nest too deep. Each loop traces the calls in it again where a trace fails, so an
endless recursion through loops would fail once for each of 2**MAX_NESTED_LOCALS ways to trace it."""

_RECURSION_LIMIT = 40 * MAX_NESTING
"""The recursion limit while a function is traced, in Python frames: a region nested in another takes up to 14."""


@contextmanager
def refuse_deep_recursion(function_spec: FunctionSpec) -> Iterator[None]:
    """A context in which a function is traced, and Python's RecursionError is Invalid."""
    try:
        with recursion_limit(_RECURSION_LIMIT):
            yield
    except RecursionError:
        raise Invalid(
            f"Python's calls nest too deeply while tagloom traces {function_spec.name}",
            where=definition_location(function_spec.python_function.__code__),
            required=f"at most {_RECURSION_LIMIT:,} nested calls of Python; each recursive call makes several of them",
            hint="a recursion that counts down from a Python number is written out call by call; pass the number to "
            "the tl.function as an argument, and its program has one function for all depths",
            python=RecursionError,
        ) from None


class ProgramBuilder:
    """Builds a program: traces an entry function and all functions that it calls."""

    def __init__(
        self,
        make_symbol: Callable[[TracedValue], object],
        *,
        may_create_variables: bool = True,
        prepare: Callable[[Any], Any] = lambda python: python,
        convert: Callable[[Any], Any] = lambda python: python,
        changed_arrays: frozenset[str] | None = None,
        record_classes: Mapping[type, bool] | None = None,
    ) -> None:
        """`make_symbol` wraps a value as a symbol; `may_create_variables` says whether the functions may create
        variables while they are traced. `prepare` returns the function to call for the body of a function of the
        program, and `convert` returns the function to call for a branch or a part of a loop. `changed_arrays` is what
        earlier attempts have found out about arrays that change in place (`ChangedArray`), and `record_classes` what
        they have found out about instances of classes (`RecordRequest`); None if all are what they are by default."""
        self.record_classes = record_classes
        self.make_symbol, self.prepare, self.convert = make_symbol, prepare, convert
        self.may_create_variables = may_create_variables
        self.created_variables: list[Resource] = []
        """The variables created during tracing."""
        self.names = UniqueNames()
        self.callbacks: dict[str, Callable[..., Any]] = {}
        """The Python functions that the program calls back, by their names in it; filled by `emit_program`."""
        self.captured_values: dict[tuple[Specialization, str, Type], Resource] = {}
        """The symbolic values that nested functions close over, as resources."""
        self.created_arrays: dict[int, Any] = {}
        """The concrete arrays created during tracing, by identity; small ones are literals of the program."""
        self.captured_arrays: dict[int, Resource] = {}
        """The concrete arrays that functions close over, by identity."""
        self.captured_constants: set[Resource] = set()
        """The large constants of functions."""
        self.specializations: dict[tuple[FunctionSpec, tuple[TreeType, ...], WeakTypes], Specialization] = {}
        self.local_functions: dict[tuple[CodeType, Region | None], list[Specialization]] = {}
        """The local functions that calls use, by the code that they come from; equal ones are there once."""
        self.inlined_codes: set[CodeType] = set()
        """The code of Python functions whose calls cannot be calls of the program."""
        self.advanced_iterators: dict[int, Any] = {}
        """The iterators whose positions are known only at run time, by identity."""
        self.changed_arrays = changed_arrays
        """The lines that create arrays of NumPy which then get symbolic elements; None if no array changes in place."""
        self.has_new_arrays = False
        """Whether a function has created a symbolic array by NumPy."""
        self.known_arrays: dict[int, tuple[weakref.ref[Any], str]] = {}
        """The arrays of NumPy that functions have created while they were traced, by identity, with their lines."""
        self.copied_arrays: dict[int, Any] = {}
        """The arrays of NumPy that the trace has copied, by identity, each with the line of the copy: any function
        under trace may change one."""
        self.open_line: Any = None
        """The line that `print(..., end=...)` has begun in the function under trace, as an `OpenLine`."""
        self.nesting_depth = 0
        self.nesting_errors: list[Invalid] = []
        """One for each time that local functions have nested too deep."""

    def infer_entry_types(
        self, function_spec: FunctionSpec, argument_types: tuple[TreeType, ...], numbers: WeakTypes
    ) -> tuple[TreeType, ...]:
        """The types of the arguments of a user's call in its program; see `infer_number_types`."""
        try:
            with refuse_deep_recursion(function_spec):
                return self.infer_number_types(function_spec, argument_types, numbers)
        finally:
            self._release()

    def build_program(
        self, function_spec: FunctionSpec, argument_types: tuple[TreeType, ...]
    ) -> tuple[Program, ResultSignature]:
        """The program whose entry is this function, and the entry's signature: results and resources.

        Raises Invalid or Usage where the function cannot be traced, and any exception that the user's code raises.
        """
        try:
            with refuse_deep_recursion(function_spec), forget_calls():
                return self._build_program(function_spec, argument_types)
        except KeyboardInterrupt as interrupt:
            location = definition_location(function_spec.python_function.__code__)
            interrupt.add_note(f"Python was tracing {function_spec.name}, defined at {location}")
            raise
        finally:
            self._release()

    def _build_program(
        self, function_spec: FunctionSpec, argument_types: tuple[TreeType, ...]
    ) -> tuple[Program, ResultSignature]:
        entry = self.specialize(function_spec, argument_types, (), None)
        self.infer_to_fixpoint(entry)
        functions = reachable_specializations(entry)
        for function in functions:
            if function.deferred_error is not None:
                raise function.deferred_error
        check_functions_return(functions)
        if entry.signature is None:  # a pullback of a function whose captures change
            raise Invalid(
                f"{function_spec.name} closes over different arrays each time it is traced",
                where=entry.location,
                hint="make its arrays once, outside; tl.normal and the like draw random ones",
            )
        return emit_program(called_specializations(functions), self.callbacks), entry.signature

    def specialize(
        self,
        function_spec: FunctionSpec,
        argument_types: tuple[TreeType, ...],
        weak: WeakTypes,
        caller: Specialization | None,
    ) -> Specialization:
        """The specialization of a function for these argument types, not yet traced if it is new.

        Raises Invalid where the program gets too many functions."""
        key = (function_spec, argument_types, weak)
        if key not in self.specializations:
            if len(self.specializations) >= MAX_FUNCTIONS:
                raise Invalid(
                    f"this program has more than {MAX_FUNCTIONS:,} functions",
                    where=definition_location(function_spec.python_function.__code__),
                    hint="a new tl.function seems to be made at every call; define it once, outside",
                )
            signature = (
                ResultSignature.from_tree_type(function_spec.result_type)
                if function_spec.result_type
                else previous_signature(function_spec, argument_types, weak, caller)
            )
            growing_calls = count_growing_calls(function_spec, argument_types, caller)
            if growing_calls > MAX_GROWING_CALLS:
                raise Invalid(
                    f"{function_spec.name} calls itself with larger arguments, {growing_calls} times in a row",
                    rule="F4",
                    where=definition_location(function_spec.python_function.__code__),
                    required="arguments whose types and sizes are the same in each call, from some depth on",
                    got=f"{count_elements(argument_types):,} elements, more at each call",
                    hint="the program has one function for each size; keep the items in an array of fixed size",
                )
            name = self.names.fresh_name(function_spec.identifier)
            self.specializations[key] = Specialization(
                self, name, function_spec, argument_types, weak, signature, growing_calls=growing_calls
            )
        return self.specializations[key]

    def infer_to_fixpoint(self, entry: Specialization) -> None:
        """Trace until every function agrees with the signatures of its callees. Weak results that are left then get
        their default types, starting with the functions that depend on no other weak results."""
        while True:
            functions = reachable_specializations(entry)
            stale = [function for function in functions if function.is_stale and not function.function_spec.is_local]
            for function in stale:
                # a new trace of its caller may have updated or replaced the function
                if function.is_stale and function in reachable_specializations(entry):
                    self.trace_specialization(function)
            if not stale and not settle_weak_results(functions, [f for f in functions if not f.function_spec.is_local]):
                return

    def infer_locally(self, entry: Specialization) -> None:
        """`infer_to_fixpoint` for a local function, at its first call, and for the local functions that it calls. Weak
        results stay weak if they depend on functions whose types are not final yet."""
        is_settled = False
        while True:
            functions = reachable_specializations(entry)
            local = [function for function in functions if function.function_spec.is_local]
            if entry.is_stale:
                outdated = [function for function in local if function.is_outdated and not function.is_under_trace]
                previous, function = entry.signature, outdated[0] if outdated and is_settled else entry
                self.trace_specialization(function)
                is_settled = entry.signature == previous  # so another trace of it would leave the others as they are
                continue
            others = [function for function in functions if not function.function_spec.is_local]
            if any(
                candidate.signature is None or candidate.has_weak_results or candidate.is_stale for candidate in others
            ):
                return
            if not settle_weak_results(functions, local):
                return

    def trace_specialization(self, function: Specialization) -> None:
        """Trace the body of a function on symbolic parameters, and update its signature.

        If an argument is a list of lists, and the function changes rows or would be refused otherwise, each row is
        traced as a list of its own, so that the trace can tell the rows apart."""
        function.is_under_trace = True
        signature = function.signature
        is_last = function.has_rows_of_their_own or not any(has_packed_rows(t.treedef) for t in function.argument_types)
        try:
            try:
                self._trace_body(function)
            except TagloomError:
                if is_last:
                    raise
                function.aliases.has_row_writes = True
            if function.aliases.has_row_writes and not is_last:
                function.has_rows_of_their_own, function.signature = True, signature
                self._trace_body(function)
        except BaseException:
            function.is_invalidated = True  # its body is that of an earlier trace
            raise
        finally:
            function.is_under_trace = False

    def _trace_body(self, function: Specialization) -> None:
        previous_callees = tuple(function.callee_signatures or ())
        function.discard_trace()
        function.previous_callees, function.callee_signatures = previous_callees, {}
        function.is_invalidated, function.callbacks, function.auxiliary_functions = False, [], []
        region = RegionBuilder(function, UniqueNames())
        weak = iter(function.weak_arguments)
        for (name, _), tree_type in zip(
            function.function_spec.declared_parameters, function.argument_types, strict=True
        ):
            for leaf_name, type_ in zip(leaf_names(tree_type.treedef, name), tree_type.types, strict=True):
                region.add_parameter(leaf_name, type_, function.location, next(weak, None))
        symbols = map(self.make_symbol, region.parameters)
        function.region = region
        try:
            with enter_region(region):
                arguments = [unflatten(t.treedef, [next(symbols) for _ in t.types]) for t in function.argument_types]
                if function.has_rows_of_their_own:
                    arguments = list(map(separate_rows, arguments))
                contents = list(map(container_contents, arguments))
                python = self.prepare(function.function_spec.python_function)
                returned_value = read_variables(python(*arguments))
        except NoTypeYet:
            return
        except TagloomError as error:
            function.defer_error(function.deferred_error or error)
            return
        except Exception:
            if function.deferred_error is None:
                raise
            return  # probably a consequence of the deferred error
        try:
            with enter_region(region):
                signature, results = infer_results(function, returned_value, may_be_empty=bool(region.store))
            assigned = region.assigned_variables()
            operands = [region.as_operand(result) for result in (*results, *map(region.read_resource, assigned))]
        except TagloomError as error:
            error.where = function.location  # no line of the body is running any more
            function.deferred_error = function.deferred_error or error
            return
        captures = sort_resources(function.captures)
        changed = tuple(position for position, content in enumerate(contents) if not is_unchanged(content))
        function.signature = replace(
            signature, captures=captures, assigned_variables=assigned, changed_arguments=changed
        )
        parameters = [*region.parameters, *(function.captures[resource] for resource in captures)]
        function.body = region.close(parameters, operands)

    def resolve_call(
        self,
        function_spec: FunctionSpec,
        argument_types: tuple[TreeType, ...],
        weak: WeakTypes,
        numbers: WeakTypes,
        caller: Specialization,
    ) -> tuple[Specialization, ResultSignature]:
        """The specialization that a call under trace calls, and its signature; raises NoTypeYet where it has none yet.
        `weak` are the arguments with weak values, `numbers` those that are Python numbers.

        A new specialization is traced at once, inside the trace of its caller, up to MAX_NESTED_TRACES deep."""
        if function_spec.is_local:
            return self._resolve_local_call(function_spec, argument_types, weak, caller)
        callee = self._find_callee(function_spec, argument_types, weak, caller)
        has_error = callee.deferred_error is not None
        if any(numbers) and (has_error or other_dtypes(callee, numbers)):
            types = self.infer_number_types(function_spec, argument_types, numbers)
            pairs = zip(flat_types(types), flat_types(argument_types), weak, strict=False)
            weak = tuple(number if type_ == own_type else None for type_, own_type, number in pairs)
            callee = self._find_callee(function_spec, types, weak if any(weak) else (), caller)
        assert caller.callee_signatures is not None
        caller.callee_signatures.setdefault(callee, callee.signature)
        if callee.signature is None:
            raise NoTypeYet
        return callee, callee.signature

    def _find_callee(
        self, function_spec: FunctionSpec, argument_types: tuple[TreeType, ...], weak: WeakTypes, caller: Specialization
    ) -> Specialization:
        """The specialization of a function for these arguments, traced now if it is new and not too deep."""
        callee = self.specialize(function_spec, argument_types, weak, caller)
        if callee.signature is None and callee.callee_signatures is None and self.nesting_depth < MAX_NESTED_TRACES:
            self.nesting_depth += 1
            try:
                self.trace_specialization(callee)
            finally:
                self.nesting_depth -= 1
        return callee

    def infer_number_types(
        self, function_spec: FunctionSpec, argument_types: tuple[TreeType, ...], numbers: WeakTypes
    ) -> tuple[TreeType, ...]:
        """The argument types of a call with Python numbers. A number takes the dtype, of its kind, that recursive calls
        of the function give to the parameter, as a loop variable takes that of its next value. Otherwise it takes the
        dtype for which the results have the same types as for a number in its place. `numbers` are the weak values of
        the leaves that are Python numbers.

        The function is traced with the numbers as weak values, until no type changes."""
        while any(numbers):
            callee = self.specialize(function_spec, argument_types, numbers, None)
            if callee.callee_signatures is None:
                try:
                    self.trace_specialization(callee)
                except (Invalid, Usage):  # if it remains without weak values, the caller raises it
                    return argument_types
            types, remaining = flat_types(argument_types), list(numbers)
            recursive_types: list[set[Type]] = [set() for _ in types]
            for specialization in reachable_specializations(callee):
                if specialization.function_spec == function_spec and len(
                    flat_types(specialization.argument_types)
                ) == len(types):
                    weak = specialization.weak_arguments or (None,) * len(types)
                    for number_types, type_, weak_value in zip(
                        recursive_types, flat_types(specialization.argument_types), weak, strict=True
                    ):
                        number_types.update([type_] if weak_value is None else [])
            for k, number in enumerate(numbers):
                if number is not None and len(recursive_types[k]) == 1:
                    (type_,) = recursive_types[k]
                    if type_ != types[k] and type_.is_scalar and type_.dtype.kind in number_kinds(number):
                        types[k], remaining[k] = type_, None
            if remaining == list(numbers):
                break
            argument_types, numbers = unflatten_types(argument_types, types), tuple(remaining)
        for k, number in enumerate(numbers):
            if number is not None:
                argument_types, numbers = self._fit_number(function_spec, argument_types, numbers, k)
        return argument_types

    def _fit_number(
        self, function_spec: FunctionSpec, argument_types: tuple[TreeType, ...], numbers: WeakTypes, position: int
    ) -> tuple[tuple[TreeType, ...], WeakTypes]:
        """The argument types, and the remaining weak values. The function may have values of only one other dtype of
        the number's kind. Then the number at this position gets that dtype, if the results have the types that a weak
        value gives them with that dtype, but not with the number's own type."""
        without_number = (*numbers[:position], None, *numbers[position + 1 :])
        weak_callee = self._trace_alone(function_spec, argument_types, numbers)
        own_callee = self._trace_alone(function_spec, argument_types, without_number)
        required = None if weak_callee.signature is None else weak_callee.signature.result_types
        dtypes_ = other_dtypes(weak_callee, numbers[position : position + 1])
        if required is None or len(dtypes_) != 1:
            return argument_types, numbers
        (dtype,), types = dtypes_, flat_types(argument_types)
        types[position] = Type(dtype)
        fitted_types = unflatten_types(argument_types, types)
        if has_results(own_callee, required):
            return argument_types, numbers
        callee = self._trace_alone(function_spec, fitted_types, without_number)
        return (fitted_types, without_number) if has_results(callee, required) else (argument_types, numbers)

    def _trace_alone(
        self, function_spec: FunctionSpec, argument_types: tuple[TreeType, ...], numbers: WeakTypes
    ) -> Specialization:
        """The specialization of a function for these types and weak values, traced for its results only. It has no
        signature if it cannot be traced."""
        callee = self.specialize(function_spec, argument_types, numbers if any(numbers) else (), None)
        if callee.callee_signatures is None:
            with suppress(Invalid, Usage):
                self.trace_specialization(callee)
        return callee

    def _resolve_local_call(
        self, function_spec: FunctionSpec, argument_types: tuple[TreeType, ...], weak: WeakTypes, caller: Specialization
    ) -> tuple[Specialization, ResultSignature]:
        """`resolve_call` for a local function. It is inferred here and now, and replaced by an equal one, if there is
        one already. Raises Invalid where local functions nest too deep."""
        callee = self.specialize(function_spec, argument_types, weak, None)
        if callee.callee_signatures is None:
            if self.nesting_depth > 0 and len(self.nesting_errors) >= MAX_NESTING_ERRORS:
                raise self.nesting_errors[0]
            if self.nesting_depth >= MAX_NESTED_LOCALS:
                error = Invalid(
                    f"{function_spec.name} calls itself with new types or objects each time",
                    rule="F4",
                    where=function_spec.location,
                    required=f"{MAX_NESTED_LOCALS} nested traces at most",
                    hint="a recursion may pass on longer lists and strings; a longer tuple or dict has another type",
                )
                self.nesting_errors.append(error)
                raise error
            self.nesting_depth += 1
            try:
                self.infer_locally(callee)
            finally:
                self.nesting_depth -= 1
        signature, callee = callee.signature, self._share(callee)
        assert caller.callee_signatures is not None
        caller.callee_signatures.setdefault(callee, callee.signature)
        if signature is None:
            raise NoTypeYet
        return callee, signature

    def _share(self, function: Specialization) -> Specialization:
        """A local function that is equal to a new one, or the new one, for later calls. A stale candidate is left out:
        its caller's trace was replaced, and nothing would trace it again. A stale new one is not replaced: its next
        trace may have another body."""
        if function.signature is None or function.is_under_trace or function.is_stale:
            return function
        key = function.function_spec.python_function.__code__, number_callees(function)
        others = self.local_functions.setdefault(key, [])
        for candidate in others:
            if is_same_function(function, candidate) and not candidate.is_stale:
                return candidate
        others.append(function)
        return function

    def is_open(self, value: TracedValue) -> bool:
        """Whether a symbolic value belongs to the latest trace of a function, so that another one may close over it."""
        return (
            value.region.specialization.program_builder is self
            and value.region.outermost is value.region.specialization.region
        )

    def capture_value(self, value: TracedValue) -> Resource:
        """A symbolic value of an enclosing function, as a resource."""
        owner = value.region.specialization
        resource = self.captured_values.setdefault(
            (owner, value.name, value.type), Resource(value.name, value.type, value, owner=owner)
        )
        resource.stored_value = value
        return resource

    def capture_constant(self, value: Any, constant: Literal) -> Resource | None:
        """The resource of a concrete value: of an array that is older than this trace, or of a large constant; None for
        a literal of the program.

        Raises Invalid where the program gets too many constants."""
        if hasattr(value, "_tagloom_literal") and id(value) not in self.created_arrays:
            if id(value) not in self.captured_arrays:
                self.captured_arrays[id(value)] = constant_resource(value, user_name_of)
            return self.captured_arrays[id(value)]
        if np.size(constant.value) <= MAX_LITERAL_ELEMENTS:  # type: ignore[arg-type]
            return None
        resource = literal_resource(constant, user_name_of(value) or "constant")
        self.captured_constants.add(resource)
        if len(self.captured_constants) > MAX_CONSTANTS:
            raise Invalid(
                f"this program has more than {MAX_CONSTANTS:,} arrays as constants",
                where=user_location(),
                hint="a new array seems to be made at every trace; make it once, outside",
            )
        return resource

    def register_variable(self, variable: Resource) -> None:
        """Record a new variable; raises Usage where the trace may not create any."""
        if not self.may_create_variables:
            raise Usage(
                f"variable {variable.name} is created in every trace of this function",
                where=user_location(),
                required="variables that exist before the call, or are created in the first trace only",
                hint="create it outside; or keep it, as in: if self.w is None: self.w = tl.Variable(...)",
            )
        self.created_variables.append(variable)

    def register_array(self, array: Any) -> None:
        """Record a concrete array as created in this trace, which makes it a literal."""
        self.created_arrays[id(array)] = array

    def _release(self) -> None:
        """Break the reference cycles of a trace, so that its memory is freed without a garbage collection. Symbolic
        values that user code still holds then belong to no open region."""
        for function in self.specializations.values():
            function.discard_trace()
        self.specializations, self.captured_values, self.local_functions = {}, {}, {}


def settle_weak_results(functions: Sequence[Specialization], candidates: Sequence[Specialization]) -> bool:
    """Give weak results of the candidates that depend on no other weak results their default types. Returns whether
    there are any; functions that call these must be traced again."""
    callees = {function: reachable_specializations(function) for function in candidates if function.has_weak_results}
    lowest = [
        function
        for function in callees
        if all(function in callees.get(callee, (function,)) for callee in callees[function])
    ]
    for function in lowest:
        assert function.signature is not None
        default = ResultSignature.from_tree_type(function.signature.tree_type)
        function.signature = replace(function.signature, weak_types=default.weak_types)
        function.has_final_types = True
    for function in functions:
        if function not in lowest and any(callee in lowest for callee in reachable_specializations(function)):
            function.invalidate_signature()
    return bool(lowest)


def called_specializations(functions: Sequence[Specialization]) -> list[Specialization]:
    """The functions of a program: without local functions that only discarded traces of loops have called."""
    by_name = {function.name: function for function in functions}
    reachable = {function: None for function in functions if not function.function_spec.is_local}
    pending = list(reachable)
    for function in pending:  # a worklist: the loop appends to it
        bodies = [function.body, *(auxiliary.body for auxiliary in function.auxiliary_functions)]
        for name in (name for body in bodies if body is not None for name in called_names(body)):
            callee = by_name.get(name)
            if callee is not None and callee not in reachable:
                reachable[callee] = None
                pending.append(callee)
    return [function for function in functions if function in reachable]


def called_names(region: Region) -> Iterator[str]:
    """The names of the functions that a region calls, in order."""
    return (node.attribute("function") for node in region.walk() if node.op == "call")


def number_callees(function: Specialization) -> Region | None:
    """The body of a function with numbers in place of the names of its callees, in order of appearance, and of its
    callbacks. Equal functions have equal ones."""
    if function.body is None:
        return None
    numbers: dict[str, str] = {}
    for name in called_names(function.body):
        numbers.setdefault(name, str(len(numbers)))
    return rename_callees(function.body, numbers, {str(k): str(k) for k in range(len(function.callbacks))})


def is_same_function(first: Specialization, second: Specialization) -> bool:
    """Whether two functions, none of whose callees is under trace, have the same body, up to the names of equal
    functions that they call. How their results nest does not matter."""
    assumed: set[tuple[str, str]] = set()
    pending = [(first, second)]
    for first, second in pending:  # a worklist: the loop appends to it
        if first is second or (first.name, second.name) in assumed:
            continue
        assumed.add((first.name, second.name))
        bodies, signatures = (first.body, second.body), (first.signature, second.signature)
        parts = [
            signature
            and (signature.result_types, signature.weak_types, signature.captures, signature.assigned_variables)
            for signature in signatures
        ]
        if (
            first.is_under_trace
            or second.is_under_trace
            or None in bodies
            or parts[0] != parts[1]
            or first.callbacks != second.callbacks
        ):
            return False
        if first.auxiliary_functions or second.auxiliary_functions or first.weak_arguments != second.weak_arguments:
            return False
        names = [list(called_names(body)) for body in bodies if body is not None]
        if len(names[0]) != len(names[1]):
            return False
        if number_callees(first) != number_callees(second):
            return False
        callees = [{callee.name: callee for callee in function.callee_signatures or ()} for function in (first, second)]
        pending += [
            (callees[0][name], callees[1][other_name])
            for name, other_name in zip(*names, strict=True)
            if name != other_name
        ]
    return True


def reachable_specializations(*entries: Specialization) -> list[Specialization]:
    """These functions and all that they call as far as traced, breadth first, in the order of first calls."""
    reachable = dict.fromkeys(entries)
    order = list(reachable)
    for function in order:  # a worklist: the loop appends to it
        for callee in function.callee_signatures or ():
            if callee not in reachable:
                reachable[callee] = None
                order.append(callee)
    return order


def flat_types(argument_types: Sequence[TreeType]) -> list[Type]:
    """The types of all leaves of the arguments."""
    return [type_ for tree_type in argument_types for type_ in tree_type.types]


def has_results(function: Specialization, types: tuple[Type, ...]) -> bool:
    """Whether a function was traced, and has results of these types."""
    signature = function.signature
    return function.deferred_error is None and signature is not None and signature.result_types == types


def unflatten_types(argument_types: Sequence[TreeType], types: Sequence[Type]) -> tuple[TreeType, ...]:
    """Argument types that nest as these do, with other types of the leaves."""
    leaf_types = iter(types)
    return tuple(
        TreeType(argument_type.treedef, tuple(next(leaf_types) for _ in argument_type.types))
        for argument_type in argument_types
    )


def other_dtypes(callee: Specialization, numbers: WeakTypes) -> set[DType]:
    """The dtypes of the numbers' kinds that values of a function and of its callees have, except the default dtypes of
    Python numbers."""
    kinds = {kind for number in numbers for kind in number_kinds(number)}
    values = (
        value
        for function in reachable_specializations(callee)
        for region in function.regions
        for value in region.values.values()
    )
    value_dtypes = {value.type.dtype for value in values}
    return {dtype for dtype in value_dtypes if dtype.kind in kinds and dtype not in PYTHON_DTYPES}


def check_functions_return(functions: Sequence[Specialization]) -> None:
    """Raises Invalid where the fixpoint has left a function without a signature: its recursion never ends."""
    for function in functions:
        if function.signature is None and function in reachable_specializations(*(function.callee_signatures or ())):
            name = function.function_spec.name
            raise Invalid(
                f"{name} never returns: no branch gives its result a type",
                rule="V6",
                where=function.location,
                hint=f"let a branch return without calling {name}",
            )


def count_elements(argument_types: Sequence[TreeType]) -> int:
    """How many elements arguments of these types have; a size that is known only at run time counts as 1."""
    return sum(math.prod(n or 1 for n in type_.shape or ()) for type_ in flat_types(argument_types))


def count_growing_calls(
    function_spec: FunctionSpec, argument_types: tuple[TreeType, ...], caller: Specialization | None
) -> int:
    """How many calls in a row, up to this one, are of a function by itself with arguments of more elements."""
    if caller is None or caller.function_spec != function_spec:
        return 0
    return caller.growing_calls + 1 if count_elements(argument_types) > count_elements(caller.argument_types) else 0


def previous_signature(
    function_spec: FunctionSpec, argument_types: tuple[TreeType, ...], weak: WeakTypes, caller: Specialization | None
) -> ResultSignature | None:
    """The signature that a function starts with: that of its counterpart in the previous trace of the caller, or None.

    Each trace of the caller may define the function again. The counterpart has the same code and argument types, and
    the same position among the callees with these."""

    def is_counterpart(callee: Specialization) -> bool:
        has_same_code = callee.function_spec.python_function.__code__ is function_spec.python_function.__code__
        return has_same_code and (callee.argument_types, callee.weak_arguments) == (argument_types, weak)

    if caller is None:
        return None
    candidates = [callee for callee in caller.previous_callees if is_counterpart(callee)]
    position = sum(map(is_counterpart, caller.callee_signatures or ()))
    return candidates[position].signature if position < len(candidates) else None


def container_contents(value: Any) -> list[tuple[Any, list[Any]]]:
    """The lists, dicts and instances of dataclasses in an argument, each with its items or attributes."""
    is_tuple = type(value) is tuple or is_named_tuple(type(value))
    if not (is_tuple or type(value) in (list, *DICT_CLASSES) or is_dataclass_instance(value)):
        return []
    items = [*_items_of(value)]
    own = [] if is_tuple else [(value, items)]
    return [*own, *(pair for item in items for pair in container_contents(item))]


def _items_of(container: Any) -> Iterable[Any]:
    if is_dataclass_instance(container):
        return attributes_of(container).items()
    return container.items() if type(container) in DICT_CLASSES else container  # type: ignore[no-any-return]


def is_unchanged(contents: Sequence[tuple[Any, list[Any]]]) -> bool:
    """Whether lists, dicts and instances have these items or attributes: the same objects."""
    return all(_has_items(container, before) for container, before in contents)


def _has_items(container: Any, before: list[Any]) -> bool:
    now = list(_items_of(container))
    if len(now) != len(before):
        return False
    has_keys = type(container) in DICT_CLASSES or is_dataclass_instance(container)
    pairs = zip(now, before, strict=True)
    return all(a[0] is b[0] and a[1] is b[1] if has_keys else a is b for a, b in pairs)


def check_current(*values: Any) -> None:
    """Raises Invalid (F4) if one of these values is or contains a list that was changed under another name: as an item
    of a list of symbolic length, or by a variable that a branch or loop may have assigned it to. The trace has the list
    from before."""
    aliases = current_aliases()
    pending = list(values) if aliases.outdated_lists or aliases.renamed_lists else []
    for part in pending:  # a worklist: the loop appends to it
        check_current_list(part)
        if type(part) in (list, tuple):
            pending += part
        elif type(part) in DICT_CLASSES:
            pending += part.values()


def check_current_list(value: Any) -> None:
    """Raises Invalid (F4) if a value is such a list; its items may be."""
    aliases = current_aliases()
    if id(value) in aliases.renamed_lists:
        raise Invalid(
            "a symbolic branch or loop may have given this list to another variable, which has changed it",
            rule="F4",
            where=user_location(),
            hint="make a copy before: y = x.copy()",
        )
    if id(value) in aliases.outdated_lists:
        raise Invalid(
            "a list has changed under another name: it is also an item of a list whose length is known only at run "
            "time",
            rule="F4",
            where=user_location(),
            hint="read it where it was changed: x[i] in place of its other name; or add a copy to that list, as in "
            "x.append(y[:])",
        )


EMPTY_COLUMN = np.zeros(0, np.bool_)
"""The items of an empty list that a function returns: of the lowest kind, so that items of every kind can follow."""
EMPTY_TYPE = Type(BY_PYTHON[bool], (0,))


def normalize_result(result: Any) -> Any:
    """A result of a function, with the structure that other results may have, too: a string as one of several, an empty
    list as one of any length. The caller gets a string, or an empty list."""
    if is_python_constant(result) and result is not None:
        return Choice(0, (result,))
    return [StackedItems(EMPTY_COLUMN)] if type(result) is list and not result else result


UNIFY_RESULT: CellType = CellType(lambda previous, result: None)
"""A function of the structure and types of a function's results before, and of its latest result: this result with the
structure that both have together, or None. `core/frontend/source/choices.py` sets it."""
MAX_STRUCTURES = 8
"""How often the structure of a function's results may change from one trace to the next."""


def as_string_of_any_length(text: Any) -> CodePoints:
    """A string by its code points, in one array: the structure of a result that may be any string."""
    characters = AS_CHARACTERS.cell_contents(text)
    codes = [StackedItems(stack_as_array(characters.codes) if characters.codes else np.zeros(0, np.int64))]
    return type(characters)(codes)  # type: ignore[no-any-return]


def infer_results(
    function: Specialization, result: Any, *, may_be_empty: bool
) -> tuple[ResultSignature, list[TracedOperand]]:
    """The signature of a function that has returned `result`, and its results as operands. With `may_be_empty` it
    need not return a value, since it assigns variables."""
    check_current(result)
    name, previous = function.function_spec.name, function.signature
    is_annotated = function.function_spec.result_type is not None
    if not is_annotated:
        result = normalize_result(result)
    like = previous.tree_type.treedef if previous else None
    leaves, treedef = flatten(result, like=like, constants_are_static=True, is_leaf=is_number_list if like else None)
    if (
        previous is not None
        and like != treedef
        and not is_annotated
        and is_text_structure(like)
        and is_text_structure(treedef)
    ):
        leaves, treedef = flatten(as_string_of_any_length(result), constants_are_static=True)
        previous = previous if treedef == like else None
    if previous is not None and like != treedef and not is_annotated:
        unified = UNIFY_RESULT.cell_contents(previous.tree_type, result)
        if unified is not None:
            leaves, treedef = flatten(unified, constants_are_static=True)
        if unified is not None and treedef != like and function.structure_changes < MAX_STRUCTURES:
            function.structure_changes, previous = function.structure_changes + 1, None
    if not (leaves or may_be_empty or is_annotated):
        leaves, treedef = [False], result_treedef(treedef)
    if not leaves and not may_be_empty:
        raise Invalid(
            f"{name} returns nothing" if result is None else f"{name} returns no number and no array",
            rule="V6",
            required="a value, or a tuple of values",
            got=None if result is None else repr(result)[:80],
        )
    if previous is not None and previous.tree_type.treedef != treedef:
        required, got = describe_difference(previous.tree_type.treedef, treedef)
        message = "does not return the structure of its annotation" if is_annotated else "returns different structures"
        hint = array_hint(previous.tree_type.treedef, treedef)
        if hint is None and not is_annotated:
            hint = "each call returns one structure: numbers, strings, and tuples and lists of these"
        first_line = None if is_annotated else next(iter(previous.locations), None)
        raise Invalid(
            f"{name} {message}",
            rule="V6",
            required=describe_with_location(required, first_line),
            got=describe_with_location(got, first_location(leaves)),
            hint=hint or "return the structure of the annotation, or leave it out",
        )
    leaves = [unwrap_weak(leaf) for leaf in leaves]
    if is_annotated and previous is not None:
        rows = zip(leaves, previous.tree_type.types, leaf_paths(treedef, ""), strict=True)
        return previous, [annotated_result_operand(function, *row) for row in rows]
    operands = [result_operand(leaf, previous, position) for position, leaf in enumerate(leaves)]
    types = tuple(operand.type for operand in operands)
    locations = tuple(location_of(operand, function.location) for operand in operands)
    latest = ResultSignature(TreeType(treedef, types), tuple(map(weak_number, leaves)), locations)
    return join_signatures(name, previous, latest), operands


def annotated_result_operand(function: Specialization, leaf: object, type_: Type, path: str) -> TracedOperand:
    """The operand of the result at this path, which has an annotated type; raises Invalid where the type does not admit
    it."""
    operand = to_operand(leaf, type_)
    if not type_.admits(operand.type):
        name, got = function.function_spec.name, describe_operand_type(operand)
        location = path and f" at {path}"
        message = f"{name} does not return the type of its annotation{location}"
        raise Invalid(message, rule="V6", required=type_, got=got)
    return operand


def result_operand(leaf: object, previous: ResultSignature | None, position: int) -> TracedOperand:
    """The operand of a result without annotation: a Python number takes its previous type unless that is weak."""
    if id(leaf) in current_aliases().created_instances:
        request_record_class(leaf, is_record=True)
    if is_user_object(leaf):
        raise Invalid(
            "an object that the function has not created is its result",
            rule="F4",
            where=user_location(),
            got=repr(leaf)[:200],
            hint="return its attributes, as in (x.a, x.b)",
        )
    if previous is None or previous.weak_types[position] is not None or weak_number(leaf) is None:
        return to_operand(leaf)
    type_ = previous.tree_type.types[position]
    return to_operand(leaf, type_ if type_.is_scalar and type_.dtype.kind != "b" else None)


WeakTypes = tuple[int | float | None, ...]
"""For each leaf, 1 or 1.0 while inference takes the leaf for a Python int or float; else None."""


@dataclass(frozen=True, slots=True)
class ResultSignature:
    """The inferred results of a function. A weak result is a Python number so far, and takes any dtype that fits."""

    tree_type: TreeType
    weak_types: WeakTypes
    locations: tuple[Location | None, ...] = field(compare=False)
    captures: tuple[Resource, ...] = ()
    """The resources that the function uses besides its arguments; they become further parameters."""
    assigned_variables: tuple[Resource, ...] = ()
    """The variables that the function assigns; their values become further results."""
    changed_arguments: tuple[int, ...] = ()
    """The positions of the arguments in which it changes the items of a list or dict."""

    @property
    def result_types(self) -> tuple[Type, ...]:
        """The types of all results, assigned variables included."""
        return (*self.tree_type.types, *(variable.type for variable in self.assigned_variables))

    @property
    def treedef(self) -> TreeDef:
        """How the results nest, with the names of the assigned variables that follow them."""
        names = UniqueNames()
        return replace(
            self.tree_type.treedef,
            assigned_names=tuple(names.fresh_name(variable.label) for variable in self.assigned_variables),
        )

    @classmethod
    def from_tree_type(cls, tree_type: TreeType) -> ResultSignature:
        """The signature with results of these types, none of them weak."""
        return cls(tree_type, (None,) * len(tree_type.types), (None,) * len(tree_type.types))


def join_signatures(name: str, previous: ResultSignature | None, latest: ResultSignature) -> ResultSignature:
    """Join the signatures of two traces; raises Invalid where no type admits both."""
    if previous is None:
        return latest
    types, paths = [], leaf_paths(previous.tree_type.treedef, "")
    for k, (first, second) in enumerate(zip(previous.tree_type.types, latest.tree_type.types, strict=True)):
        type_: Type | None
        if previous.weak_types[k] is None:
            # the later dtype may be wider, since a Python number may have become an array
            is_wider = promote(first.dtype, second.dtype) is second.dtype or is_wider_number(first, second)
            type_ = replace(first, dtype=second.dtype).join(second) if is_wider else None
        else:  # of an int and a float, the float's type
            was_float = isinstance(previous.weak_types[k], float) and isinstance(latest.weak_types[k], int)
            type_ = first if was_float else second
        if type_ is None:
            raise Invalid(
                f"{name} returns two different types{paths[k] and f' at {paths[k]}'}",
                rule="V6",
                required=describe_with_location(first, previous.locations[k]),
                got=describe_with_location(second, latest.locations[k]),
                hint="convert one with tl.astype, or annotate the result",
            )
        types.append(type_)
    pairs = zip(previous.weak_types, latest.weak_types, strict=True)
    weak = tuple(first and second and first * second for first, second in pairs)
    return ResultSignature(TreeType(previous.tree_type.treedef, tuple(types)), weak, latest.locations)


def is_wider_number(first: Type, second: Type) -> bool:
    """Whether both are types of Python's numbers, or of items of a list that was empty before, and the second is of a
    higher kind: bool < int64 < float64."""
    is_number = first.is_scalar and second.is_scalar
    if not (is_number or first == EMPTY_TYPE) or not {first.dtype, second.dtype} <= set(PYTHON_DTYPES):
        return False
    return "bif".index(first.dtype.kind) < "bif".index(second.dtype.kind)


def describe_with_location(subject: object, location: Location | None) -> str:
    """A type or structure, followed by the line that it comes from."""
    return f"{subject} ({location})" if location else str(subject)


def location_of(operand: TracedOperand, default: Location | None = None) -> Location | None:
    """The line that an operand comes from; `default` for a constant."""
    return operand.location if isinstance(operand, TracedValue) else default


def first_location(leaves: Iterable[object]) -> Location | None:
    """The line that the first symbolic one of these values comes from."""
    values = (getattr(leaf, "_tagloom_value", None) for leaf in leaves)
    return next((value.location for value in values if isinstance(value, TracedValue)), None)


def describe_operand_type(operand: TracedOperand, default: Location | None = None) -> str:
    """The type of an operand, followed by the line that it comes from, or `default` for a constant."""
    return describe_with_location(operand.type, location_of(operand, default))


DEFERRABLE_RULES = ("V4", "V5", "V6", "D3")
"""Rules that a trace may break early on and satisfy once more types are known."""


@dataclass(slots=True, eq=False)
class Specialization:
    """A Python function traced for one list of argument types: a function of the program.

    `callee_signatures` has the signature of each callee as the latest trace assumed it.
    """

    program_builder: ProgramBuilder
    name: str
    function_spec: FunctionSpec
    argument_types: tuple[TreeType, ...]
    weak_arguments: WeakTypes
    """Which leaves of the arguments are weak; the fixpoint keeps no function with weak arguments."""
    signature: ResultSignature | None
    callee_signatures: dict[Specialization, ResultSignature | None] | None = None
    previous_callees: tuple[Specialization, ...] = ()
    """The callees of the trace before the latest one."""
    growing_calls: int = 0
    """How many calls in a row, up to the one that it was made for, passed larger arguments than their callers got."""
    body: Region | None = None
    deferred_error: Exception | None = None
    """The first deferrable error of the latest trace, raised if it is still there at the fixpoint; or one that the
    user's code may have caught in the trace."""
    is_invalidated: bool = False
    is_under_trace: bool = False
    has_final_types: bool = False
    """Whether weak results have their default types. These do not change any more, so that inference terminates."""
    structure_changes: int = 0
    """How often its results had a different structure than in the trace before."""
    callbacks: list[Callable[..., Any]] = field(default_factory=list)
    """The Python functions that the latest trace calls back; the body refers to them by index."""
    auxiliary_functions: list[FunctionDef] = field(default_factory=list)
    """The functions that the latest trace has created for custom gradients."""
    region: RegionBuilder | None = None
    """The outermost region of the latest trace."""
    regions: list[RegionBuilder] = field(default_factory=list)
    """All regions of the latest trace."""
    captures: dict[Resource, TracedValue] = field(default_factory=dict)
    """The parameter for each resource that the latest trace uses besides its arguments."""
    list_traces: int = 0
    """How often loops were traced again since their variables give each other lists."""
    length_changes: int = 0
    """How often the latest trace has begun a loop again because an iteration changes the length of a list."""
    python_iterations: int = 0
    """How many iterations of loops have run in Python in the latest trace."""
    unrolled_loops: set[Any] = field(default_factory=set)
    """The locations of the loops of known length that the latest trace cannot stage."""
    certain_results: set[str] = field(default_factory=set)
    """The results of nodes that never trap: an index of theirs is in range."""
    aliases: Aliases = field(default_factory=Aliases)
    """Which lists and dicts of the latest trace may be one object, or share items."""
    has_rows_of_their_own: bool = False
    """Whether the rows of arguments are lists of their own under trace, although one array holds them."""
    python_calls: list[Any] = field(default_factory=list)
    """The calls of Python functions that are running in the latest trace."""
    trap_guard: Callable[[str, Sequence[TracedOperand], Attributes], bool] | None = None
    """A function that is called before a node of an ordinary op is added, while a `try` of the function is under trace.
    It returns whether the node never traps."""

    @property
    def location(self) -> Location:
        """The line where the function is defined."""
        return definition_location(self.function_spec.python_function.__code__)

    @property
    def is_outdated(self) -> bool:
        """Whether the function has no trace, or one with other signatures of the functions that it calls."""
        if self.callee_signatures is None or self.is_invalidated:
            return True
        return any(callee.signature != signature for callee, signature in self.callee_signatures.items())

    @property
    def is_stale(self) -> bool:
        """Whether the function must be traced, or traced again: its trace includes those of local functions. One under
        trace does not count: what traces it traces it again."""
        pending = [self]
        for function in pending:  # a worklist: the loop appends to it
            if function.is_outdated and not function.is_under_trace:
                return True
            callees = function.callee_signatures or ()
            pending += [callee for callee in callees if callee.function_spec.is_local and callee not in pending]
        return False

    @property
    def has_weak_results(self) -> bool:
        """Whether a result is weak although no argument is."""
        return self.signature is not None and any(self.signature.weak_types) and not any(self.weak_arguments)

    def defer_error(self, error: Exception) -> None:
        """Keep an error that may disappear when more types are known; raise any other."""
        if not isinstance(error, TagloomError) or error.rule not in DEFERRABLE_RULES:
            raise error
        self.keep_error(error)

    def keep_error(self, error: Exception) -> None:
        """Keep an error, to be raised after the trace, even if code of the user catches it before."""
        self.deferred_error = self.deferred_error or error

    def capture(self, resource: Resource, region: RegionBuilder) -> TracedValue:
        """The parameter for a captured resource; `region` is the function's outermost region."""
        if resource not in self.captures:
            name = region.names.fresh_name(resource.label)
            weak = None if resource.owner is None else resource.stored_value.weak_value
            self.captures[resource] = TracedValue(region, name, resource.type, self.location, weak)
        return self.captures[resource]

    def discard_trace(self) -> None:
        """Drop the latest trace, before the next one or once the program is built."""
        for region in self.regions:
            region.release()
        self.regions = []
        self.callee_signatures, self.previous_callees = None, ()
        self.deferred_error, self.region, self.captures = None, None, {}
        self.aliases, self.python_calls = Aliases(), []
        self.list_traces = 0
        self.length_changes, self.python_iterations, self.certain_results, self.unrolled_loops = 0, 0, set(), set()

    def invalidate_signature(self) -> None:
        """Mark the function to be traced again, since a weak result of a callee got its type. Drop the inferred
        signature if its types may depend on that result."""
        self.is_invalidated = True
        if (
            self.function_spec.result_type is None
            and not self.has_final_types
            and self.signature is not None
            and None in self.signature.weak_types
        ):
            self.signature = None


@dataclass(slots=True, eq=False)
class RegionBuilder:
    """A region under trace. A value of an enclosing region becomes a parameter when it is used here."""

    specialization: Specialization
    """The function that the region is part of."""
    names: UniqueNames
    parent: RegionBuilder | None = None
    parameters: list[TracedValue] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    captures: dict[TracedValue, TracedValue] = field(default_factory=dict)
    values: dict[str, TracedValue] = field(default_factory=dict)
    """The symbolic values created in the region, by name."""
    store: dict[Resource, TracedOperand] = field(default_factory=dict)
    """The current values of the variables that this region assigns."""

    def __post_init__(self) -> None:
        self.specialization.regions.append(self)

    def release(self) -> None:
        """Drop the values, which refer back to the region, so that no reference cycle remains."""
        self.parameters, self.captures, self.values, self.store = [], {}, {}, {}

    def add_parameter(
        self, name: str, type_: Type, location: Location | None, weak: int | float | None = None
    ) -> TracedValue:
        """A new parameter of the region, under a fresh name."""
        value = TracedValue(self, self.names.fresh_name(name), type_, location, weak)
        self.values[value.name] = value
        self.parameters.append(value)
        return value

    def as_operand(self, value: TracedOperand) -> Operand:
        """The operand of a node in this region: a name of the region, or a literal."""
        return value if isinstance(value, Literal) else self.localize(value).name

    def localize(self, value: TracedValue) -> TracedValue:
        """The value as this region uses it: its own, or captured from an enclosing region."""
        if value.region is self:
            return value
        builder = self.specialization.program_builder
        if value.region.specialization is not self.specialization and builder.is_open(value):
            return self.localize(self.specialization.capture(builder.capture_value(value), self.outermost))
        if value not in self.captures:
            if not any(region is value.region for region in self.enclosing_regions()):
                raise Invalid(
                    "a symbolic value is used outside the function, branch or loop that made it",
                    rule="F2",
                    where=user_location(),
                    got=describe_with_location(value.name, value.location),
                    hint="return it from there; values leave a region only as its results",
                )
            self.captures[value] = TracedValue(self, value.name, value.type, value.location, value.weak_value)
        return self.captures[value]

    def read_resource(self, resource: Resource) -> TracedOperand:
        """The current value of a resource here: the last assignment, or else a parameter that captures it."""
        for region in (self, *self.enclosing_regions()):
            if resource in region.store:
                return region.store[resource]
        if resource.owner is not self.specialization:
            return self.specialization.capture(resource, region)
        for region in (self, *self.enclosing_regions()):
            if resource.name in region.values:
                return region.values[resource.name]
        latest: TracedValue = resource.stored_value
        if latest.region.outermost is not self.outermost:
            raise NoTypeYet  # the value is from an earlier trace of the function, which knew less
        return latest

    def has_used(self, resource: Resource) -> bool:
        """Whether the function has read or assigned a resource before, so that its value may be in use elsewhere."""
        regions = self, *self.enclosing_regions()
        return resource in self.specialization.captures or any(resource in region.store for region in regions)

    @property
    def outermost(self) -> RegionBuilder:
        """The region of the function's body."""
        return (self, *self.enclosing_regions())[-1]

    def enclosing_regions(self) -> Iterator[RegionBuilder]:
        """The regions around this one in the function, innermost first."""
        region = self.parent
        while region is not None:
            yield region
            region = region.parent

    def emit_node(
        self,
        op: str,
        inputs: Sequence[Operand],
        types: Sequence[Type],
        names: Sequence[str],
        regions: tuple[Region, ...] = (),
        attributes: Attributes = (),
    ) -> list[TracedValue]:
        """Append a node and return its results, which get these fresh names."""
        location = traced_user_location()
        results = [TracedValue(self, name, type_, location) for name, type_ in zip(names, types, strict=True)]
        self.values.update((result.name, result) for result in results)
        variables = tuple(Var(result.name, result.type) for result in results)
        self.nodes.append(Node(op, tuple(inputs), variables, regions, attributes, location))
        return results

    def snapshot(self) -> tuple[int, int, UniqueNames]:
        """The state of the function for `rewind`, taken before nested regions that may be traced again."""
        return len(self.specialization.callbacks), len(self.specialization.auxiliary_functions), self.names.copy()

    def rewind(self, snapshot: tuple[int, int, UniqueNames]) -> None:
        """Undo what nested regions have added to the function since the snapshot; the names of captures stay in use."""
        callbacks, functions, names = snapshot
        del self.specialization.callbacks[callbacks:], self.specialization.auxiliary_functions[functions:]
        capture_names = {value.name for value in self.specialization.captures.values()}
        self.names.used_names, self.names.last_numbers = names.used_names | capture_names, dict(names.last_numbers)

    def mark(self) -> RegionMark:
        """The state of the region for `reset`, before code whose nodes may have to be undone."""
        inner = self.specialization
        sizes = (len(self.nodes), len(self.values), len(inner.regions), len(inner.callee_signatures or ()))
        return RegionMark(self.snapshot(), sizes, dict(self.store), inner.aliases.mark())

    def reset(self, mark: RegionMark) -> None:
        """Undo all that was added to the region, and to the function by it, since the mark. What it captured stays
        captured."""
        node_count, value_count, region_count, callee_count = mark.sizes
        function = self.specialization
        self.rewind(mark.snapshot)
        del self.nodes[node_count:]
        for name in list(self.values)[value_count:]:
            del self.values[name]
        for region in function.regions[region_count:]:
            region.release()
        del function.regions[region_count:]
        for callee in list(function.callee_signatures or ())[callee_count:]:
            assert function.callee_signatures is not None
            del function.callee_signatures[callee]
        self.store.clear()
        self.store.update(mark.store)
        function.aliases.reset(mark.aliases)

    def assigned_variables(self) -> tuple[Resource, ...]:
        """The variables that the region assigns."""
        return sort_resources(self.store)

    def close(self, parameters: Sequence[TracedValue], results: Sequence[Operand]) -> Region:
        """The finished region, with all nodes so far."""
        variables = tuple(Var(value.name, value.type) for value in parameters)
        return Region(variables, tuple(self.nodes), tuple(results))


class RegionMark(NamedTuple):
    """The state of a region under trace at one time."""

    snapshot: tuple[int, int, UniqueNames]
    sizes: tuple[int, int, int, int]
    """The numbers of nodes, values, regions of the function, and callees."""
    store: dict[Resource, TracedOperand]
    aliases: AliasMark
    """The mark of the notes of the function."""


_CURRENT_REGION: ContextVar[RegionBuilder | None] = ContextVar("current_region", default=None)

current_region: Callable[[], RegionBuilder | None] = _CURRENT_REGION.get
"""The region under trace, or None."""


def current_aliases() -> Aliases:
    """The notes on aliases of the function under trace; outside of a trace new ones, which nothing reads."""
    region = current_region()
    return Aliases() if region is None else region.specialization.aliases


@contextmanager
def enter_region(region: RegionBuilder) -> Iterator[RegionBuilder]:
    """Make this the current region: ops append their nodes to it."""
    token = _CURRENT_REGION.set(region)
    try:
        yield region
    finally:
        _CURRENT_REGION.reset(token)


_SUSPENDED_REGION: ContextVar[RegionBuilder | None] = ContextVar("suspended_region", default=None)


@contextmanager
def suspend_tracing() -> Iterator[None]:
    """Suspend all traces in this context: ops run eagerly."""
    suspended = _SUSPENDED_REGION.set(_CURRENT_REGION.get() or _SUSPENDED_REGION.get())
    current = _CURRENT_REGION.set(None)
    try:
        yield
    finally:
        _SUSPENDED_REGION.reset(suspended)
        _CURRENT_REGION.reset(current)


def suspended_region() -> RegionBuilder | None:
    """The region that `suspend_tracing` has left, or None."""
    return _SUSPENDED_REGION.get()


def emit_op(
    region: RegionBuilder, op: str, operands: Sequence[TracedOperand], attributes: Attributes = ()
) -> TracedValue:
    """Add a node of an ordinary op; raises Invalid, with the user's line, where the types do not fit."""
    assert op not in STRUCTURED_OPS
    row = lookup_row(op)
    try:
        result = row.type_rule(*(operand.type for operand in operands), **dict(attributes))
    except Invalid as error:
        error.rule, error.where, error.message = "V4", user_location(), f"{error.function or op}: {error.message}"
        raise
    guard = region.specialization.trap_guard
    is_certain = guard is not None and guard(op, operands, attributes)
    inputs = [region.as_operand(operand) for operand in operands]
    (value,) = region.emit_node(op, inputs, [result], [region.names.fresh_name(op)], attributes=attributes)
    if is_certain:
        region.specialization.certain_results.add(value.name)
    return value


def to_weak_operand(value: object, expected: DType | None) -> TracedOperand:
    """An operand. A Python number takes the expected dtype where it can: an int any numeric dtype, a float any float
    dtype."""
    is_weak = expected is not None and (
        (type(value) is int and expected.kind != "b") or (type(value) is float and expected.kind == "f")
    )
    return to_operand(value, Type(expected)) if is_weak and expected else to_operand(value)


def to_operand(value: object, expected: Type | None = None) -> TracedOperand:
    """A symbolic value, or a literal of the expected type; raises Usage, with the user's line, for anything else."""
    if isinstance(value, VariableBase) and (region := current_region()) is not None:
        return region.read_resource(value._resource)
    symbolic = getattr(value, "_tagloom_value", None)
    if isinstance(symbolic, TracedValue):
        return symbolic
    if is_stacked_array(value):
        return to_operand(stack_as_array(value), expected)  # type: ignore[arg-type]
    constant, region = to_literal(value, expected), current_region()
    resource = None if region is None else region.specialization.program_builder.capture_constant(value, constant)
    return constant if region is None or resource is None else region.read_resource(resource)


def leak_error(values: Sequence[TracedValue]) -> Invalid:
    """The error for symbolic values of a trace that is over."""
    return Invalid(
        "a symbolic value is used after its function was traced",
        rule="F2",
        where=user_location(),
        got=", ".join(describe_with_location(value.name, value.location) for value in values),
        hint="return it from the function: values leave it only as results",
    )


def to_literal(value: object, expected: Type | None = None) -> Literal:
    """A concrete value as a literal of the expected type; raises Usage, with the user's line, for anything else."""
    if isinstance(value, UnusableValue):
        value.fail()
    constant = getattr(value, "_tagloom_literal", None)
    if isinstance(constant, Literal) and (expected is None or expected.admits(constant.type)):
        return constant
    if _holds_symbol(value):
        raise Invalid(
            f"{describe_class(value)} of symbolic values is not a value",
            rule="F1",
            where=user_location(),
            got=value,
            hint="tl.stack([...]) makes an array of them; functions, branches and loops take lists as they are",
        )
    try:
        return literal(value, expected)
    except Usage as error:
        error.where = user_location()
        raise


def _holds_symbol(value: object) -> bool:
    """Whether a tuple or list has a symbolic value in it."""
    is_nest = isinstance(value, tuple | list)
    return is_nest and any(hasattr(item, "_tagloom_value") or _holds_symbol(item) for item in value)  # type: ignore[attr-defined]


def weak_value_of(value: object) -> int | float | None:
    """The number, 1 or 1.0, that marks the kind of a weak value; None for any other value."""
    symbolic = getattr(value, "_tagloom_value", None)
    return symbolic.weak_value if isinstance(symbolic, TracedValue) else None


def unwrap_weak(value: object) -> object:
    """The Python number that replaces a weak value; any other value unchanged."""
    number = weak_value_of(value)
    return value if number is None else number


def number_kinds(number: int | float | None) -> str:
    """The kinds of the dtypes that a variable which starts with a Python number may have."""
    return "" if number is None else "f" if isinstance(number, float) else "iu"


def weak_number(value: object) -> int | float | None:
    """For a Python int or float the weak value 1 or 1.0, which marks its kind; None for anything else."""
    return type(value)(1) if isinstance(value, int | float) and type(value) in (int, float) else None


@dataclass(slots=True, eq=False)
class TracedValue:
    """A symbolic value: a name in a region under trace, its type, and the line that made it.

    `weak_value` marks a weak value: a Python number, which takes the dtype of the other operands. It is 1 or 1.0, which
    says whether the number is an int or a float. See `WeakTypes`.
    """

    region: RegionBuilder
    name: str
    type: Type
    location: Location | None = None
    weak_value: int | float | None = None


TracedOperand: TypeAlias = TracedValue | Literal
"""An operand under trace: a symbolic value, or a constant."""


class NoTypeYet(BaseException):
    """Raised where no type is known yet: the code calls a function under trace whose result types are still unknown.

    It derives from BaseException, so that `except Exception` in user code does not catch it.
    """


class RetraceRequest(BaseException):
    """Raised where what is under trace must be traced again. All changes that Python code has made in it are undone.

    It derives from BaseException, so that `except Exception` in user code does not catch it.
    """


class ChangedArray(RetraceRequest):
    """Raised where the first array changes in place, or one of NumPy that was known so far gets a symbolic element: the
    whole program is traced again. The array becomes a value of the program on the line that creates it, if there is
    one."""

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.lines = lines


class RecordRequest(RetraceRequest):
    """Raised where the program could go on if the instances of a class were records, which a loop can carry, or
    objects, which can change under several names: the whole program is traced again."""

    def __init__(self, kind: type, is_record: bool) -> None:
        super().__init__()
        self.kind, self.is_record = kind, is_record


def request_record_class(value: Any, *, is_record: bool) -> None:
    """Raises RecordRequest for the class of an instance of the user's, unless the program under trace has asked for it
    before, or must do without."""
    region = current_region()
    classes = None if region is None else region.specialization.program_builder.record_classes
    is_new = classes is not None and type(value) not in classes and type(value).__module__.split(".")[0] != "tagloom"
    if is_new and is_record_class(type(value)) != is_record:
        raise RecordRequest(type(value), is_record)


def emit_program(specializations: Sequence[Specialization], callbacks: dict[str, Callable[..., Any]]) -> Program:
    """The program of these functions; the first is the entry. Fills `callbacks` with the Python functions by name."""
    names = UniqueNames()
    final_names = {
        specialization.name: names.fresh_name(specialization.function_spec.identifier)
        for specialization in specializations
    }
    for specialization in specializations:
        for auxiliary in specialization.auxiliary_functions:
            # without the number that made the name unique during tracing
            final_names[auxiliary.name] = names.fresh_name(auxiliary.name.rstrip("0123456789").rstrip("_"))
    functions = []
    for specialization in specializations:
        assert specialization.body is not None and specialization.signature is not None
        callback_names = {
            str(k): register_callback(function, callbacks) for k, function in enumerate(specialization.callbacks)
        }
        body = rename_callees(specialization.body, final_names, callback_names)
        functions.append(
            FunctionDef(
                final_names[specialization.name], body, specialization.signature.result_types, specialization.location
            )
        )
        for auxiliary in specialization.auxiliary_functions:
            rule = final_names[auxiliary.gradient_rule] if auxiliary.gradient_rule else None
            body = rename_callees(auxiliary.body, final_names, callback_names)
            functions.append(replace(auxiliary, name=final_names[auxiliary.name], body=body, gradient_rule=rule))
    return Program(tuple(functions), functions[0].name)


def register_callback(function: Callable[..., Any], callbacks: dict[str, Callable[..., Any]]) -> str:
    """The name of a Python function in the program: its own, with a number if another function has that name."""
    base, count = getattr(function, "__name__", "callback"), 0
    base = name = base if base.isidentifier() else "callback"
    while callbacks.setdefault(name, function) is not function:
        count += 1
        name = f"{base}_{count}"
    return name


def rename_callees(region: Region, names: dict[str, str], callback_names: dict[str, str]) -> Region:
    """The region with the final names of the functions and callbacks that it calls."""
    nodes = []
    for node in region.nodes:
        if node.op == "call":
            node = replace(node, attributes=(("function", names[node.attribute("function")]),))
        elif node.op == "callback":
            (_, index), *attributes = node.attributes
            node = replace(node, attributes=(("function", callback_names[index]), *attributes))
        elif node.regions:
            node = replace(node, regions=tuple(rename_callees(inner, names, callback_names) for inner in node.regions))
        nodes.append(node)
    return replace(region, nodes=tuple(nodes))
