"""Functions as people call them: traced once per list of types, cached, run, fetched from and differentiated."""
