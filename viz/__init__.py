"""Pictures of programs, graphs and runs.

Everything is a view first (`view`): boxes, arrows, badges and clusters, as plain data. `program_view`, `graph_view`,
`state_view`, `unfolded` and `activation_tree` make views; `collapse` cuts and folds them; `dot` and `cells` print them,
as DOT and in the characters of a terminal; `charts` and `curves` draw what is no graph. `style` is the table of looks,
`pictures` the list of what there is, `render` the layout by Graphviz, in a process of its own.

Refuses to compute what it shows: a graph is drawn as it is, right or wrong, and the numbers of a run are measured by
the machine. Needs no screen and keeps no state. `import tagloom` loads no Graphviz: the first drawing does.
"""
