"""The Python front end: tracing, eager execution, and the functions that users call.

F1  An operation that needs a concrete value is refused on a symbolic one, and the error says where, and what to write
    instead. Such operations are a position in a Python list, iteration where the size is not static, and, in code that
    is not converted, `if`, `while`, `and`, `or`, `not`, chained comparison, `in`, `assert`, `int()`.
F2  A symbolic value is used in the function, branch or loop that made it, or inside those; it leaves only as a result.
F4  A branch or loop of Python with a symbolic condition changes only what a program can choose or carry: values, in
    variables, attributes and items. A change that cannot be undone, or that has no counterpart in a program, is
    refused.
"""
