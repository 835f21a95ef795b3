"""Operators that turn data into features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operators import operator, tl, unsupported
from .common import check_table_size, dtype_of, known_sizes, rank_of, scalar_like


@operator("Binarizer", domain="ai.onnx.ml")
def binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    return tl.astype(tl.greater(x, scalar_like(threshold, x)), dtype_of(x))


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(x: Any, indices: Any) -> Any:
    return tl.take(x, tl.reshape(indices, (-1,)), axis=rank_of(x) - 1)


@operator("TfIdfVectorizer", version=9)
def tf_idf_vectorizer(
    x: Any, *, max_gram_length: int, max_skip_count: int, min_gram_length: int, mode: str, ngram_counts: Any,
    ngram_indexes: Any, pool_int64s: Any = None, pool_strings: Any = None, weights: Any = None,
) -> Any:  # fmt: skip
    """The number of occurrences of each n-gram of a pool in a row of integers, with up to `max_skip_count` elements
    skipped between two; or whether it occurs; times its weight."""
    if pool_int64s is None:
        raise unsupported("dtype", "tagloom has no strings")
    rows = x if rank_of(x) == 2 else tl.expand_dims(x, axis=0)
    pool, length = np.array(pool_int64s, np.int64), known_sizes(rows, [1])[0]
    check_table_size(max(ngram_indexes) + 1, len(pool))
    counts, first = [], 0
    for size, (start, stop) in enumerate(zip(ngram_counts, (*ngram_counts[1:], len(pool)), strict=True), 1):
        grams = pool[start:stop].reshape(-1, size)
        if min_gram_length <= size <= max_gram_length and len(grams):
            columns = np.array(ngram_indexes[first : first + len(grams)])
            for step in range(1, 2 if size == 1 else min(max_skip_count + 2, length + 1)):
                gram_counts = occurrences(rows, grams, step, length)
                counts.append(tl.matmul(gram_counts, np.eye(max(ngram_indexes) + 1, dtype=np.float32)[columns]))
        first += len(grams)
    total = counts[0]
    for count in counts[1:]:
        total = tl.add(total, count)
    if mode == "IDF":
        total = tl.astype(tl.greater(total, 0.0), tl.float32)
    if mode != "TF" and weights is not None:
        total = tl.multiply(total, np.array(weights, np.float32))
    return total if rank_of(x) == 2 else tl.squeeze(total, 0)


def occurrences(rows: Any, grams: np.ndarray[Any, Any], step: int, length: int) -> Any:
    """The number of occurrences of each n-gram in each row, float32; its elements are `step` apart."""
    count = length - (grams.shape[1] - 1) * step
    if count <= 0:
        return tl.broadcast_to(np.float32(0), (tl.shape(rows)[0], len(grams)))
    parts = tl.stack([rows[:, k * step : k * step + count] for k in range(grams.shape[1])], axis=-1)
    is_gram = tl.all(tl.equal(tl.expand_dims(tl.astype(parts, tl.int64), axis=2), grams), axis=-1)
    return tl.sum(tl.astype(is_gram, tl.float32), axis=1)
