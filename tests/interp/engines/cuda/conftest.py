"""Every test here runs on numba's CUDA simulator, which needs nothing but numba; with NUMBA_ENABLE_CUDASIM=0 in the
environment, on the machine's GPU."""

from __future__ import annotations

import os
import sys
from random import Random
from typing import Any

import numpy as np
import pytest

VARIABLE = "NUMBA_ENABLE_CUDASIM"


@pytest.fixture(autouse=True, scope="session")
def simulator() -> None:
    """Load the simulator, as NUMBA_ENABLE_CUDASIM=1 does. The variable itself is not set, since numba may be loaded
    already, and other tests start processes without the simulator."""
    import numba

    before = os.environ.get(VARIABLE)
    if before == "0":
        return
    os.environ[VARIABLE] = "1"
    numba.config.reload_config()
    try:
        from numba import cuda
    except ImportError as error:
        pytest.skip(f"numba's CUDA simulator cannot be imported: {error}")
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before
        numba.config.reload_config()
    assert "simulator" in cuda.jit.__module__, "something has loaded numba.cuda before"


@pytest.fixture(autouse=True)
def shuffled_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator runs the blocks of a grid one after another and starts the threads of a block in order; here both
    are in an order that depends on the test, and threads take turns within any line."""
    kernel = sys.modules.get("numba.cuda.simulator.kernel")
    if kernel is None:
        return
    dice = Random(request.node.nodeid)

    class ShuffledNumpy:
        """NumPy for the simulator, whose indices come in random order."""

        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def ndindex(self, *shape: int) -> list[tuple[int, ...]]:
            indices = list(np.ndindex(*shape))
            dice.shuffle(indices)
            return indices

    monkeypatch.setattr(kernel, "np", ShuffledNumpy())
    monkeypatch.setattr("tagloom.interp.engines.thread_switches.SWITCH_SECONDS", 1e-6)


@pytest.fixture(autouse=True)
def one_kernel_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU all programs run on one kernel with all opcodes: to compile one for each would take hours."""
    from tagloom.interp.engines.cuda import device, kernels

    if not device.is_simulated():
        monkeypatch.setattr(kernels, "opcodes_of", lambda image: (None, None))
