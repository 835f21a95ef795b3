"""The text form: programs, graphs and cases as people read and write them (docs/text.md).

grammar.lark         the grammar
parser               text to syntax; the only module that knows the parser library
syntax               syntax nodes with their positions in the text
fault                errors with an excerpt of the text
literals             numbers, and arrays in brackets
builder              syntax to programs and graphs
document             a whole text, with its cases
printer              programs, graphs and cases to text
"""

from .document import Case, Document, parse, parse_graph, parse_program
from .fault import excerpt
from .printer import print_case, print_document, print_ending, print_graph, print_program, quote_string

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
