"""The functions of the Python Array API standard 2024.12 that are more than one op, or take one by keyword."""
