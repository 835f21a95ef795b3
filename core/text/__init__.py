"""The text form: programs, graphs and cases as people read and write them (docs/text.md).

grammar.lark         the grammar
parser               text to syntax; the only module that knows the parser library
syntax               syntax nodes with their positions in the text
fault                errors with an excerpt of the text
atoms, literals, build_program, build_graph, cases   syntax to programs, graphs and cases
document             a whole text
printer, print_program, print_graph, print_document   printing
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
