"""The device that kernels run on, a GPU or numba's simulator. numba.cuda is imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any
from warnings import catch_warnings, filterwarnings, simplefilter

import numpy as np

from ..thread_switches import frequent_switches

SIMULATOR_VARIABLE = "NUMBA_ENABLE_CUDASIM"
"""The environment variable that selects numba's simulator; numba reads it when it is imported."""
BLOCK_THREADS = 128
"""The most threads of a block."""
SIMULATOR_THREADS, SIMULATOR_BLOCKS = 4, 3
"""The threads of a block and the most blocks of a grid whose threads share the work out, on the simulator: to start a
thread takes a tenth of a millisecond there."""
MULTIPROCESSOR_BLOCKS = 6
"""The most blocks per multiprocessor of such a grid: the kernel of a wave of fib needs 80 registers, with which so many
blocks of 128 threads run at once."""
run_lock = Lock()
"""Held during a run: the simulator serves one thread at a time."""
_device_lock = Lock()
"""Held while numba sets up the device, on first use: in two threads at once, that fails."""


def numba_cuda() -> Any:
    """The module `numba.cuda`."""
    from numba import cuda

    if "simulator" in cuda.jit.__module__:
        _correct_simulator()
    return cuda


@cache
def _correct_simulator() -> None:
    """Correct three races of the simulator. Each kind of atomic has a lock of its own there, so that an addition and an
    `or` of one word can lose a change. Two threads that come first to a shared array can get one each. And each call of
    a device function iterates over the globals of its module, to which a warning in another thread adds one; here only
    the name `cuda` is replaced."""
    from numba import cuda
    from numba.cuda.simulator import kernel, kernelapi
    from numba.np import numpy_support

    lock = Lock()

    @contextmanager
    def swapped_cuda_module(function: Any, module: Any) -> Iterator[None]:
        names = function.__globals__
        is_outermost = names.get("cuda") is cuda
        if is_outermost:
            names["cuda"] = module
        try:
            yield
        finally:
            if is_outermost:
                names["cuda"] = cuda

    def shared_array(self: Any, shape: Any, dtype: Any) -> Any:
        caller = sys._getframe(1)
        place = caller.f_code.co_filename, caller.f_lineno
        with lock:
            if place not in self._allocations:
                self._allocations[place] = np.empty(shape, numpy_support.as_dtype(dtype))
            return self._allocations[place]

    for name in [name for name in vars(kernelapi) if name.endswith("lock")]:
        setattr(kernelapi, name, lock)
    kernelapi.FakeCUDAShared.array = shared_array  # type: ignore[method-assign]
    kernel.swapped_cuda_module = swapped_cuda_module  # type: ignore[assignment, attr-defined]


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


def grid_threads() -> int:
    """The threads of a block of a grid whose threads share the work out."""
    return SIMULATOR_THREADS if is_simulated() else BLOCK_THREADS


def max_blocks() -> int:
    """The most blocks of such a grid."""
    if is_simulated():
        return SIMULATOR_BLOCKS
    return MULTIPROCESSOR_BLOCKS * int(numba_cuda().get_current_device().MULTIPROCESSOR_COUNT)


def max_threads() -> int:
    """The most threads of such a grid."""
    return max_blocks() * grid_threads()


def grid_blocks(count: int) -> int:
    """The blocks of such a grid for a number of items: no more than can run at once."""
    return max(1, min(-(-count // grid_threads()), max_blocks()))


def launch_blocks(kernel: Any, blocks: int, *arguments: Any) -> None:
    """Run a kernel whose threads share the work out with this number of blocks."""
    kernel[blocks, grid_threads()](*arguments)


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
def simulator_settings() -> Iterator[None]:
    """A context for launches. Two kinds of warnings are off: the simulator computes with NumPy, which warns when
    integers wrap, and numba warns if a wave has fewer tokens than the device has threads. The threads of the simulator
    take turns often: they wait for each other."""
    with catch_warnings(), frequent_switches():
        simplefilter("ignore", RuntimeWarning)
        filterwarnings("ignore", ".*(Grid size|Host array used)")
        yield
