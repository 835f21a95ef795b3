"""What a program is. NumPy, Lark (which reads the text form) and the standard library, nothing else.

Glossary, one word per concept:

program     named functions, structured: regions inside nodes. What people write.
node        one application of an op; in a program it may have regions, in a graph it has ports.
site        a textual occurrence of a call or a loop; unique and stable.
graph       the flat, static, cyclic form of a program. What machines run.
port        where a token arrives at a node.
token       a value on its way to a port, under a tag.
tag         the path of (site, iteration) that says which call and which iteration a token belongs to.
activation  everything under one tag: one call of a function, or one iteration of a loop.
firing      a node consumes the tokens of its ports under one tag, and sends its results.
flight      the tokens that have been sent and not yet delivered.
store       the tokens that have been delivered and wait for partners (the waiting-matching store).
residue     what is left when a run has ended: in the store, parked at cells, held by bounds.
cell        a place for one value that is written once (an I-structure); a handle stands for many of them.
parked      a token that stays at an empty cell, until something is put there.
held        a token that a bound on the iterations of a loop keeps out of the flight.
effect      what a firing does to the world outside; an order token is handed from one to the next on its resource.
wave        one tick of the ideal machine: all that can fire, fires.
trigger     the token on which a node fires that has nothing but literals to consume.
place       where a value lives: the function and loops around it, and the branches it depends on.
tracing     making a program by running Python on symbolic values.
events      what a run did, step by step.
outcome     how a run ended, as data.
adjoint     how much a result changes with a value; the reverse pass hands adjoints back.
pullback    the further phase of a function, a cond or a loop, that takes adjoints of results to those of operands.
eagerly     outside of programs: each op as soon as Python calls it.
tape        what has run eagerly, step by step, as far as it concerns what is watched.
schedule    which token of the flight is delivered next; a script is one by hand.
history     the events of a run, with a state that goes back and forth over them.
branch      a history that has the past of another in common, and goes on by itself; a what-if.
breakpoint  a condition over events at which a history stops, or something is said.
"""
