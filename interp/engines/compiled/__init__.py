"""The compiled engine: programs as machine code, with real loops and real recursion, and results without tokens."""
