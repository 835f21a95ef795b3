"""The layout of the machine's data: registers, addresses, options, columns and exit reasons, by number."""

from __future__ import annotations

from enum import IntEnum

LARGEST_PATH = 64
"""The most deliveries of a path through a block (see `blocks`). Where no block can go on, as many are made one by
one."""


class Register(IntEnum):
    """The registers."""

    FLIGHT_HEAD = 0
    """The position of the oldest token in flight in the ring."""
    FLIGHT_LENGTH = 1
    WAITING = 2
    """The number of tokens that wait for other operands."""
    DEFERRED_READS = 3
    THROTTLED = 4
    """The number of throttled tokens."""
    FIRINGS = 5
    STEPS = 6
    WAVE_REMAINING = 7
    """The number of tokens of the current wave that are still to be delivered."""
    MEMORY_TOP = 8
    """The end of the part of memory that has been used so far."""
    RESULT_COUNT = 9
    """The number of results that have arrived."""
    DEAD_OBJECTS = 10
    """The number of objects that died since the loop was entered."""
    DROPPED_TAGS = 11
    """The number of tags that were dropped since then."""
    LARGEST_STORE = 12
    LARGEST_FLIGHT = 13
    DEEPEST_TAG = 14
    FIRINGS_BEFORE_WAVE = 15
    """The number of firings before the current wave."""
    WAVES = 16
    OPEN_ACTIVATIONS = 17
    """The number of open activations."""
    THROTTLED_FREE = 18
    THROTTLED_TOP = 19
    STOP_POSITION = 20
    """The position in the flight of the token at which the loop stopped."""
    JOURNAL_LENGTH = 21
    """The number of words written to the current page of the journal."""
    CORE = 22
    """The number of this core in a parallel run."""
    NEXT_PROXY = 23
    """The proxy for the next activation to open, if it was donated to another core; else 0."""
    CLOSED_PROXIES = 24
    """The first closed proxy not yet reported to another core, the head of a list linked by PARENT; or 0."""
    FREE_PROXIES = 25
    """The first free proxy, the head of a list linked in the same way; or 0."""
    REQUESTED_PROXY = 26
    """The proxy that this core reserved for the activation that it requests; or 0."""
    DONATION_BACKOFF = 27
    """The number of bursts between two attempts to donate; DONATION_DELAY is the number still to come."""
    DONATION_DELAY = 28
    DONATIONS = 29
    """The number of activations donated to other cores."""
    FIRINGS_AT_ARRIVAL = 30
    """The number of firings when this core last received an activation."""
    REQUEST_BACKOFF = 31
    """The number of pauses before the next request; REQUEST_DELAY is the number still to come."""
    REQUEST_DELAY = 32
    RESUME_STEP = 33
    """The step at which stop conditions are ignored, since the run has just stopped there; or -1."""
    FUTURES = 34
    """The number of firings whose results are futures."""
    FUTURE_COST = 35
    """The sum of the costs of these firings, and the bytes of values that became objects meanwhile."""
    REQUIRED_PEER_PROXIES = 36
    """The number of columns that `peer_proxies` must have."""
    FIRE_REQUESTS = 37
    """The number of firings requested of other cores whose outputs have not arrived."""


class Address(IntEnum):
    """The entries of the address table: the addresses of arrays, and the numbers of rows of those that grow."""

    OPTIONS = 0
    REGISTERS = 1
    MEMORY = 2
    MEMORY_SIZE = 3
    RING = 4
    RING_SIZE = 5
    PROFILE = 6
    PROFILE_SIZE = 7
    DEAD_OBJECTS = 8
    DEAD_OBJECTS_SIZE = 9
    DROPPED_TAGS = 10
    REFERENCE_COUNTS = 11
    NODES = 12
    PORTS = 13
    EDGES = 14
    ROUTES = 15
    SITES = 16
    SCOPES = 17
    CODES = 18
    """The opcode of each node: as in the image, or BREAKPOINT where the run may stop."""
    FIRING_COUNTS = 19
    OPENED_COUNTS = 20
    FREE_FRAMES = 21
    RESULTS = 22
    HOST_RESULT = 23
    WOKEN_TOKENS = 24
    THROTTLED = 25
    THROTTLED_SIZE = 26
    RELEASE_ROWS = 27
    """The rows of the throttled tokens that a step releases."""
    DELIVERY_ROWS = 28
    SEND_LISTS = 29
    SEND_ROUTES = 30
    JOURNAL = 31
    JOURNAL_SIZE = 32
    STATE_WORDS = 33
    """By scope, the number of words of a frame that hold bits of nodes."""
    TOKEN_WAVES = 34
    """The wave in which each token of the ring is delivered."""
    OPERAND_WAVES = 35
    """For each word of memory, the wave in which the operand waiting there was delivered; for a proxy, the data that
    ProxyWord describes."""
    SHARED_WORDS = 36
    """The words that cores share; `shared_memory` has their layout."""
    COMPARISONS = 37
    """The comparisons of stop conditions, two rows per port: for a firing, and for a token that waits."""
    BLOCKS = 38
    """The address of the function `deliver_blocks` of the image; 0 if there is none, or if it must not be used."""
    PATH_COUNTS = 39
    """How often each path of a block was made."""
    FUTURES = 40
    """The firings whose results are futures, as rows of `FutureColumn`."""
    FUTURES_SIZE = 41
    LEVELS = 42
    """By object, the level of a future; 0 for a value."""
    ARRAY_NODES = 43
    """By node, a row of `ArrayNodeColumn`."""
    ELEMENTS = 44
    """By object, the address of its elements as words; 0 if it has none (`futures.element_words`)."""
    PEER_PROXIES = 45
    """By core and number of a proxy there, the proxy here for the parent of the activation that the core placed here.
    The number of a proxy is its address by the size of proxies."""
    PEER_PROXIES_SIZE = 46
    """The number of columns of PEER_PROXIES."""


class ArrayNodeColumn(IntEnum):
    """The columns of a node that the machine fires on arrays: one that sends futures or elements."""

    FUTURE_COST = 0
    """The cost of a firing whose result is a future."""
    INDEX = 1
    """The number of the operand that is an index, or -1. The machine fires the node if it is at least 0 and less than
    BOUND; else Python does."""
    BOUND = 2


class FutureColumn(IntEnum):
    """The columns of a firing whose result is a future."""

    NODE = 0
    RESULT = 1
    """The number of the object that the result will be. It is there before the firing."""
    LEVEL = 2
    """The level of the result: one more than the highest of an operand. Futures of one level do not need each other."""
    OPERAND_0 = 3
    """The words of the operands."""
    OPERAND_1 = 4
    OPERAND_2 = 5


class ProfileColumn(IntEnum):
    """The columns of the profile of one core in a parallel run."""

    FIRINGS = 0
    TOKENS_CONSUMED = 1
    """The number of tokens that these firings consumed."""
    TOKENS_SENT = 2
    """The number of tokens that they sent."""


class ProxyWord(IntEnum):
    """The words of a proxy: a frame that represents an activation on another core."""

    CORE = 0
    """The number of that core."""
    REMOTE_FRAME = 1
    """The frame there; if REMOTE_PROXY is 0, the proxy there of the parent activation."""
    REMOTE_PROXY = 2
    """If this proxy is the parent of a received activation: the proxy of that activation there; else 0."""
    CHILD_FRAME = 3
    """The frame of that received activation."""


class ForwardResult(IntEnum):
    """What a core did with a token that it could not deliver."""

    NOT_FOR_OTHERS = 0
    """Nothing: no other core gets the token."""
    FORWARDED = 1
    RING_FULL = 2
    """Nothing yet: the ring to the other core is full, or outputs of firings must arrive first."""


class ThrottledColumn(IntEnum):
    """The columns of throttled tokens: a doubly linked list in the order of their steps, which begins and ends in row
    0."""

    STEP = 0
    """The number of the step that sent it."""
    TOKEN = 1
    VALUE = 2
    PREVIOUS = 3
    NEXT = 4
    NEXT_OF_ITERATION = 5
    """The row of another token throttled for the same iteration, or 0."""


class MachineOption(IntEnum):
    """The options of a run, constant while the machine runs."""

    ORDER = 0
    SEED = 1
    FIRING_LIMIT = 2
    TOKEN_LIMIT = 3
    DEPTH_LIMIT = 4
    RESULT_LIMIT = 5
    """The number of results after which the run ends; 0 if it runs until it is quiescent."""
    HAS_WAVE_CLOCK = 6
    FAN_OUT = 7
    LARGEST_FRAME = 8
    HAS_SCALAR_PATH = 9
    """Whether the machine may use `deliver_scalar`."""
    STEP_JOURNAL_WORDS = 10
    """The maximal number of words that a step adds to the journal, with those of later items that it causes."""
    CLOSE_JOURNAL_WORDS = 11
    """The maximal number of words that a closing activation adds."""
    STOPS_AT_WAITING = 12
    """Whether the run may stop before a token that does not fire its node."""
    FUTURE_COST_LIMIT = 13
    """The cost of futures from which on they must be computed first."""


class DeliveryOrder(IntEnum):
    """The choice of the next token."""

    OLDEST = 0
    YOUNGEST = 1
    RANDOM = 2


class HostResult(IntEnum):
    """The words of the result of a host firing: its kind and values."""

    KIND = 0
    FIRST_OUTPUT = 1
    SECOND_OUTPUT = 2
    WOKEN_COUNT = 3
    """The number of tokens that it woke."""


class HostResultKind(IntEnum):
    """The kinds of results of host firings."""

    ABSENT = 0
    ONE_OUTPUT = 1
    """A value on output 0."""
    TWO_OUTPUTS = 2
    NO_OUTPUT = 3
    """No output: a store, or a trap."""
    DEFERRED_READ = 4
    """No firing: the read is deferred until its cell is full."""


class ExitReason(IntEnum):
    """Why the loop stopped."""

    QUIESCENT = 0
    BUDGET = 1
    """The requested number of steps is done."""
    ARRAY_FULL = 2
    """An array is too small."""
    HOST_FIRING = 3
    """The next firing must be performed by Python."""
    FIRING_LIMIT = 4
    DEPTH_LIMIT = 5
    TOKEN_LIMIT = 6
    RESULTS_COMPLETE = 7
    """All results have arrived, and the run ends there."""
    SECOND_TOKEN = 8
    """A second token arrived at a port, against S4: no valid graph does that."""
    STOP_CONDITION = 9
    """The run may have to stop before the next step."""
    IDLE = 10
    """This core of a parallel run has no work."""
    FUTURES_FULL = 11
    """There is no room for more futures."""


class ComparisonColumn(IntEnum):
    """The columns of a comparison that must hold for the run to stop: quantity, operator, number."""

    QUANTITY = 0
    OPERATOR = 1
    NUMBER = 2
    IS_FLOAT = 3
    """Whether the words are floats."""


class StopQuantity(IntEnum):
    """The left side of a comparison."""

    ALWAYS = 0
    """No comparison: the run stops."""
    NEVER = 1
    """No comparison: the run stops only at a trap or host firing, where Python evaluates the condition."""
    VALUE = 2
    """The output of the node; for a token that waits, its value."""
    OPERAND_0 = 3
    """The operand at port 0; then those at 1 and 2."""
    OPERAND_1 = 4
    OPERAND_2 = 5
    DEPTH = 6
    ITERATION = 7
    NODE_FIRINGS = 8
    """The firings of the node, this step included."""
    FIRINGS = 9
    STEP = 10


class StopOperator(IntEnum):
    """The operators of comparisons."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    LESS_EQUAL = 3
    GREATER = 4
    GREATER_EQUAL = 5


class JournalItem(IntEnum):
    """The kinds of items of the journal: a step without or with a firing; and, after a step, each activation that it
    closed, and each throttled token that it released."""

    NO_FIRING = 0
    FIRING = 1
    CLOSE = 2
    RELEASE = 3


class JournalHead(IntEnum):
    """The fields of the first word of an item: masks of its kind and flags, and shifts of its numbers."""

    KIND_MASK = 7
    """The bits of the kind."""
    HOST_FIRING = 1 << 3
    """A host firing; its HostFiringNote has the rest."""
    ENDS_WAVE = 1 << 4
    """The step is the last of its wave."""
    OPENS_ACTIVATION = 1 << 5
    """The firing opened the activation that it sends to."""
    IS_THROTTLED = 1 << 6
    OUTPUT_COUNT_SHIFT = 8
    """The number of outputs, two bits."""
    OPERAND_COUNT_SHIFT = 10
    """The number of operands that follow, seven bits."""
    POSITION_SHIFT = 17
    """The position of the delivered token in the flight; for CLOSE, the number of words of bits that follow."""


class JournalWord(IntEnum):
    """The other words of an item, and its length by kind, without the operands or bits at its end."""

    TOKEN = 1
    VALUE = 2
    NO_FIRING_WORDS = 3

    TARGET = 3
    """For FIRING: the frame that it sends to."""
    FIRST_EDGES = 4
    """The span of edges of output 0: the begin in the high half, the end in the low half."""
    FIRST_OUTPUT = 5
    SECOND_EDGES = 6
    SECOND_OUTPUT = 7
    FIRING_WORDS = 8

    FRAME = 1
    """For CLOSE: its frame, and two words of its header."""
    PARENT_HEADER = 2
    ITERATION_HEADER = 3
    CLOSE_WORDS = 4

    STEP = 3
    """For RELEASE: the step that sent the token."""
    RELEASE_WORDS = 4
