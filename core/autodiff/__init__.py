"""Differentiation: pullbacks of plain functions become those of split functions (docs/gradients.md).

D1  What is differentiated has a rule: each op, on the way from an argument to a result, or a gradient of its own.
D2  An order has an end: a function that takes the gradient of another is not called by that, and a function is
    differentiated six times at most.
D3  Gradients are by floats, and of one float of no axes; an adjoint nests as the result does, and is of its types.
D4  Cells of floats are used along one thread: what was put to is not used again, but by the handle that the put gave,
    and what is read was put before.
D5  What a pullback computes again is the same again: it draws nothing, and in a trace it has no effects.
D6  A gradient by rows is by a table of which only rows are taken, along the first axis, and that no loop changes.

activity   which values an adjoint is wanted of
reverse    the phases of a region, and behind them those that run its adjoints back
threads    cells along one thread
waiting    reads of cells that wait for what is put later
rows       adjoints by rows, of tables that are only gathered
resolve    the calls that this is done for
"""
