"""Views as character cells of a terminal, laid out by Graphviz; `drawing` combines the other modules.

The steps in order: `box_rows` writes boxes, `layout` and `placement` place them, `routes` and `tracks` route arrows;
that completes the `plan`. `paint` turns it into cells, `compress` removes empty space, `badges` adds tokens, `ansi`
prints.
"""
