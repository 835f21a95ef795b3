"""Pictures of programs, graphs and runs.

Owns how things look: the table of looks, DOT source of programs and graphs, its layout as SVG, PNG or PDF, and
views and profiles in terminal characters. Refuses to compute what it shows: a graph is drawn as it is, right or wrong,
and the numbers of a run are measured by the machine. Needs no screen and keeps no state.

`import tagloom` loads none of this; Graphviz is loaded by the first drawing, and lays out in a process of its own.
"""
