"""When the blocks of an image are compiled, and when a run uses them.

A short run must not wait for a compiler, nor pay for generating a text. So the steps that all runs of an image make
without blocks are counted. After LOOKUP_STEPS the text is generated, in slices between the bursts of a run, so that
limits and Ctrl-C are still checked; then the machine code is loaded if it is on disk. After COMPILE_STEPS it is
compiled in the background (`jit.compiler_process`), and the run goes over to it when it is there. What is loaded serves
all later runs of the image from their first step.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ...image.image import Image
from ..jit import compiler_process
from ..jit.compiler_process import Compilation, CompileState, CompileTask
from ..jit.native import load_native, load_stored
from .block_generation import block_program, generate_blocks
from .block_program import BlockProgram, LoadedBlocks
from .layout import DeliveryOrder

LOOKUP_STEPS = 2**22
"""After how many steps blocks are generated and looked for on disk: some 40 ms, as long as that takes for a few."""
SLICE_STEPS = 2**19
"""The number of further steps after which generation continues, or machine code is looked for again."""
SLICE_SECONDS = 0.005
"""The longest time that it takes: as long as these steps take, so that no run takes much more than twice as long."""
COMPILE_STEPS = 2**24
"""After how many steps they are compiled: some 0.15 s. Compiling takes a second or two of another processor core."""


@dataclass(slots=True)
class BlockLoader:
    """The blocks of an image for an order of delivery, as far as this process has loaded or requested them."""

    order: DeliveryOrder
    steps: int = 0
    """The steps that its runs have made without blocks."""
    next_look: int = LOOKUP_STEPS
    """At which number of steps something is done for them."""
    loaded_blocks: LoadedBlocks | None = None
    compilation: Compilation | None = None
    is_abandoned: bool = False
    """Whether there are no blocks, or they cannot be compiled, or not be cached."""

    def find(self, image: Image, steps: int) -> LoadedBlocks | None:
        """The blocks, if they are loaded, or should and can be loaded without waiting, after these further steps."""
        self.steps += steps
        if self.loaded_blocks is not None or self.is_abandoned or self.steps < self.next_look:
            return self.loaded_blocks
        self.next_look = self.steps + SLICE_STEPS
        try:
            if not generate_blocks(image, self.order, SLICE_SECONDS):
                return None
            program = block_program(image, self.order)
            if program is None:
                self.is_abandoned = True
            elif self.is_ready(program):
                self.loaded_blocks = load_blocks(program, is_stored=True)
        except (OSError, ValueError, MemoryError):  # nothing can be cached; or the file is damaged
            self.is_abandoned = True
        return self.loaded_blocks

    def is_ready(self, program: BlockProgram) -> bool:
        """Whether the machine code is on disk. Requests it if the runs are long enough."""
        if self.compilation is None:
            self.compilation = Compilation(block_task(program))
        if self.compilation.is_on_disk():
            return True
        if self.steps < COMPILE_STEPS or not compiler_process.is_enabled():
            return False
        self.compilation.request()
        state = self.compilation.poll()
        self.is_abandoned = state is CompileState.FAILED
        return state is CompileState.READY


_loaders: WeakKeyDictionary[Image, dict[DeliveryOrder, BlockLoader]] = WeakKeyDictionary()


def block_loader(image: Image, order: DeliveryOrder) -> BlockLoader:
    """The loader of an image's blocks for an order of delivery."""
    return _loaders.setdefault(image, {}).setdefault(order, BlockLoader(order))


def block_task(program: BlockProgram) -> CompileTask:
    """The task of compiling blocks."""
    return CompileTask("blocks", program.text, "deliver_blocks", 3)


def load_blocks(program: BlockProgram, *, is_stored: bool = False) -> LoadedBlocks:
    """Load blocks, compiled if necessary; if `is_stored`, only what is on disk, without waiting: then raises OSError
    or ValueError if it is not there, or damaged. Raises Unlinkable if they call what only numba has."""
    function = (load_stored if is_stored else load_native)("blocks", program.text, "deliver_blocks", 3)
    address = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    assert address is not None
    return LoadedBlocks(program, address)
