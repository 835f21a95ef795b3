"""Where kernels run: what numba.cuda finds, a graphics processor or its simulator. It is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any
from warnings import catch_warnings, filterwarnings, simplefilter

import numpy as np

SIMULATOR_VARIABLE = "NUMBA_ENABLE_CUDASIM"
"""The environment variable that asks numba, before it is imported, for the simulator."""
BLOCK_THREADS = 128
"""The most threads of a block."""
_device_lock = Lock()
"""numba begins to use a device when it is first asked, and tells a second thread that it already has."""


def numba_cuda() -> Any:
    """The module."""
    from numba import cuda

    return cuda


def missing_requirement() -> str | None:
    """What is missing for kernels to run here, or None."""
    try:
        with _device_lock:
            if numba_cuda().is_available():
                return None
    except ImportError as error:
        return f"numba.cuda cannot be imported: {error}"
    return f"numba.cuda finds no GPU; {SIMULATOR_VARIABLE}=1 in the environment asks for its simulator"


def is_simulated() -> bool:
    """Whether kernels are run by Python threads."""
    return "simulator" in numba_cuda().jit.__module__


def describe_device() -> str:
    """What machine code for the device depends on, besides what depends on numba."""
    if is_simulated():
        return "the simulator"
    cuda, by = numba_cuda(), "numba"
    with suppress(PackageNotFoundError):
        by = f"numba-cuda {version('numba-cuda')}"
    return f"{by}, CUDA {cuda.runtime.get_version()}, for {cuda.get_current_device().compute_capability}"


def launch(kernel: Any, count: int, *arguments: Any) -> None:
    """Run a kernel with a thread for each of `count`, of which there must be some, or a few more."""
    kernel[-(-count // BLOCK_THREADS), min(count, BLOCK_THREADS)](*arguments)


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array on the device, of whatever lies there. Raises MemoryError."""
    try:
        return numba_cuda().device_array(shape, dtype)
    except Exception as error:  # whose class depends on the version
        if "OUT_OF_MEMORY" in str(error):
            raise MemoryError(str(error)) from error
        raise


def free_bytes() -> float:
    """The bytes that are free on the device."""
    found: float = numba_cuda().current_context().get_memory_info().free
    return found


@contextmanager
def simulator_warnings_off() -> Iterator[None]:
    """In the simulator numbers are NumPy's, which warn where integers wrap; and of a wave of few tokens numba warns
    that the device has more threads than that."""
    with catch_warnings():
        simplefilter("ignore", RuntimeWarning)
        filterwarnings("ignore", ".*(Grid size|Host array used)")
        yield
