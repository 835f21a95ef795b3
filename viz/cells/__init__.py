"""Views in the character cells of a terminal, laid out by Graphviz: `drawing` puts together what the others do."""
