"""The engine `compiled`: structured programs as machine code, with native loops and recursion instead of tokens."""
