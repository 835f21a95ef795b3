"""Every test here runs on numba's CUDA simulator, which needs nothing but numba; with NUMBA_ENABLE_CUDASIM=0 in the
environment, on the machine's GPU."""

from __future__ import annotations

import os

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
