"""The Python front end: tracing, eager execution, and the functions that users call.

F1  An operation that needs a concrete value (`if`, `while`, `and`, `or`, `not`, chained comparison, `in`, `assert`,
    `int()`, iteration where the size is not static, ...) is refused on a symbolic value, with the line and what to
    write instead.
F2  A symbolic value is used in the function, branch or loop that made it, or inside those; it leaves only as a result.
"""
