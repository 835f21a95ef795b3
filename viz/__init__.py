"""Pictures of programs, graphs and runs.

Every diagram is a view first (`view`): boxes, arrows, badges and clusters, as plain data. `program_view`, `graph_view`,
`state_view`, `unfolded` and `activation_tree` make views; `collapse` restricts and folds them; `dot` and `cells` print
them, as DOT and as characters for a terminal; `charts` and `curves` draw charts. `style` is the table of looks,
`pictures` the table of pictures, `render` the layout by Graphviz in a process of its own.

Computes nothing that it shows: a graph is drawn whether it is valid or not, and the machine measures the numbers of a
run. Needs no screen and keeps no state. `import tagloom` does not load Graphviz; the first drawing does.
"""
