"""Functions of `tl.function`: traced once per list of types, cached, run, fetched from and differentiated."""
