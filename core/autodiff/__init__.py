"""Differentiation: pullbacks of plain functions become those of split functions (docs/gradients.md).

D1  Each op on the way from an argument to a result has a gradient rule, or belongs to a function with a custom
    gradient.
D2  Orders are finite: a function that takes the gradient of another is not called by that other, and a function is
    differentiated at most six times.
D3  Gradients are of one float scalar, with respect to floats; an adjoint has the nesting and the types of the result.
D4  Cells of floats are used along one thread of handles: after a put only the handle that the put returned is used, and
    a value is put before it is read.
D5  A pullback that computes a value again gets the same value: it draws nothing, and in a trace it has no effects.
D6  A sparse gradient is with respect to a table from which only rows are taken, along the first axis, and which no
    loop changes.

activity  which values need an adjoint; the parameters of functions with a custom gradient
reverse   the phases of a region, followed by the phases that compute its adjoints
cells     gradient rules of cells, and the checks of D4
rows      adjoints by rows, of tables that are only gathered
resolve   the driver: finds the calls to differentiate and rewrites them
"""
