"""Programs in the forms of other systems: one walk over a program, and what each target writes."""
