"""The passes of the converter, a file a pass. Each maps the syntax tree of a function to another."""
