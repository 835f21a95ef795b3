"""The run state: the words that generated code shares with the thread that waits for it.

It is a block of 64-bit words, passed by its address: numba would pass an array as seven arguments in every call.
Generated code gets the addresses of the results and of the arguments, which follow these words.

A value takes a slot: a scalar its first word, in its lane; an array the address of its reference count, the address of
its elements, and its sizes. Code that takes an array from a slot owns a reference.
"""

# The words of the run state.
STOP_FLAG = 0
"""Not 0 once the run must stop, at the request of generated code or of the waiting thread."""
EXIT_REASON = 1
"""Why generated code stopped by itself, one of the reasons below; 0 if it did not."""
EXIT_SITE = 2
"""The number of the trap site of EXIT_TRAP or EXIT_MEMORY."""
STACK_GUARD = 3
"""The lowest stack address allowed, which code compares with the stack pointer before it calls, or STOP_GUARD once the
run must stop; before the run, the bytes of stack that it may use."""
TAG_LENGTH = 4
"""The number of recorded steps of the tag."""
TAG_STEPS = 5
"""The address of these steps: two words each, the number of a site and an iteration, the innermost first."""
SEED = 6
"""The seed of random numbers."""
HOST_FUNCTION = 7
"""The address of the function that performs host calls: effects, and ops without machine code."""
POOL_ADDRESS = 8
"""The address of the words of a thread pool (thread_pool.py); 0 without one, POOL_REQUESTED if one would help."""
TAPE_NEXT = 9
"""The address of the next record (intrinsics.py)."""
TAPE_END = 10
"""The end of the arena for records."""
TAPE_LAST_ROW = 11
"""The last row in a record."""
TAPE_HIGH_WATER = 12
"""The high-water mark of the arena."""
STACK_FLOOR = 13
"""The lowest stack address allowed; before the run, a lower bound on it."""
MEMORY_BUDGET = 14
"""The bytes of arrays that may be allocated before the resident memory is measured again."""
MEMORY_LIMIT = 15
"""The limit on the resident memory, in bytes."""
STATM_FILE = 16
"""The file descriptor of /proc/self/statm; -1 where there is none."""
STATM_TEXT = 17
"""Memory for the beginning of that file, STATM_WORDS words."""
STATM_WORDS = 4
OPERANDS = STATM_TEXT + STATM_WORDS
"""The operands of the trapping node or the host call, SLOT_WORDS words each; the first also holds the call's result."""
SLOT_WORDS = 66

# Values of these words.
EXIT_TRAP, EXIT_DEPTH, EXIT_STACK, EXIT_MEMORY, EXIT_FALLBACK, EXIT_TAPE_FULL, EXIT_BYTES = 1, 2, 3, 4, 5, 6, 7
"""Why generated code stopped by itself. EXIT_FALLBACK: only a token engine can continue; EXIT_TAPE_FULL: the arena has
no room for a record; EXIT_BYTES: the resident memory exceeds its limit."""
HOST_DONE, HOST_FAILED, HOST_ABORTED, HOST_TOO_LARGE = 0, 1, 2, 3
"""Results of a host call; HOST_TOO_LARGE: its result does not fit into memory."""
POOL_REQUESTED = 1
STOP_GUARD = 2**63 - 1
"""A stack address above all others."""

PARALLEL_MIN_ELEMENTS = 65_536
"""The elements of a loop from which on threads share it: a thread takes up to 40 us to wake up."""
STRIDED_COPY, STRIDED_SUM, STRIDED_MAX, STRIDED_MIN, STRIDED_TAKE_ROWS, STRIDED_ADD_ROWS, STRIDED_ADD_ARRAYS = range(7)
"""The operations of `strided_op` (strided_ops.py): copy; reduce to sums in float64, to the maximum or the minimum;
take or add rows; add two arrays."""
FEW_ROWS = 4
"""A product whose left factor has fewer rows is computed row by row, also with a transposed right factor."""
STRIDED_PARAMETERS = 16
"""The number of parameters of `strided_op`."""
MATMUL_FUNCTIONS = tuple(
    f"{form}_float{bits}"
    for form in ("matmul", "matmul_transposed_left", "matmul_transposed_right", "matmul_accumulate")
    for bits in (32, 64)
)
"""The names of the precompiled products of matrices.py."""
SHARED_FUNCTIONS = (
    *("abort_run", "abort_at_guard", "set_stack_guard", "record_tag_step", "charge_memory", "allocate_words"),
    *("release", "parallel_for", "parallel_for_large", "advise_huge_pages"),
    *("sum_float32", "sum_float64", "round_to_float32"),
)
"""The names of the precompiled functions of runtime.py."""
