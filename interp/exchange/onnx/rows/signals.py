"""Operators of signals: Fourier transforms, as products with matrices of cosines and sines, and spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operators import operator, tl, unsupported
from .common import COST, axis_position, check_table_size, dtype_of, known_sizes, rank_of, shape_of, to_dtype


def fourier_transform(real: Any, imaginary: Any, length: int, *, inverse: bool, count: int) -> tuple[Any, Any]:
    """The first `count` elements of the Fourier transforms along the last axis; `imaginary` is None for zeros."""
    check_table_size(length, count)
    angles = 2 * np.pi * np.outer(np.arange(length), np.arange(count)) / length
    cosines, sines = np.cos(angles), np.sin(angles) * (1 if inverse else -1)
    if inverse:
        cosines, sines = cosines / length, sines / length
    dtype = dtype_of(real).numpy
    cosines, sines = cosines.astype(dtype), sines.astype(dtype)
    first, second = tl.matmul(real, cosines), tl.matmul(real, sines)
    if imaginary is None:
        return first, second
    return tl.subtract(first, tl.matmul(imaginary, sines)), tl.add(second, tl.matmul(imaginary, cosines))


@operator("DFT", version=17, static=(1,))
def dft_along_attribute(x: Any, length: Any = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Any:
    return dft(x, length, np.asarray(axis), inverse=inverse, onesided=onesided)


@operator("DFT", version=20, static=(1, 2))
def dft(x: Any, length: Any = None, axis: Any = None, *, inverse: int = 0, onesided: int = 0) -> Any:
    """Complex numbers are pairs along the last axis, real ones alone there. The signal is cut off, or continued by
    zeros, to a length."""
    rank = rank_of(x)
    position = axis_position(-2 if axis is None else int(axis), rank)
    size = known_sizes(x, [position])[0]
    is_real = shape_of(x)[-1] == 1
    parts = [tl.moveaxis(tl.index(x, (..., k)), position, -1) for k in range(1 if is_real else 2)]
    total = size if length is None else int(length)
    if inverse and onesided:
        total = 2 * (size - 1) if length is None else int(length)
        parts = [extend_by_conjugates(part, total, sign) for part, sign in zip(parts, (1.0, -1.0), strict=False)]
        size = total
    if total < size:
        parts = [tl.index(part, (..., slice(None, total))) for part in parts]
    elif total > size:
        parts = [tl.pad(part, (*[(0, 0)] * (rank_of(part) - 1), (0, total - size))) for part in parts]
    count = total // 2 + 1 if onesided and not inverse else total
    real, imaginary = fourier_transform(
        parts[0], parts[1] if len(parts) > 1 else None, total, inverse=bool(inverse), count=count
    )
    if inverse and onesided:
        return tl.expand_dims(tl.moveaxis(real, -1, position), axis=-1)
    return tl.stack([tl.moveaxis(real, -1, position), tl.moveaxis(imaginary, -1, position)], axis=-1)


def extend_by_conjugates(part: Any, total: int, sign: float) -> Any:
    """The elements of a spectrum of a real signal that its first half determines."""
    first_half = tl.index(part, (..., slice(None, total // 2 + 1)))
    mirrored = tl.flip(tl.index(first_half, (..., slice(1, (total + 1) // 2))), axis=-1)
    return tl.concat([first_half, tl.multiply(mirrored, sign)], axis=-1)


@operator("STFT", version=17, static=(1, 3))
def stft(signal: Any, step: Any, window: Any = None, length: Any = None, *, onesided: int = 1) -> Any:
    """The Fourier transforms of the windows of a signal."""
    if length is None and window is None:
        raise unsupported("attribute", "STFT without a window and the length of frames")
    size = int(length) if length is not None else known_sizes(window, [0])[0]
    count = size // 2 + 1 if onesided else size
    source = signal if rank_of(signal) == 3 else tl.expand_dims(signal, axis=-1)
    parts = []
    for k in range(shape_of(source)[-1] or 1):
        frames = tl.windows(tl.index(source, (..., k)), (size,), strides=(int(step),))
        parts.append(frames if window is None else tl.multiply(frames, to_dtype(window, dtype_of(signal))))
    real, imaginary = fourier_transform(
        parts[0], parts[1] if len(parts) > 1 else None, size, inverse=False, count=count
    )
    return tl.stack([real, imaginary], axis=-1)


@operator("MelWeightMatrix", version=17, static=(0, 1, 2, 3, 4))
def mel_weight_matrix(bins: Any, length: Any, rate: Any, low: Any, high: Any, *, output_datatype: int = 1) -> Any:
    """The weights of the frequencies of a spectrum in bands whose centres are equally distant in mel. The distance is
    that of ONNX's own example."""
    spectrum, count = int(length) // 2 + 1, int(bins)
    check_table_size(spectrum, count + 2, COST)

    def to_mel(hertz: float) -> float:
        return float(2595.0 * np.log10(1.0 + hertz / 700.0))

    first_mel, last_mel = to_mel(float(low)), to_mel(float(high))
    edges = first_mel + np.arange(count + 2) * ((last_mel - first_mel) / (count + 2))
    edges = 700.0 * (10.0 ** (edges / 2595.0) - 1.0)
    edge_bins = np.floor((int(length) + 1) * edges / float(rate)).astype(int)
    matrix = np.zeros((spectrum, count))
    for band in range(count):
        first, middle, last = edge_bins[band : band + 3]
        if middle == first:
            matrix[middle, band] = 1
        for k in range(first, middle + 1):
            if middle != first:
                matrix[k, band] = (k - first) / (middle - first)
        for k in range(middle, last):
            if last != middle:
                matrix[k, band] = (last - k) / (last - middle)
    return to_dtype(matrix, output_datatype)
