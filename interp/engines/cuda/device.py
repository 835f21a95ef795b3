"""The device that kernels run on, a GPU or numba's simulator. numba.cuda is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any
from warnings import catch_warnings, filterwarnings, simplefilter

import numpy as np

SIMULATOR_VARIABLE = "NUMBA_ENABLE_CUDASIM"
"""The environment variable that selects numba's simulator; numba reads it when it is imported."""
BLOCK_THREADS = 128
"""The most threads of a block."""
run_lock = Lock()
"""Held during a run: the simulator serves one thread at a time."""
_device_lock = Lock()
"""Held while numba sets up the device, on first use: in two threads at once, that fails."""


def numba_cuda() -> Any:
    """The module `numba.cuda`."""
    from numba import cuda

    return cuda


def missing_requirement() -> str | None:
    """Why kernels cannot run here, or None."""
    try:
        with _device_lock:
            if numba_cuda().is_available():
                return None
    except ImportError as error:
        return f"numba.cuda cannot be imported: {error}"
    return f"numba.cuda finds no GPU; {SIMULATOR_VARIABLE}=1 in the environment selects its simulator"


def is_simulated() -> bool:
    """Whether kernels run on numba's simulator, in Python threads."""
    return "simulator" in numba_cuda().jit.__module__


def describe_device() -> str:
    """The device and the versions that compiled kernels depend on, for the key of the cache."""
    if is_simulated():
        return "the simulator"
    cuda, compiler = numba_cuda(), "numba"
    with suppress(PackageNotFoundError):
        compiler = f"numba-cuda {version('numba-cuda')}"
    return f"{compiler}, CUDA {cuda.runtime.get_version()}, for {cuda.get_current_device().compute_capability}"


def launch(kernel: Any, count: int, *arguments: Any) -> None:
    """Run a kernel with at least `count` threads, in whole blocks; `count` must be positive."""
    kernel[-(-count // BLOCK_THREADS), min(count, BLOCK_THREADS)](*arguments)


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An uninitialized array on the device. Raises MemoryError."""
    try:
        return numba_cuda().device_array(shape, dtype)
    except Exception as error:  # the class depends on numba's version
        if "OUT_OF_MEMORY" in str(error):
            raise MemoryError(str(error)) from error
        raise


def free_bytes() -> float:
    """The free memory of the device in bytes."""
    free: float = numba_cuda().current_context().get_memory_info().free
    return free


@contextmanager
def simulator_warnings_off() -> Iterator[None]:
    """A context without two kinds of warnings: the simulator computes with NumPy, which warns when integers wrap, and
    numba warns if a wave has fewer tokens than the device has threads."""
    with catch_warnings():
        simplefilter("ignore", RuntimeWarning)
        filterwarnings("ignore", ".*(Grid size|Host array used)")
        yield
