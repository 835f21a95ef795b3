"""Pictures of programs, graphs and runs.

Every diagram is first a view (`view`): boxes, arrows, badges and clusters as plain data. `program_view`, `graph_view`,
`state_view`, `unfolded` and `activation_tree` build views; `collapse` restricts and folds them; `dot` and `cells` print
them, as DOT and as characters for a terminal. `charts` and `curves` draw charts. `style` is the table of looks,
`pictures` the table of pictures, and `render` runs Graphviz in a separate process.

This package only draws: it checks no graph, and takes the numbers of a run from the machine. It needs no screen and
keeps no state. `import tagloom` does not load Graphviz; the first drawing does.
"""
