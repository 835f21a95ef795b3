"""The oracle: comparisons of runs that must agree.

For tagloom itself, `check` compares schedules, the evaluator and all engines, `all_schedules` explores every schedule
of a small run, and `corpus` tries cases of texts.

For other systems, `judge` compares a backend's answer with the reference, under `policy`. `protocol`,
`backend_process`, `worker` and `adapters` run backends as processes. `sweep` tries every op, `conform_corpus` a corpus,
and `fuzz` the programs of `generate` and `edge_programs`; `shrink`, `probe` and `blame` say where a failure comes from,
`finding_report` writes it as a folder, and `finding_folder` reads that. `profile` and `report` keep results, and
compare them with older ones.
"""
