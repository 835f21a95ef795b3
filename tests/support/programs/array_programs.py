"""Programs written against the Python Array API standard alone: they import no array library, but use that of their
arguments."""

from __future__ import annotations

from typing import Any


def k_means(points: Any, centres: Any) -> Any:
    """Four rounds of Lloyd's algorithm: the centres, and the number of the nearest one for each point."""
    xp = points.__array_namespace__()
    nearest = xp.zeros(points.shape[0], dtype=xp.int64)
    for _ in range(4):
        apart = points[:, None, :] - centres[None, :, :]
        nearest = xp.argmin(xp.sum(apart * apart, axis=2), axis=1)
        own = xp.astype(nearest[:, None] == xp.arange(centres.shape[0])[None, :], points.dtype)
        centres = xp.matrix_transpose(own) @ points / xp.sum(own, axis=0)[:, None]
    return centres, nearest


def power_iteration(a: Any) -> Any:
    """The largest eigenvalue of a symmetric matrix, and an eigenvector of it, after 20 rounds."""
    xp = a.__array_namespace__()
    v = xp.ones(a.shape[0], dtype=a.dtype)
    for _ in range(20):
        w = a @ v
        v = w / xp.sqrt(xp.sum(w * w))
    return v @ (a @ v), v


def gaussian_filter(image: Any) -> Any:
    """An image blurred along both axes: Gaussian weights of width 1 up to 2 pixels away, with edges repeated."""
    xp = image.__array_namespace__()
    weights = xp.exp(-0.5 * xp.asarray([4.0, 1.0, 0.0, 1.0, 4.0], dtype=image.dtype))
    weights = weights / xp.sum(weights)
    for axis in (0, 1):
        x = xp.moveaxis(image, axis, 0)
        wide = xp.concat([xp.repeat(x[:1, :], 2, axis=0), x, xp.repeat(x[-1:, :], 2, axis=0)], axis=0)
        shifted = xp.stack([wide[k : k + x.shape[0], :] for k in range(5)])
        image = xp.moveaxis(xp.sum(shifted * weights[:, None, None], axis=0), 0, axis)
    return image


def principal_components(x: Any) -> Any:
    """The first two principal components of rows, by power iteration and deflation; and the projections of the rows."""
    xp = x.__array_namespace__()
    centred = x - xp.mean(x, axis=0, keepdims=True)
    covariance = xp.matrix_transpose(centred) @ centred / float(x.shape[0] - 1)
    results = []
    for _ in range(2):
        value, vector = power_iteration(covariance)
        covariance = covariance - value * (vector[:, None] * vector[None, :])
        results.append(vector)
    axes = xp.stack(results, axis=1)
    return axes, centred @ axes
