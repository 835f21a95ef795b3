"""The player: a run as one page of HTML that plays its tokens over the graph, by itself and without a network.

`recording` is where every token was after each event; `selection` cuts from it what a page can hold; `graph_layout`
lays the graph out; `source` finds the lines of the program; `columns` writes all of it down for the page; `page` puts
the page together. The page itself is `page.html`, `page.css` and the scripts beside them.

Refuses to compute what a run does: it is told by its events.
"""
