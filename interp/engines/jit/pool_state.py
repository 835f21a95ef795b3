"""The words of a thread pool, which its helpers and the threads that use it share (parallel_loops.py)."""

MAX_WORKERS = 64
"""The most helpers."""

CLAIM = 0
"""1 while a thread has claimed the pool."""
WORK = 1
"""1 while there is work to join."""
PARTICIPANTS = 2
"""The number of helpers that have joined."""
NEXT_ELEMENT = 3
"""The element with which the next share begins."""
BODY = 4
"""The address of the body."""
BODY_WORDS = 5
"""The address of the body's words."""
ELEMENTS = 6
FAILURES = 7
"""The number of shares that failed."""
READ_END = 8
"""The descriptor of the read end of the pipe on which helpers sleep."""
WRITE_END = 9
HELPERS = 10
"""The number of helpers."""
SHARE_SIZE = 11
"""The number of elements of a share."""
SLEEPERS = 12
"""The number of sleeping helpers."""
ADDRESS = 13
"""The address of these words; 0 without helpers."""
AVOIDED_CORE = 14
"""The core that helpers avoid, plus 1; 0 if there is none."""
SETS_AFFINITY = 15
"""1 if helpers can be kept off a core."""
WAKE_BYTES = 16
"""Zeros, a byte for each helper that is woken."""
CORE_MASK = 24
"""The set of cores on which helpers may run, a bit each."""
THREAD_IDS = 40
"""The ids of the helpers' threads."""
CORE_MASK_WORDS = THREAD_IDS - CORE_MASK
