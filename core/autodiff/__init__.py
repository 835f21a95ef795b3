"""Differentiation: pullbacks of plain functions become those of split functions (docs/gradients.md).

D1  Whatever is differentiated has a rule: each op on the way from an argument to a result, or a custom gradient.
D2  Orders are finite: a function that takes the gradient of another is not called by that other, and a function is
    differentiated at most six times.
D3  Gradients are of one float scalar, with respect to floats; an adjoint has the nesting and the types of the result.
D4  Cells of floats are used along one thread of handles: after a put only the handle that the put returned is used, and
    a value is put before it is read.
D5  A pullback that computes a value again gets the same value: it draws nothing, and in a trace it has no effects.
D6  A gradient by rows is with respect to a table from which only rows are taken, along the first axis, and which no
    loop changes.

activity   which values an adjoint is wanted of
reverse    the phases of a region, and behind them those that run its adjoints back
threads    cells along one thread
waiting    reads of cells that wait for what is put later
rows       adjoints by rows, of tables that are only gathered
resolve    the calls that this is done for
"""
