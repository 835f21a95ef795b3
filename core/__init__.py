"""What a program is. It uses NumPy, Lark (which reads the text form) and the standard library, nothing else.

docs/glossary.md defines the terms.
"""
