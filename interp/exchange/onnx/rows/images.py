"""Operators of images and boxes: resizing, sampling at points, regions, suppression of boxes that overlap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..operators import operator, tl, unsupported
from .common import (
    COST,
    axis_position,
    check_table_size,
    dtype_of,
    integers,
    known_sizes,
    rank_of,
    require,
    scalar,
    scalar_like,
    to_dtype,
)


def source_position(mode: str, index: int, scale: float, size: int, new_size: float, roi: tuple[float, float]) -> float:
    """The position, in an axis of `size` elements, of element `index` of the resized axis of `new_size` elements."""
    match mode:
        case "half_pixel":
            return (index + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            adjusted_scale = int(new_size) / new_size
            return size / 2 * (1 - adjusted_scale) + (index + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return 0.0 if int(new_size) <= 1 else (index + 0.5) / scale - 0.5
        case "align_corners":
            return 0.0 if new_size == 1 else index * (size - 1) / (new_size - 1)
        case "asymmetric":
            return index / scale
        case "tf_half_pixel_for_nn":
            return (index + 0.5) / scale
        case "tf_crop_and_resize":
            start, end = roi
            if int(new_size) == 1:
                return (end - start) * (size - 1) / 2
            return start * (size - 1) + index * (end - start) * (size - 1) / (int(new_size) - 1)
    raise unsupported("attribute", f"coordinate_transformation_mode {mode!r}")


def nearest_index(mode: str, position: float) -> int:
    """The element nearest to a position."""
    match mode:
        case "round_prefer_floor":
            return math.ceil(position - 0.5)
        case "round_prefer_ceil":
            return math.floor(position + 0.5)
        case "floor":
            return math.floor(position)
        case "ceil":
            return math.ceil(position)
    raise unsupported("attribute", f"nearest_mode {mode!r}")


def cubic_weight(distance: float, a: float) -> float:
    """The weight of an element at this distance, by the cubic convolution with parameter a."""
    x = abs(distance)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def resize_matrix(
    size: int, new_size: float, scale: float, roi: tuple[float, float], *, mode: str, nearest_mode: str,
    coordinates: str, cubic_a: float, exclude_outside: int, antialias: int,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:  # fmt: skip
    """The weights of the elements of an axis in the elements of the resized axis, and which elements of the latter are
    extrapolated."""
    count = int(new_size)
    check_table_size(count, max(size, COST))
    matrix, is_outside = np.zeros((count, size)), np.zeros(count, bool)
    for index in range(count):
        position = source_position(coordinates, index, scale, size, new_size, roi)
        if coordinates == "tf_crop_and_resize" and not 0 <= position <= size - 1:
            is_outside[index] = True
            continue
        if mode == "nearest":
            matrix[index, min(max(nearest_index(nearest_mode, position), 0), size - 1)] = 1
            continue
        stretch = min(scale, 1.0) if antialias else 1.0
        reach = (1 if mode == "linear" else 2) / stretch
        taps = range(math.ceil(position - reach - 1e-9), math.floor(position + reach + 1e-9) + 1)
        if mode == "linear":
            weights = [max(1 - abs(tap - position) * stretch, 0.0) for tap in taps]
        else:
            weights = [cubic_weight((tap - position) * stretch, cubic_a) for tap in taps]
        if exclude_outside:
            weights = [weight if 0 <= tap < size else 0.0 for weight, tap in zip(weights, taps, strict=True)]
        if exclude_outside or antialias:
            weights = [weight / sum(weights) for weight in weights]
        for tap, weight in zip(taps, weights, strict=True):
            matrix[index, min(max(tap, 0), size - 1)] += weight
    return matrix, is_outside


def fit_sizes(
    shape: Sequence[int], resized_axes: Sequence[int], sizes: Sequence[int], policy: str
) -> tuple[list[float], list[float]]:
    """The factors by which all axes are resized, and their sizes then, for the sizes that some axes shall get. Unless
    the policy is "stretch", all these have the same factor, the smallest or the largest."""
    require(all(shape[axis] for axis in resized_axes), "Resize gives no size to an axis without elements")
    factors, new_sizes = [1.0] * len(shape), [float(size) for size in shape]
    targets = dict(zip(resized_axes, sizes, strict=True))
    ratios = [targets[axis] / shape[axis] for axis in resized_axes]
    if policy != "stretch":
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        targets = {axis: math.floor(ratio * shape[axis] + 0.5) for axis in resized_axes}
        ratios = [ratio] * len(resized_axes)
    for axis, ratio in zip(resized_axes, ratios, strict=True):
        factors[axis], new_sizes[axis] = ratio, float(targets[axis])
    return factors, new_sizes


@operator("Resize", version=10, static=(1,))
def resize_by_scales(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    return resize(x, None, scales, mode="linear" if mode == "bilinear" else mode,
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip


@operator("Resize", version=11, static=(1, 2, 3))
def resize(
    x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, *, antialias: int = 0, axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75, exclude_outside: int = 0,
    extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:  # fmt: skip
    """Each axis is resized by a matrix of weights, or by taking its elements. Integers are truncated once all axes are
    resized."""
    rank, shape = rank_of(x), known_sizes(x)
    has_sizes = sizes is not None and sizes.size > 0
    require(has_sizes or (scales is not None and scales.size > 0), "Resize has neither sizes nor scales")
    require(mode in ("nearest", "linear", "cubic"), "mode is none of nearest, linear and cubic")
    resized_axes = list(range(rank)) if axes is None else [axis_position(axis, rank) for axis in axes]
    if has_sizes:
        factors, new_sizes = fit_sizes(shape, resized_axes, integers(sizes), keep_aspect_ratio_policy)
    else:
        factors, new_sizes = [1.0] * rank, [float(size) for size in shape]
        for axis, factor in zip(resized_axes, np.asarray(scales, np.float64).reshape(-1), strict=True):
            factors[axis], new_sizes[axis] = float(factor), float(factor) * shape[axis]
    parts = [0.0] * rank + [1.0] * rank
    if roi is not None and roi.size:
        bounds = [float(bound) for bound in roi.reshape(-1)]
        for k, axis in enumerate(resized_axes):
            parts[axis], parts[axis + rank] = bounds[k], bounds[k + len(resized_axes)]
    dtype = dtype_of(x)
    is_sum = mode != "nearest" and dtype.kind != "f"
    result, masks = tl.astype(x, tl.float64) if is_sum else x, []
    for axis in resized_axes:
        if (
            factors[axis] == 1.0
            and new_sizes[axis] == shape[axis]
            and coordinate_transformation_mode != "tf_crop_and_resize"
        ):
            continue
        matrix, is_outside = resize_matrix(
            shape[axis], new_sizes[axis], factors[axis], (parts[axis], parts[axis + rank]), mode=mode,
            nearest_mode=nearest_mode, coordinates=coordinate_transformation_mode, cubic_a=cubic_coeff_a,
            exclude_outside=exclude_outside, antialias=antialias,
        )  # fmt: skip
        if mode == "nearest":
            result = tl.take(result, matrix.argmax(axis=1), axis=axis)
        else:
            weights = np.ascontiguousarray(matrix.T.astype(dtype_of(result).numpy))
            result = tl.moveaxis(tl.matmul(tl.moveaxis(result, axis, -1), weights), -1, axis)
        masks.append((axis, is_outside))
    for axis, is_outside in masks:
        if is_outside.any():
            mask = is_outside.reshape([-1 if k == axis else 1 for k in range(rank)])
            result = tl.where(mask, scalar_like(extrapolation_value, result), result)
    return to_dtype(result, dtype)


@operator("Upsample", version=9, static=(1,))
def upsample(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    return resize_by_scales(x, scales, mode=mode)


@operator("Upsample", version=7)
def upsample_by_attribute(x: Any, *, scales: Any, mode: str = "nearest") -> Any:
    return resize_by_scales(x, np.array(scales), mode=mode)


def elements_at(x: Any, coordinates: Sequence[Any], *, clamped: bool) -> Any:
    """The elements of spatial arrays, of shape (N, C, *spatial), at positions of shape (N, P) along each spatial axis,
    which are integers as floats; the result has shape (N, C, P). Elements outside are 0, or those at the edge if
    `clamped`."""
    batch, channels, *sizes = known_sizes(x)
    flat: Any = None
    is_inside: Any = None
    for coordinate, size in zip(coordinates, sizes, strict=True):
        fits = tl.logical_and(tl.greater_equal(coordinate, 0.0), tl.less_equal(coordinate, float(size - 1)))
        is_inside = fits if is_inside is None else tl.logical_and(is_inside, fits)
        number = tl.astype(tl.minimum(tl.maximum(coordinate, 0.0), float(size - 1)), tl.int64)
        flat = number if flat is None else tl.add(tl.multiply(flat, size), number)
    count = tl.shape(flat)[1]
    indices = tl.broadcast_to(tl.expand_dims(flat, axis=1), (batch, channels, count))
    elements = tl.take_along_axis(tl.reshape(x, (batch, channels, math.prod(sizes))), indices, axis=2)
    return elements if clamped else tl.where(tl.expand_dims(is_inside, axis=1), elements, scalar_like(0, x))


def bilinear_at(x: Any, *coordinates: Any) -> Any:
    """Spatial arrays, interpolated linearly at coordinates (N, P) along each spatial axis; 0 outside."""
    return interpolate(x, coordinates, linear_taps, keep_coordinate)


Taps = Callable[[Any], list[tuple[Any, Any]]]


def keep_coordinate(coordinate: Any, size: int) -> Any:
    """A coordinate as it is: the map for padding that needs none."""
    return coordinate


def linear_taps(coordinate: Any) -> list[tuple[Any, Any]]:
    """The elements around a coordinate, and their weights."""
    low = tl.floor(coordinate)
    fraction = tl.subtract(coordinate, low)
    return [(low, tl.subtract(1.0, fraction)), (tl.add(low, 1.0), fraction)]


def nearest_taps(coordinate: Any) -> list[tuple[Any, Any]]:
    """The nearest element, with the weight 1."""
    return [(tl.round(coordinate), tl.add(tl.multiply(coordinate, 0.0), 1.0))]


def cubic_taps(coordinate: Any) -> list[tuple[Any, Any]]:
    """The four elements around a coordinate, and their weights by cubic convolution (Keys, 1981) with a = -0.75."""
    a, low = -0.75, tl.floor(coordinate)
    fraction = tl.subtract(coordinate, low)

    def inner_weight(t: Any) -> Any:
        return tl.add(tl.multiply(tl.multiply(tl.subtract(tl.multiply(t, a + 2), a + 3), t), t), 1.0)

    def outer_weight(t: Any) -> Any:
        return tl.multiply(tl.subtract(tl.multiply(tl.add(tl.multiply(tl.subtract(t, 5.0), t), 8.0), t), 4.0), a)

    opposite = tl.subtract(1.0, fraction)
    weights = [
        outer_weight(tl.add(fraction, 1.0)),
        inner_weight(fraction),
        inner_weight(opposite),
        outer_weight(tl.add(opposite, 1.0)),
    ]
    return [(tl.add(low, float(k)), weight) for k, weight in zip((-1, 0, 1, 2), weights, strict=True)]


def interpolate(
    x: Any, coordinates: Sequence[Any], taps: Taps, fold: Callable[[Any, int], Any], *, clamped: bool = False
) -> Any:
    """The sums of elements at the taps of coordinates, times their weights; `fold` maps the index of a tap into an
    axis."""
    sizes = known_sizes(x)[2:]
    per_axis = [
        [(fold(tap, size), weight) for tap, weight in taps(coordinate)]
        for coordinate, size in zip(coordinates, sizes, strict=True)
    ]
    total: Any = None
    for corner in itertools.product(*per_axis):
        elements = elements_at(x, [tap for tap, _ in corner], clamped=clamped)
        weight = corner[0][1]
        for _, factor in corner[1:]:
            weight = tl.multiply(weight, factor)
        term = tl.multiply(elements, tl.expand_dims(weight, axis=1))
        total = term if total is None else tl.add(total, term)
    return total


@operator("GridSample")
def grid_sample(x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> Any:
    """x at the points of a grid, whose coordinates run from -1 to 1, the last axis first."""
    batch, channels, *sizes = known_sizes(x)
    points = known_sizes(grid)[1:-1]
    coordinates = []
    for axis, size in enumerate(sizes):
        unit = tl.reshape(tl.index(grid, (..., len(sizes) - 1 - axis)), (batch, math.prod(points)))
        unit = to_dtype(unit, dtype_of(x))
        if align_corners:
            coordinates.append(tl.multiply(tl.add(unit, 1.0), (size - 1) / 2))
        else:
            coordinates.append(tl.divide(tl.subtract(tl.multiply(tl.add(unit, 1.0), float(size)), 1.0), 2.0))
    taps = {
        "linear": linear_taps,
        "bilinear": linear_taps,
        "nearest": nearest_taps,
        "cubic": cubic_taps,
        "bicubic": cubic_taps,
    }[mode]

    def reflect(coordinate: Any, size: int) -> Any:
        low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
        if span == 0:
            return tl.multiply(coordinate, 0.0)
        offset = tl.remainder(tl.subtract(coordinate, low), 2 * span)
        return tl.add(tl.minimum(offset, tl.subtract(2 * span, offset)), low)

    fold = reflect if padding_mode == "reflection" else keep_coordinate
    if padding_mode == "border" and taps is not cubic_taps:
        coordinates = [
            tl.minimum(tl.maximum(coordinate, 0.0), float(size - 1))
            for coordinate, size in zip(coordinates, sizes, strict=True)
        ]
    if padding_mode == "reflection" and taps is linear_taps:
        coordinates = [reflect(coordinate, size) for coordinate, size in zip(coordinates, sizes, strict=True)]
        fold = keep_coordinate
    result = interpolate(x, coordinates, taps, fold, clamped=padding_mode != "zeros")
    return tl.reshape(result, (batch, channels, *points))


@operator("RoiAlign", version=10)
def roi_align(
    x: Any, rois: Any, batch_indices: Any, *, mode: str = "avg", output_height: int = 1, output_width: int = 1,
    sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    return pool_regions(x, rois, batch_indices, mode, (output_height, output_width), sampling_ratio, spatial_scale, 0.0)


@operator("RoiAlign", version=16)
def roi_align_with_offset(
    x: Any, rois: Any, batch_indices: Any, *, coordinate_transformation_mode: str = "half_pixel", mode: str = "avg",
    output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    offset = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    return pool_regions(
        x, rois, batch_indices, mode, (output_height, output_width), sampling_ratio, spatial_scale, offset
    )


def pool_regions(
    x: Any, rois: Any, batch_indices: Any, mode: str, shape: tuple[int, int], ratio: int, scale: float, offset: float
) -> Any:
    """Each region of an image in a grid of cells: the mean of the points in a cell, or the largest of their terms."""
    if ratio <= 0:
        raise unsupported("attribute", "RoiAlign with a number of points that depends on the region (sampling_ratio 0)")
    count = known_sizes(rois, [0])[0]
    _, channels, *sizes = known_sizes(x)
    images = tl.take(x, to_dtype(batch_indices, tl.int64), axis=0)
    coordinates = []
    for axis, (size, cells) in enumerate(zip(sizes, shape, strict=True)):
        start = tl.subtract(tl.multiply(tl.index(rois, (slice(None), 1 - axis)), scale), offset)
        end = tl.subtract(tl.multiply(tl.index(rois, (slice(None), 3 - axis)), scale), offset)
        length = tl.subtract(end, start)
        length = length if offset else tl.maximum(length, 1.0)
        check_table_size(cells, ratio)
        steps = ((np.arange(cells * ratio) + 0.5) / (cells * ratio)).astype(dtype_of(x).numpy)
        coordinate = tl.add(tl.expand_dims(start, axis=1), tl.multiply(tl.expand_dims(length, axis=1), steps))
        is_outside = tl.logical_or(tl.less(coordinate, -1.0), tl.greater(coordinate, float(size)))
        clamped = tl.minimum(tl.maximum(coordinate, 0.0), float(size - 1))
        coordinates.append((clamped, is_outside))
    rows, columns = shape[0] * ratio, shape[1] * ratio
    (y, y_outside), (z, z_outside) = coordinates
    grid = (count, rows, columns)
    vertical = tl.reshape(tl.broadcast_to(tl.expand_dims(y, axis=2), grid), (count, rows * columns))
    horizontal = tl.reshape(tl.broadcast_to(tl.expand_dims(z, axis=1), grid), (count, rows * columns))
    is_beyond = tl.reshape(
        tl.broadcast_to(tl.logical_or(tl.expand_dims(y_outside, axis=2), tl.expand_dims(z_outside, axis=1)), grid),
        (count, 1, rows * columns),
    )
    terms = []
    for (row, row_weight), (column, column_weight) in itertools.product(linear_taps(vertical), linear_taps(horizontal)):
        elements = elements_at(images, [row, column], clamped=True)
        weight = tl.expand_dims(tl.multiply(row_weight, column_weight), axis=1)
        terms.append(tl.where(is_beyond, scalar_like(0, x), tl.multiply(elements, weight)))
    combine = tl.add if mode == "avg" else tl.maximum
    points = terms[0]
    for term in terms[1:]:
        points = combine(points, term)
    cells = tl.reshape(points, (count, channels, shape[0], ratio, shape[1], ratio))
    return tl.mean(cells, axis=(3, 5)) if mode == "avg" else tl.max(cells, axis=(3, 5))


@operator("NonMaxSuppression", is_folded=False)
def non_max_suppression(
    boxes: Any, scores: Any, limit: Any = None, overlap: Any = None, threshold: Any = None, *, center_point_box: int = 0
) -> Any:
    """For each class, boxes from the highest score down, without those that overlap one before: a loop over the ranks
    of the boxes, for all classes at once. The result has the batch, the class and the number of each box."""
    batch, classes, count = known_sizes(scores)
    corners = [tl.index(boxes, (..., k)) for k in range(4)]
    if center_point_box:
        x, y, width, height = corners
        corners = [y - height / 2.0, x - width / 2.0, y + height / 2.0, x + width / 2.0]
    first, second, third, fourth = corners
    top, left, bottom, right = (
        tl.minimum(first, third),
        tl.minimum(second, fourth),
        tl.maximum(first, third),
        tl.maximum(second, fourth),
    )
    order = tl.argsort(scores, axis=-1, descending=True)
    ranked_scores = tl.take_along_axis(scores, order, axis=-1)
    shape = (batch, classes, count)
    edges = [
        tl.take_along_axis(tl.broadcast_to(tl.expand_dims(corner, axis=1), shape), order, axis=-1)
        for corner in (top, left, bottom, right)
    ]
    areas = tl.multiply(tl.subtract(edges[2], edges[0]), tl.subtract(edges[3], edges[1]))
    max_boxes = np.int64(0) if limit is None else tl.astype(scalar(limit), tl.int64)
    bound = scalar_like(0, scores) if overlap is None else scalar(overlap)
    is_admitted = (
        tl.broadcast_to(np.asarray(True), shape) if threshold is None else tl.greater(ranked_scores, scalar(threshold))
    )
    check_table_size(count)
    numbers = np.arange(count)

    def suppress(k: Any, is_kept: Any) -> Any:
        box = [tl.expand_dims(tl.take(edge, k, axis=2), axis=2) for edge in (*edges, areas)]
        height = tl.subtract(tl.minimum(box[2], edges[2]), tl.maximum(box[0], edges[0]))
        width = tl.subtract(tl.minimum(box[3], edges[3]), tl.maximum(box[1], edges[1]))
        shared = tl.multiply(tl.maximum(height, 0.0), tl.maximum(width, 0.0))
        union = tl.subtract(tl.add(box[4], areas), shared)
        overlaps = tl.logical_and(tl.greater(shared, tl.multiply(union, bound)), is_kept)
        is_free = tl.logical_not(tl.any(overlaps, axis=2, keepdims=True))
        has_room = tl.less(tl.sum(tl.astype(is_kept, tl.int64), axis=2, keepdims=True), max_boxes)
        is_box_kept = tl.logical_and(
            tl.logical_and(is_free, has_room), tl.expand_dims(tl.take(is_admitted, k, axis=2), axis=2)
        )
        return k + 1, tl.where(tl.equal(numbers, k), is_box_kept, is_kept)

    no_box = tl.broadcast_to(np.asarray(False), shape)
    _, is_kept = tl.while_loop(lambda k, _: tl.less(k, np.int64(count)), suppress, np.int64(0), no_box)
    positions = tl.nonzero(is_kept)
    return tl.stack([positions[0], positions[1], tl.gather(order, *positions)], axis=1)
