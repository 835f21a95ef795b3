"""The iterators of `itertools` of symbolic length or with symbolic items, as generator functions of `library.py`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ...errors import Invalid
from ..trace.captures import read_variable
from ..trace.program_builder import current_region
from ..trace.python_operations import perform
from ..trace.source_location import user_location
from . import library
from .methods import create_list
from .operators import Operators
from .pushed_items import GeneratorItems, PushedItems
from .sequences import is_counted, spread_known
from .state import register_created
from .trees import has_symbols, is_symbolic

_PRODUCTS: dict[int, Any] = {2: library.pairs_of_two, 3: library.triples_of_three, 4: library.tuples_of_four}
"""The counterparts of `product`, by the number of its iterables."""
_SELECTIONS: dict[tuple[Any, int], Any] = {
    (itertools.combinations, 2): library.combinations_of_two,
    (itertools.combinations, 3): library.combinations_of_three,
    (itertools.combinations_with_replacement, 2): library.repeated_combinations_of_two,
    (itertools.permutations, 2): library.permutations_of_two,
}
"""The counterparts of selections, by their number of items."""
_FILTERS: dict[Any, Any] = {
    itertools.dropwhile: library.drop_while,
    itertools.filterfalse: library.filter_false,
    itertools.starmap: library.spread_arguments,
    itertools.takewhile: library.take_while,
}
"""The counterparts of what calls a function: it may compute with symbolic values, whatever the items are."""


def replacements(operators: Operators) -> dict[Any, Callable[..., Any]]:
    """What converted code calls in place of each function of `itertools`."""

    def replacement(function: Any, create: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            if current_region() is None:
                return perform(function, *arguments, **keywords)
            result = create(operators, function, *arguments, **keywords)
            if result is NotImplemented:
                return operators.call_opaque(function, arguments, keywords)
            return result

        return call

    creators: dict[Any, Callable[..., Any]] = {
        itertools.accumulate: _accumulate,
        itertools.chain: _chain,
        itertools.chain.from_iterable: _chain,
        itertools.compress: _compress,
        itertools.groupby: _group,
        itertools.islice: _slice,
        itertools.pairwise: _pair,
        itertools.product: _product,
        itertools.repeat: _repeat,
        itertools.zip_longest: _pair_longest,
        **dict.fromkeys(_FILTERS, _filter),
        **{function: _select for function, _ in _SELECTIONS},
    }
    return {function: replacement(function, create) for function, create in creators.items()}


def _is_staged(*iterables: Any) -> bool:
    """Whether only a loop of the program can go through one of these iterables."""
    return any(is_counted(spread_known(iterable)) or isinstance(iterable, PushedItems) for iterable in iterables)


def _items(function: Any, *arguments: Any) -> GeneratorItems:
    return GeneratorItems(function, arguments, {})


def _accumulate(operators: Operators, name: Any, iterable: Any, function: Any = None, *, initial: Any = None) -> Any:
    if function is None and not _is_staged(iterable):
        return NotImplemented
    function = library.add_items if function is None else function
    if initial is not None:
        return _items(library.accumulate_onto, iterable, function, initial)
    if isinstance(iterable, PushedItems):
        return _items(library.accumulate_each, iterable, function)
    return _items(library.accumulate_items, create_list(operators, iterable), function)


def _list_without_generator(operators: Operators, name: Any, iterable: Any) -> Any:
    """A list of the items of an iterable. Raises Invalid (F4) for a generator: it would run before it is asked."""
    if isinstance(iterable, PushedItems):
        raise Invalid(
            f"itertools.{name.__name__} takes the items of a generator",
            rule="F4",
            where=user_location(),
            hint="make a list of it before: x = list(x)",
        )
    return create_list(operators, iterable)


def _chain(operators: Operators, name: Any, *iterables: Any) -> Any:
    is_single = name != itertools.chain
    parts = iterables[0] if is_single and iterables and type(iterables[0]) in (list, tuple) else iterables
    if not _is_staged(*parts) and not (is_single and _is_staged(*iterables)):
        return NotImplemented
    return _items(library.chain_all if is_single else library.chain_items, *iterables)


def _compress(operators: Operators, name: Any, items: Any, selectors: Any) -> Any:
    return _items(library.select_items, items, selectors)


def _group(operators: Operators, name: Any, iterable: Any, key: Any = None) -> Any:
    is_known = not _is_staged(iterable) and not (type(iterable) in (list, tuple) and any(map(has_symbols, iterable)))
    return NotImplemented if is_known else _items(library.group_items, iterable, key)


def _slice(operators: Operators, name: Any, iterable: Any, *bounds: Any) -> Any:
    has_symbolic_bound = any(is_symbolic(read_variable(bound)) for bound in bounds)
    if not has_symbolic_bound and not _is_staged(iterable):
        return NotImplemented
    if len(bounds) == 1 and bounds[0] is not None:
        return _items(library.slice_until, iterable, *bounds, _take_over)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    parts = (0 if start is None else start, stop, 1 if step is None else step)
    return _items(library.slice_list, _list_without_generator(operators, name, iterable), *parts)


def _take_over(iterable: Any) -> Any:
    """An iterable whose items only the code under trace takes: a generator has no items for anything else."""
    return register_created(iterable) if isinstance(iterable, PushedItems) else iterable


def _pair(operators: Operators, name: Any, iterable: Any) -> Any:
    if not _is_staged(iterable):
        return NotImplemented
    if isinstance(iterable, PushedItems):
        return _items(library.pair_each, iterable)
    return _items(library.pair_items, create_list(operators, iterable))


def _product(operators: Operators, name: Any, *iterables: Any, repeat: Any = 1) -> Any:
    if not _is_staged(*iterables) or type(repeat) is not int:
        return NotImplemented
    factors = iterables * repeat
    if len(factors) not in _PRODUCTS:
        return NotImplemented
    return _items(_PRODUCTS[len(factors)], *(create_list(operators, factor) for factor in factors))


def _select(operators: Operators, name: Any, iterable: Any, r: Any = None) -> Any:
    if not _is_staged(iterable) or type(r) is not int or (name, r) not in _SELECTIONS:
        return NotImplemented
    return _items(_SELECTIONS[name, r], create_list(operators, iterable))


def _repeat(operators: Operators, name: Any, item: Any, times: Any = None) -> Any:
    return _items(library.repeat_item, item, times) if is_symbolic(read_variable(times)) else NotImplemented


def _pair_longest(operators: Operators, name: Any, *iterables: Any, fillvalue: Any = None) -> Any:
    if not _is_staged(*iterables) or len(iterables) != 2:
        return NotImplemented
    return _items(
        library.pair_longest, *(_list_without_generator(operators, name, iterable) for iterable in iterables), fillvalue
    )


def _filter(operators: Operators, name: Any, function: Any, iterable: Any) -> Any:
    return register_created(_items(_FILTERS[name], function, iterable))
