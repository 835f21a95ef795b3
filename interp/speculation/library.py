"""Builtins on lists, in Python. A graph has these functions as it has functions of the user.

In a graph, items are compared by `==` only, while Python compares identities first. So these functions assert that they
do not meet an item that is not equal to itself.
"""

from __future__ import annotations

from typing import Any


def item_at(items: Any, position: Any) -> Any:
    """The item of a container at a position; that of a dict is a pair. A graph has this function, and the next four, as
    operations on containers of all classes."""
    return items[position]


def count_items(items: Any) -> Any:
    """The number of items of a container."""
    return len(items)


def set_item(items: Any, position: Any, item: Any) -> Any:
    """Replace the item of a container at a position."""
    items[position] = item


def add_item(items: Any, item: Any) -> Any:
    """Add an item at the end of a container."""
    items.append(item)


def drop_item(items: Any) -> Any:
    """Remove the last item of a container, which is there."""
    items.pop()


def find_item(items: Any, value: Any) -> Any:
    """The position of a value among the items of a container; -1 if it is not there.

    >>> find_item([5, 6], 6), find_item([5, 6], 7)
    (1, -1)
    """
    assert value == value
    result = -1
    for position in range(count_items(items)):
        if item_at(items, position) == value:
            result = position
            break
    return result


def find_key(pairs: Any, key: Any) -> Any:
    """The position of a key among the pairs of a dict; -1 if it is not there.

    >>> find_key([("a", 1), ("b", 2)], "b"), find_key([("a", 1)], "c")
    (1, -1)
    """
    assert key == key
    result = -1
    for position in range(count_items(pairs)):
        if item_at(pairs, position)[0] == key:
            result = position
            break
    return result


def remove_at(items: Any, position: Any) -> Any:
    """Remove the item at a position that is there.

    >>> items = [1, 2, 3]
    >>> remove_at(items, 1), items
    (None, [1, 3])
    """
    for following in range(position + 1, count_items(items)):
        set_item(items, following - 1, item_at(items, following))
    drop_item(items)


def add_first(items: Any, item: Any) -> Any:
    """Add an item before the others.

    >>> items = [2, 3]
    >>> add_first(items, 1), items
    (None, [1, 2, 3])
    """
    add_item(items, item)
    position = count_items(items) - 1
    while position > 0:
        set_item(items, position, item_at(items, position - 1))
        position = position - 1
    set_item(items, 0, item)


def move_to_end(pairs: Any, position: Any) -> Any:
    """Move the item at a position behind the others.

    >>> items = [1, 2, 3]
    >>> move_to_end(items, 0), items
    (None, [2, 3, 1])
    """
    item = item_at(pairs, position)
    remove_at(pairs, position)
    add_item(pairs, item)


def keys_of(pairs: Any) -> Any:
    """The keys of a dict, as a list.

    >>> keys_of([("a", 1), ("b", 2)])
    ['a', 'b']
    """
    return [item_at(pairs, position)[0] for position in range(count_items(pairs))]


def values_of(pairs: Any) -> Any:
    """The values of a dict, as a list.

    >>> values_of([("a", 1), ("b", 2)])
    [1, 2]
    """
    return [item_at(pairs, position)[1] for position in range(count_items(pairs))]


def pairs_of(items: Any) -> Any:
    """The items of a container, as a list.

    >>> pairs_of([("a", 1)])
    [('a', 1)]
    """
    return [item_at(items, position) for position in range(count_items(items))]


def add_all(items: Any, more: Any) -> Any:
    """Add each item of a list at the end of a container.

    >>> items = [1]
    >>> add_all(items, [2, 3]), items
    (None, [1, 2, 3])
    """
    for item in more:
        add_item(items, item)


def add_each(items: Any, more: Any) -> Any:
    """Add each item of a list that a container does not have.

    >>> items = [1]
    >>> add_each(items, [2, 1, 2]), items
    (None, [1, 2])
    """
    for item in more:
        if find_item(items, item) < 0:
            add_item(items, item)


def sort_by(items: Any, keys: Any, is_down: Any) -> Any:
    """`sorted(items, key=..., reverse=is_down)`, with the keys of the items: insertion, which keeps the order of items
    with equal keys.

    >>> sort_by(["a", "b", "c"], [2, 1, 2], False), sort_by(["a", "b", "c"], [1, 2, 1], True)
    (['b', 'a', 'c'], ['b', 'a', 'c'])
    """
    result = [item for item in items]  # noqa: C416 (a graph calls `copy` for `list`)
    keys = [key for key in keys]  # noqa: C416
    for end in range(len(result)):
        item = result[end]
        key = keys[end]
        assert key == key
        position = end
        while position > 0:
            before = keys[position - 1]
            if not (before < key if is_down else key < before):
                break
            result[position] = result[position - 1]
            keys[position] = before
            position = position - 1
        result[position] = item
        keys[position] = key
    return result


def largest_by(items: Any, keys: Any) -> Any:
    """`max(items, key=...)`, with the keys of the items.

    >>> largest_by(["a", "b", "c"], [1, 2, 2])
    'b'
    """
    best = 0
    for position in range(1, len(items)):
        if keys[position] > keys[best]:
            best = position
    return items[best]


def smallest_by(items: Any, keys: Any) -> Any:
    """`min(items, key=...)`, with the keys of the items.

    >>> smallest_by(["a", "b", "c"], [2, 1, 1])
    'b'
    """
    best = 0
    for position in range(1, len(items)):
        if keys[position] < keys[best]:
            best = position
    return items[best]


def replace_items(items: Any, new_items: Any) -> Any:
    """Replace the items of a list by others, of the same number.

    >>> items = [2, 1]
    >>> replace_items(items, [1, 2]), items
    (None, [1, 2])
    """
    for position in range(len(items)):
        items[position] = new_items[position]


def total(items: Any, start: Any = 0) -> Any:
    """`sum`.

    >>> total([1, 2, 3])
    6
    """
    for item in items:
        start = start + item
    return start


def largest(items: Any) -> Any:
    """`max`: the first of the largest items.

    >>> largest([1, 3, 2])
    3
    """
    best = items[0]
    for item in items:
        if item > best:
            best = item
    return best


def smallest(items: Any) -> Any:
    """`min`: the first of the smallest items.

    >>> smallest([2, 1, 3])
    1
    """
    best = items[0]
    for item in items:
        if item < best:
            best = item
    return best


def has_true(items: Any) -> Any:
    """`any`.

    >>> has_true([0, 2]), has_true([])
    (True, False)
    """
    for item in items:  # noqa: SIM110 (a graph has no generators)
        if item:
            return True
    return False


def has_only_true(items: Any) -> Any:
    """`all`.

    >>> has_only_true([1, 2]), has_only_true([1, 0])
    (True, False)
    """
    for item in items:  # noqa: SIM110 (a graph has no generators)
        if not item:
            return False
    return True


def contains(items: Any, value: Any) -> Any:
    """`value in items`.

    >>> contains([1, 2], 2), contains([], 2)
    (True, False)
    """
    assert value == value
    for item in items:  # noqa: SIM110 (a graph has no generators)
        if item == value:
            return True
    return False


def copy(items: Any) -> Any:
    """`list` of a list.

    >>> copy([1, 2])
    [1, 2]
    """
    return [item for item in items]  # noqa: C416 (a graph calls this for `list`)


def part(items: Any, start: Any, stop: Any) -> Any:
    """`items[start:stop]`.

    >>> part([1, 2, 3, 4], 1, -1), part([1, 2], -9, 9), part([1, 2], 5, 1)
    ([2, 3], [1, 2], [])
    """
    size = len(items)
    if start < 0:
        start = max(start + size, 0)
    if stop < 0:
        stop = stop + size
    return [items[position] for position in range(start, min(stop, size))]


def tail(items: Any, start: Any) -> Any:
    """`items[start:]`.

    >>> tail([1, 2, 3], -2), tail([1, 2, 3], 5)
    ([2, 3], [])
    """
    size = len(items)
    if start < 0:
        start = max(start + size, 0)
    return [items[position] for position in range(start, size)]


def backward(items: Any) -> Any:
    """`items[::-1]`.

    >>> backward([1, 2, 3])
    [3, 2, 1]
    """
    last = len(items) - 1
    return [items[last - position] for position in range(len(items))]


def concatenate(first: Any, second: Any) -> Any:
    """`one + other`.

    >>> concatenate([1], [2])
    [1, 2]
    """
    result = [item for item in first]  # noqa: C416 (a graph calls `copy` for `list`)
    for item in second:
        result.append(item)
    return result


def repeat(items: Any, count: Any) -> Any:
    """`items * count`.

    >>> repeat([1, 2], 2), repeat([1], -1)
    ([1, 2, 1, 2], [])
    """
    result = []
    for _ in range(count):
        for item in items:
            result.append(item)
    return result


def extend(items: Any, more: Any) -> Any:
    """`items.extend(more)`; `more` may be `items`.

    >>> items = [1, 2]
    >>> extend(items, items), items
    (None, [1, 2, 1, 2])
    """
    for position in range(len(more)):
        items.append(more[position])


def insert(items: Any, position: Any, value: Any) -> Any:
    """`items.insert(position, value)`.

    >>> items = [1, 3]
    >>> insert(items, 1, 2), insert(items, -9, 0), insert(items, 9, 4), items
    (None, None, None, [0, 1, 2, 3, 4])
    """
    items.append(value)
    end = len(items) - 1
    if position < 0:
        position = max(position + end, 0)
    while end > position:
        items[end] = items[end - 1]
        end = end - 1
    items[end] = value


def pop(items: Any, position: Any) -> Any:
    """`items.pop(position)`.

    >>> items = [1, 2, 3]
    >>> pop(items, 0), pop(items, -1), items
    (1, 3, [2])
    """
    value = items[position]
    if position < 0:
        position = position + len(items)
    for following in range(position + 1, len(items)):
        items[following - 1] = items[following]
    items.pop()
    return value


def find(items: Any, value: Any) -> Any:
    """`items.index(value)`, which is asserted to be there.

    >>> find([5, 6], 6)
    1
    """
    assert value == value
    for position in range(len(items)):
        if items[position] == value:
            return position
    raise ValueError(value)


def count(items: Any, value: Any) -> Any:
    """`items.count(value)`.

    >>> count([1, 2, 1], 1)
    2
    """
    assert value == value
    result = 0
    for item in items:
        if item == value:
            result = result + 1
    return result


def reverse(items: Any) -> Any:
    """`items.reverse()`.

    >>> items = [1, 2, 3]
    >>> reverse(items), items
    (None, [3, 2, 1])
    """
    for position in range(len(items) // 2):
        last = len(items) - 1 - position
        value = items[position]
        items[position] = items[last]
        items[last] = value


def sort(items: Any) -> Any:
    """`sorted`: insertion, which is stable.

    >>> sort([3, 1, 2])
    [1, 2, 3]
    """
    result = [item for item in items]  # noqa: C416 (a graph calls `copy` for `list`)
    for end in range(len(result)):
        value = result[end]
        assert value == value
        position = end
        while position > 0:
            if not value < result[position - 1]:
                break
            result[position] = result[position - 1]
            position = position - 1
        result[position] = value
    return result


def fold(function: Any, items: Any, start: Any) -> Any:
    """`functools.reduce`.

    >>> fold(max, [1, 3, 2], 0)
    3
    """
    for item in items:
        start = function(start, item)
    return start


def push(heap: Any, item: Any) -> Any:
    """`heapq.heappush`.

    >>> heap = [2, 3]
    >>> push(heap, 1), heap
    (None, [1, 3, 2])
    """
    heap.append(item)
    sift_down(heap, 0, len(heap) - 1)


def pop_smallest(heap: Any) -> Any:
    """`heapq.heappop`.

    >>> heap = [1, 3, 2]
    >>> pop_smallest(heap), heap
    (1, [2, 3])
    """
    last = heap.pop()
    if len(heap) == 0:
        return last
    smallest = heap[0]
    heap[0] = last
    sift_up(heap, 0)
    return smallest


def make_heap(items: Any) -> Any:
    """`heapq.heapify`.

    >>> items = [3, 2, 1]
    >>> make_heap(items), items
    (None, [1, 2, 3])
    """
    for position in range(len(items) // 2 - 1, -1, -1):
        sift_up(items, position)


def sift_down(heap: Any, start: Any, position: Any) -> Any:
    """Move the item at a position towards the start, to where its parent is no larger.

    >>> heap = [2, 3, 1]
    >>> sift_down(heap, 0, 2), heap
    (None, [1, 3, 2])
    """
    item = heap[position]
    while position > start:
        parent = (position - 1) // 2
        if not item < heap[parent]:
            break
        heap[position] = heap[parent]
        position = parent
    heap[position] = item


def sift_up(heap: Any, position: Any) -> Any:
    """Move the item at a position to a leaf, by the smaller children, and from there to where its parent is no larger.

    >>> heap = [3, 2, 1]
    >>> sift_up(heap, 0), heap
    (None, [1, 2, 3])
    """
    start = position
    item = heap[position]
    child = 2 * position + 1
    while child < len(heap):
        if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
            child = child + 1
        heap[position] = heap[child]
        position = child
        child = 2 * position + 1
    heap[position] = item
    sift_down(heap, start, position)


def bisect_left(items: Any, value: Any) -> Any:
    """`bisect.bisect_left`.

    >>> bisect_left([1, 2, 2, 3], 2)
    1
    """
    low = 0
    high = len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(items: Any, value: Any) -> Any:
    """`bisect.bisect_right`.

    >>> bisect_right([1, 2, 2, 3], 2)
    3
    """
    low = 0
    high = len(items)
    while low < high:
        middle = (low + high) // 2
        if value < items[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def insert_sorted(items: Any, value: Any) -> Any:
    """`bisect.insort`.

    >>> items = [1, 3]
    >>> insert_sorted(items, 2), items
    (None, [1, 2, 3])
    """
    insert(items, bisect_right(items, value), value)
