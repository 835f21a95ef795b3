"""The text form: programs, graphs and cases as people read and write them. `docs/text.md` says what it means.

grammar.lark         what stands where
syntax               a text as data that knows where it stands; nothing else knows the parser library
names, programs, graphs, cases   what it means
document             all of a text, read and written
page, print_program, print_graph, print_document   the way back
"""

from .cases import Case
from .document import Document, parse, parse_graph, parse_program
from .fault import excerpt
from .print_document import print_case, print_document, print_ending
from .print_graph import print_graph
from .print_program import print_program
from .printer import quote_string

__all__ = [
    "Case",
    "Document",
    "excerpt",
    "parse",
    "parse_graph",
    "parse_program",
    "print_case",
    "print_document",
    "print_ending",
    "print_graph",
    "print_program",
    "quote_string",
]
