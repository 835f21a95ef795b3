"""The player: a self-contained HTML page that plays the tokens of a run over its graph, without a network.

`recording` computes the place of every token after each event, and selects the events that a page shows;
`graph_layout` lays the graph out; `columns` encodes the run and the source lines for the page; `page` assembles the
page from these, `page.html`, `page.css` and the scripts in this folder.

The program is never run: a page is built from the events of its run alone.
"""
