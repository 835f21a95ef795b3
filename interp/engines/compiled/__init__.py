"""Programs as machine code: real loops and real recursion, results without tokens."""
