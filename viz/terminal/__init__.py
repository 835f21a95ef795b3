"""Views as character cells of a terminal, laid out by Graphviz; `drawing` combines the other modules.

The steps in order: `box_rows` writes boxes, `layout` places them, and `routes` routes arrows. `paint` combines these in
a plan and turns it into cells, `compress` removes empty space, `badges` adds tokens, and `grid` prints.
"""
