"""The core: programs and graphs, their ops and gradients, their text and JSON forms, and the Python front end. It uses
NumPy, Lark (which reads the text form) and the standard library, nothing else.

docs/glossary.md defines the terms.
"""
