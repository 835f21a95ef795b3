"""Running programs: the token machine, the engines, and tools that measure, record, explore and compare runs.

To read the machine, begin with `machine`: `event`, `activation`, `state`, `fire` and `step`, the one rule; `cells`,
`effects` and `k_bounds` add what is not plain computing. `schedule` picks a token, `engines.reference` drives, and
`outcome` has the end of the run and its statistics. Around them:

history       time travel: stepping back and forth over a run, jumps, forks
queries       why a node has not fired, where tokens came from, where runs differ
breakpoints   a language of conditions over events
records       event logs and outcomes as files: written, read and compared
oracle        a program against itself: on several engines, under some or all schedules, over a corpus of cases
engines       what runs a program: `reference`, `fast`, `compiled`, `cuda`, and `auto`, which chooses
image         the flat form of a graph that token engines run
queues        elements between threads, and between threads and programs
checkpoint    the values of variables, as files
training      optimizers, embeddings, sampled losses and metrics
function      what `tl.function` makes: traced, cached, run, fetched from and differentiated
"""
