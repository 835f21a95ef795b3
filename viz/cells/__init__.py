"""Views in the character cells of a terminal, laid out by Graphviz: `drawing` puts together what the others do.

In this order: `box_rows` writes boxes, `layout` and `placement` say where they stand, `routes` and `tracks` where
arrows run; with that `plan` is done. `paint` makes cells of it, `compress` cuts out room, `badges` adds tokens, `ansi`
prints.
"""
