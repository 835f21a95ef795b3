"""Functions on arrays that apply several ops or convert arguments; most are of the Array API standard 2024.12."""
