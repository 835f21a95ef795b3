"""The player: a self-contained HTML page that plays the tokens of a run over its graph, without a network.

`recording` computes the place of every token after each event; `selection` cuts out what a page can hold;
`graph_layout` lays the graph out; `source` finds the lines of the program; `columns` encodes all of it for the page;
`page` assembles the page. The page itself is `page.html`, `page.css` and the scripts beside them.

Never runs the program: it knows the run from its events only.
"""
