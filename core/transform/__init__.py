"""Programs made smaller: what is needed for some of a program's values, where others are given."""
