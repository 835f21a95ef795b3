"""The layout of the machine's data: registers, addresses, options, columns and exit reasons, by number."""

from __future__ import annotations

from enum import IntEnum


class Register(IntEnum):
    """The registers."""

    FLIGHT_HEAD = 0
    """Where the oldest token in flight is, in the ring of them."""
    FLIGHT_LENGTH = 1
    WAITING = 2
    PARKED = 3
    THROTTLED = 4
    FIRINGS = 5
    STEPS = 6
    WAVE_REMAINING = 7
    """How many tokens of the wave under way are still to be delivered."""
    MEMORY_TOP = 8
    """Where memory ends that has ever been used."""
    RESULT_COUNT = 9
    """How many results have come."""
    DEAD_OBJECTS = 10
    """How many objects have been let go, since the loop was entered."""
    DROPPED_TAGS = 11
    """How many tags have."""
    LARGEST_STORE = 12
    LARGEST_FLIGHT = 13
    DEEPEST_TAG = 14
    FIRINGS_BEFORE_WAVE = 15
    """The firings before the wave under way."""
    WAVES = 16
    OPEN_ACTIVATIONS = 17
    """How many activations are open."""
    THROTTLED_FREE = 18
    THROTTLED_TOP = 19
    STOP_POSITION = 20
    """Where in the flight the token was that the loop stopped at."""
    JOURNAL_LENGTH = 21
    """How many words of the journal are written."""
    CORE = 22
    """Which of several cores this is."""
    NEXT_PROXY = 23
    """The frame that the next activation to be opened gets, since another core has it; or 0."""
    CLOSED_PROXIES = 24
    """The proxies that have closed, of which nobody has been told, as a list that goes on in PARENT; or 0."""
    FREE_PROXIES = 25
    """Those that may be used again."""
    REQUESTED_PROXY = 26
    """The proxy of the activation that this core asks for; or 0."""
    OFFER_BACKOFF = 27
    """How many bursts it makes between two attempts to find something for others, and OFFER_DELAY, how many are to
    come."""
    OFFER_DELAY = 28
    DONATIONS = 29
    """How many activations others have got."""
    FIRINGS_AT_ARRIVAL = 30
    """The firings when this core was given one last."""
    REQUEST_BACKOFF = 31
    """How often it waits before it asks again, and REQUEST_DELAY, how often it still does."""
    REQUEST_DELAY = 32
    RESUME_STEP = 33
    """The step that is made although the run would stop before it: it has stood there. Or -1."""


class Address(IntEnum):
    """The addresses of the arrays, and how many rows those have that may be too small."""

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
    """What each node does: the column of the image, but for nodes that the run is to stop at."""
    FIRING_COUNTS = 19
    OPENED_COUNTS = 20
    FREE_FRAMES = 21
    RESULTS = 22
    HOST_RESULT = 23
    WOKEN_TOKENS = 24
    THROTTLED = 25
    THROTTLED_SIZE = 26
    RELEASE_ROWS = 27
    """The rows of the held tokens that an event lets go."""
    DELIVERY_ROWS = 28
    SEND_LISTS = 29
    SEND_ROUTES = 30
    JOURNAL = 31
    JOURNAL_SIZE = 32
    STATE_WORDS = 33
    """How many words of a frame's bits there are, by scope."""
    TOKEN_WAVES = 34
    """The wave in which each token of the ring is delivered."""
    OPERAND_WAVES = 35
    """The wave in which what waits at each word of memory was delivered; of a proxy, what ProxyWord says."""
    SHARED_WORDS = 36
    """What several cores share; `messages` says what is there."""
    COMPARISONS = 37
    """What is needed for the run to stop at a port: two rows for each, of a firing and of a token that stays there."""


class ProfileColumn(IntEnum):
    """The columns of the profile of a machine whose tokens know their waves."""

    FIRINGS = 0
    """Firings; in the upper half the tokens that they took."""
    TOKENS_SENT = 1
    """The tokens that they sent."""


class ProxyWord(IntEnum):
    """The words of a proxy: the frame of an activation that another core has."""

    CORE = 0
    """Which core that is."""
    REMOTE_FRAME = 1
    """Where tokens go there: the frame itself, or, where REMOTE_PROXY is 0, the proxy of what is around it."""
    REMOTE_PROXY = 2
    """Where this is what is around an activation that was given here: its proxy there; else 0."""
    CHILD_FRAME = 3
    """That activation."""


class ThrottledColumn(IntEnum):
    """The columns of held tokens. They are a list in the order of their steps, which begins and ends in row 0."""

    STEP = 0
    """The number of the step that sent it."""
    TOKEN = 1
    VALUE = 2
    PREVIOUS = 3
    NEXT = 4
    NEXT_OF_ITERATION = 5
    """Another that is held for the same iteration."""


class MachineOption(IntEnum):
    """What does not change while a run goes on."""

    ORDER = 0
    SEED = 1
    FIRING_LIMIT = 2
    TOKEN_LIMIT = 3
    DEPTH_LIMIT = 4
    RESULT_LIMIT = 5
    """How many results end the run at once; 0 where none does."""
    HAS_WAVE_CLOCK = 6
    FAN_OUT = 7
    LARGEST_FRAME = 8
    HAS_SCALAR_PATH = 9
    """Whether `deliver_scalar` may deliver what it knows."""
    STEP_JOURNAL_WORDS = 10
    """The most words that a step adds to the journal, what it makes to be noted later included."""
    CLOSE_JOURNAL_WORDS = 11
    """The most words that an activation adds that closes."""
    STOPS_AT_WAITING = 12
    """Whether the run may stop before a token stays where it comes to."""


class DeliveryOrder(IntEnum):
    """Which token is delivered next."""

    OLDEST = 0
    YOUNGEST = 1
    RANDOM = 2


class HostResult(IntEnum):
    """What a firing gave that was done outside: a kind, and its values."""

    KIND = 0
    FIRST_OUTPUT = 1
    SECOND_OUTPUT = 2
    WOKEN_COUNT = 3
    """How many tokens it woke."""


class HostResultKind(IntEnum):
    """The kinds of what a firing gave."""

    ABSENT = 0
    ONE_OUTPUT = 1
    """A value on output 0."""
    TWO_OUTPUTS = 2
    NO_OUTPUT = 3
    """No output: a store, or a trap."""
    PARKED = 4


class ExitReason(IntEnum):
    """Why the loop stopped."""

    QUIESCENT = 0
    BUDGET = 1
    """The steps that it was given are done."""
    ARRAY_FULL = 2
    """An array is too small."""
    HOST_FIRING = 3
    """A firing is to be done outside."""
    FIRING_LIMIT = 4
    DEPTH_LIMIT = 5
    TOKEN_LIMIT = 6
    RESULTS_COMPLETE = 7
    """All results have come, and that was enough."""
    STOP_CONDITION = 9
    """A step is next that the run is to stop before."""
    SECOND_TOKEN = 8
    """S4 was breached: no graph that keeps the rules does that."""
    IDLE = 10
    """Of several cores this one has nothing to do."""


class ComparisonColumn(IntEnum):
    """The columns of what is needed for the run to stop: that something compares so with a number."""

    QUANTITY = 0
    OPERATOR = 1
    NUMBER = 2
    """The number."""
    IS_FLOAT = 3
    """Whether the words are floats."""


class StopQuantity(IntEnum):
    """What is compared."""

    ALWAYS = 0
    """Nothing: the run stops."""
    NEVER = 1
    """Nothing: the run does not stop, but where a firing traps or leaves the loop, which nobody has looked into."""
    VALUE = 2
    """What the node gives; of a token that stays, its value."""
    OPERAND_0 = 3
    """The operand at port 0; then those at 1 and 2."""
    OPERAND_1 = 4
    OPERAND_2 = 5
    DEPTH = 6
    ITERATION = 7
    NODE_FIRINGS = 8
    """How often the node has fired, with this step."""
    FIRINGS = 9
    STEP = 10


class StopOperator(IntEnum):
    """How."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    LESS_EQUAL = 3
    GREATER = 4
    GREATER_EQUAL = 5


class JournalItem(IntEnum):
    """The kinds of items of the journal: a step, whose token made nothing fire, or its node; and what follows one, an
    activation that it closed, or a held token that it released."""

    NO_FIRING = 0
    FIRING = 1
    CLOSE = 2
    RELEASE = 3


class JournalHead(IntEnum):
    """The first word of an item: flags, where its parts begin, and the bits of its kind."""

    KIND_MASK = 7
    """The bits of the kind."""
    HOST_FIRING = 1 << 3
    """It was done outside, which knows more of it."""
    ENDS_WAVE = 1 << 4
    """The clock ticks after it."""
    OPENS_ACTIVATION = 1 << 5
    """It opened the activation that it sends to."""
    IS_THROTTLED = 1 << 6
    OUTPUT_COUNT_SHIFT = 8
    """Where two bits begin that say how many outputs it has."""
    OPERAND_COUNT_SHIFT = 10
    """Where seven bits begin that say how many operands follow."""
    POSITION_SHIFT = 17
    """Where the position begins of the token that was delivered; of CLOSE, how many words of bits follow."""


class JournalWord(IntEnum):
    """The other words of an item, and how many words it has of each kind, but for operands or bits at its end."""

    TOKEN = 1
    VALUE = 2
    NO_FIRING_WORDS = 3

    TARGET = 3
    """Of FIRING: the frame that it sends to."""
    FIRST_EDGES = 4
    """The edges of output 0: where they begin, and in the low bits where they end."""
    FIRST_OUTPUT = 5
    SECOND_EDGES = 6
    SECOND_OUTPUT = 7
    FIRING_WORDS = 8

    FRAME = 1
    """Of CLOSED."""
    ABOVE = 2
    WHEN = 3
    CLOSE_WORDS = 4

    STEP = 3
    """Of RELEASE: which step sent it."""
    RELEASE_WORDS = 4
