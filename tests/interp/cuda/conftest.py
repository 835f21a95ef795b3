"""Every test here runs on numba's CUDA simulator, which needs nothing but numba."""

from __future__ import annotations

import os
import sys

import pytest


@pytest.fixture(autouse=True, scope="session")
def simulator() -> None:
    """Ask numba for the simulator: as a user does by NUMBA_ENABLE_CUDASIM=1, but numba may be there already."""
    import numba

    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    numba.config.reload_config()
    try:
        from numba import cuda
    except ImportError as error:
        pytest.skip(f"numba's CUDA simulator cannot be imported: {error}")
    assert "simulator" in cuda.jit.__module__, f"something has loaded numba.cuda before: {'numba.cuda' in sys.modules}"
