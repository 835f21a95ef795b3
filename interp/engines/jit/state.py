"""The state that generated code and whoever waits for it share.

It is a block of 64-bit words, passed on as its address: an array would be seven arguments of every call. The words:

0   not 0 as soon as all is to be left, whether by what happened inside or by whoever waits
1   why, where it happened inside: EXIT_TRAP, EXIT_DEPTH, EXIT_STACK, EXIT_MEMORY, EXIT_TAPE_FULL, or EXIT_FALLBACK,
    where only a machine with tokens goes on
2   the number of the node where EXIT_TRAP or EXIT_MEMORY was
3   how low the stack may go: to begin with, how much of it a run may take
4   how many steps of the tag are noted
5   the address of the steps: two words each, the number of a site and an iteration, the innermost first
6   the seed of random numbers
7   the address of the function that has effects done, and ops that there is no machine code for
8   the address of the words of a crew (thread_pool.py); 0 where nobody helps, and POOL_REQUESTED where somebody should
9   where the next record begins (records.py)
10  where there is no more room for records
11  the row of the last array in one
12  how far records ever went
13  how low the stack may go, whatever a run may take of it
14+ the operands of the trapping node, or of what is to be done, SLOT_WORDS words each; the first, what that gave

Generated code is given the addresses of the results and of the arguments, which lie behind these.

A value takes a slot: a scalar the first word of one, in its lane; an array the address of what counts its references,
that of its elements, and its sizes. Whoever finds an array there owns a reference.
"""

EXIT_TRAP, EXIT_DEPTH, EXIT_STACK, EXIT_MEMORY, EXIT_FALLBACK, EXIT_TAPE_FULL = 1, 2, 3, 4, 5, 6
"""Why generated code left all by itself; EXIT_TAPE_FULL, where there is none for a record."""
HOST_DONE, HOST_FAILED, HOST_ABORTED, HOST_TOO_LARGE = 0, 1, 2, 3
"""How an effect went, or an op that is left to Python; HOST_TOO_LARGE, where its result does not fit into memory."""
POOL_REQUESTED = 1
TAPE_NEXT, TAPE_END, TAPE_LAST_ROW, TAPE_HIGH_WATER = 9, 10, 11, 12
STACK_FLOOR = 13
OPERANDS = 14
SLOT_WORDS = 66
PARALLEL_MIN_ELEMENTS = 65_536
"""From how many elements on a loop is shared out: a helper takes up to 40 us to wake up."""
STRIDED_COPY, STRIDED_SUM, STRIDED_MAX, STRIDED_MIN, STRIDED_TAKE_ROWS, STRIDED_ADD_ROWS, STRIDED_ADD_ARRAYS = range(7)
"""What `strided_op` (moves_source.py) is to do: copy; fold into sums of float64, or the largest or smallest; take or
add rows; add two arrays."""
FEW_ROWS = 4
"""A product whose left factor has fewer rows is made row by row, of a right factor with its rows as columns, too."""
STRIDED_PARAMETERS = 16
"""How many words it takes."""
MATMUL_FUNCTIONS = tuple(
    f"{form}_float{bits}"
    for form in ("matmul", "matmul_transposed_left", "matmul_transposed_right", "matmul_accumulate")
    for bits in (32, 64)
)
"""The functions of library.py."""
