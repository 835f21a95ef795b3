"""What a program does: the machines, and how their runs are measured and compared.

To read the machine, begin with `event`, `activation`, `state`, `fire` and `step`, the one rule; `cells`, `acts` and
`bounds` have what is not plain computing. `schedule` picks, `reference` drives, `measure` and `critical` count,
`outcome` says how it ended. Around it:

travel        histories: back and forth over a run, jumps, branches
questions     why a node has not fired, where tokens came from, where runs differ
breakpoints   a language of conditions over events
log, replay   runs as files, written, read and checked; `record` and `documents` do so with outcomes
oracle        a program against itself, under several schedules; `explore` does so under all, `corpus` with cases
engine        which machine runs a program; the others are `fast`, which runs an `image`, and `compiled`
queues        elements between threads, and between those and programs
checkpoint    what variables hold, as files
learning      optimizers, embeddings and sampled losses; `metrics` keeps what a training says of itself
function      what `tl.function` makes
"""
