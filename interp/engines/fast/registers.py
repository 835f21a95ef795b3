"""The registers of the machine: what it knows besides its arrays, by number; and the words for why it stopped."""

from __future__ import annotations

from enum import IntEnum


class R(IntEnum):
    """The registers."""

    HEAD = 0
    """Where the oldest token in flight is, in the ring of them."""
    LENGTH = 1
    WAITING = 2
    PARKED = 3
    HOLDING = 4
    FIRINGS = 5
    STEPS = 6
    AHEAD = 7
    """How many tokens of the wave under way are still to be delivered."""
    TOP = 8
    """Where memory ends that has ever been used."""
    CAME = 9
    """How many results have come."""
    DEAD = 10
    """How many objects have been let go, since the loop was entered."""
    LOST = 11
    """How many tags have."""
    LARGEST_STORE = 12
    LARGEST_FLIGHT = 13
    DEEPEST = 14
    BEFORE = 15
    """The firings before the wave under way."""
    WAVES = 16
    OPEN = 17
    """How many activations are open."""
    HELD_FREE = 18
    HELD_TOP = 19
    POSITION = 20
    """Where in the flight the token was that the loop stopped at."""
    NOTED = 21
    """How many words of the journal are written."""
    CORE = 22
    """Which of several cores this is."""
    NEXT_PROXY = 23
    """The frame that the next activation to be opened gets, since another core has it; or 0."""
    CLOSED_PROXIES = 24
    """The proxies that have closed, of which nobody has been told, as a list that goes on where ABOVE says; or 0."""
    FREE_PROXIES = 25
    """Those that may be used again."""
    ASKING = 26
    """The proxy of the activation that this core asks for; or 0."""
    PATIENCE = 27
    """How many bursts it makes between two attempts to find something for others, and DELAY, how many are to come."""
    DELAY = 28
    GIVEN_AWAY = 29
    """How many activations others have got."""
    SINCE = 30
    """The firings when this core was given one last."""
    PAUSE = 31
    """How often it waits before it asks again, and LEFT, how often it still does."""
    LEFT = 32
    PASSED = 33
    """The step that is made although the run would stop before it: it has stood there. Or -1."""


class A(IntEnum):
    """The addresses of the arrays, and how many rows those have that may be too small."""

    OPTIONS = 0
    REGISTERS = 1
    MEMORY = 2
    MEMORY_SIZE = 3
    RING = 4
    RING_SIZE = 5
    PROFILE = 6
    PROFILE_SIZE = 7
    DEAD = 8
    DEAD_SIZE = 9
    LOST = 10
    REFERENCES = 11
    NODES = 12
    PORTS = 13
    EDGES = 14
    ROUTES = 15
    SITES = 16
    SCOPES = 17
    CODES = 18
    """What each node does: the column of the image, but for nodes that the run is to stop at."""
    COUNTS = 19
    BEGUN = 20
    FREE = 21
    RESULTS = 22
    GIVEN = 23
    WOKEN = 24
    HELD = 25
    HELD_SIZE = 26
    DUE = 27
    """The rows of the held tokens that an event lets go."""
    ROWS = 28
    SENDS = 29
    SEND_ROUTES = 30
    JOURNAL = 31
    JOURNAL_SIZE = 32
    STATES = 33
    """How many words of a frame's bits there are, by scope."""
    WAVES = 34
    """The wave in which each token of the ring is delivered."""
    WAITS = 35
    """The wave in which what waits at each word of memory was delivered; of a proxy, what PROXY says."""
    SHARED = 36
    """What several cores share; `messages` says what is there."""
    NEEDS = 37
    """What is needed for the run to stop at a port: two rows for each, of a firing and of a token that stays there."""


class WAVE(IntEnum):
    """The columns of the profile of a machine whose tokens know their waves."""

    FIRED = 0
    """Firings; in the upper half the tokens that they took."""
    SENT = 1
    """The tokens that they sent."""


class PROXY(IntEnum):
    """The words of a proxy: the frame of an activation that another core has."""

    CORE = 0
    """Which core that is."""
    FRAME = 1
    """Where tokens go there: the frame itself, or, where HOME is 0, the proxy of what is around it."""
    HOME = 2
    """Where this is what is around an activation that was given here: its proxy there; else 0."""
    CHILD = 3
    """That activation."""


class Held(IntEnum):
    """The columns of held tokens. They are a list in the order of their steps, which begins and ends in row 0."""

    STEP = 0
    """The number of the step that sent it."""
    TOKEN = 1
    VALUE = 2
    PREVIOUS = 3
    NEXT = 4
    BESIDE = 5
    """Another that is held for the same iteration."""


class Options(IntEnum):
    """What does not change while a run goes on."""

    MODE = 0
    SEED = 1
    FIRINGS = 2
    TOKENS = 3
    DEPTH = 4
    ENOUGH = 5
    """How many results end the run at once; 0 where none does."""
    CLOCKED = 6
    FAN = 7
    LARGEST = 8
    PLAIN = 9
    """Whether `plain` may deliver what it knows."""
    NOTING = 10
    """The most words that a step adds to the journal, what it makes to be noted later included."""
    CLOSING = 11
    """The most words that an activation adds that closes."""
    STAYS = 12
    """Whether the run may stop before a token stays where it comes to."""


class Mode(IntEnum):
    """Which token is delivered next."""

    OLDEST = 0
    YOUNGEST = 1
    RANDOM = 2


class Given(IntEnum):
    """What a firing gave that was done outside: a kind, and its values."""

    KIND = 0
    FIRST = 1
    SECOND = 2
    WOKEN = 3
    """How many tokens it woke."""


class Kind(IntEnum):
    """The kinds of what a firing gave."""

    NOTHING = 0
    ONE = 1
    """A value on output 0."""
    TWO = 2
    NONE = 3
    """No output: a store, or a trap."""
    PARKED = 4


class Why(IntEnum):
    """Why the loop stopped."""

    QUIET = 0
    BUDGET = 1
    """The steps that it was given are done."""
    ROOM = 2
    """An array is too small."""
    LEAVE = 3
    """A firing is to be done outside."""
    FIRINGS = 4
    DEPTH = 5
    TOKENS = 6
    RESULT = 7
    """All results have come, and that was enough."""
    STOP = 9
    """A step is next that the run is to stop before."""
    SECOND = 8
    """S4 was breached: no graph that keeps the rules does that."""
    IDLE = 10
    """Of several cores this one has nothing to do."""


class NEED(IntEnum):
    """The columns of what is needed for the run to stop: that something compares so with a number."""

    WHAT = 0
    SIGN = 1
    WORD = 2
    """The number."""
    IS_FLOAT = 3
    """Whether the words are floats."""


class What(IntEnum):
    """What is compared."""

    ANY = 0
    """Nothing: the run stops."""
    NONE = 1
    """Nothing: the run does not stop, but where a firing traps or leaves the loop, which nobody has looked into."""
    VALUE = 2
    """What the node gives; of a token that stays, its value."""
    FIRST = 3
    """The operand at port 0; then those at 1 and 2."""
    SECOND = 4
    THIRD = 5
    DEPTH = 6
    ITERATION = 7
    COUNT = 8
    """How often the node has fired, with this step."""
    FIRINGS = 9
    STEP = 10


class Sign(IntEnum):
    """How."""

    EQUAL = 0
    OTHER = 1
    LESS = 2
    MOST = 3
    MORE = 4
    LEAST = 5


class Item(IntEnum):
    """The kinds of items of the journal: a step, whose token made nothing fire, or its node; and what follows one, an
    activation that it closed, or a held token that it released."""

    STAYED = 0
    FIRED = 1
    CLOSED = 2
    RELEASED = 3


class Head(IntEnum):
    """The first word of an item: flags, where its parts begin, and the bits of its kind."""

    KIND = 7
    """The bits of the kind."""
    GIVEN = 1 << 3
    """It was done outside, which knows more of it."""
    ENDS = 1 << 4
    """The clock ticks after it."""
    OPENED = 1 << 5
    """It opened the activation that it sends to."""
    IS_HELD = 1 << 6
    OUTPUTS = 8
    """Where two bits begin that say how many outputs it has."""
    OTHERS = 10
    """Where seven bits begin that say how many operands follow."""
    SHIFT = 17
    """Where the position begins of the token that was delivered; of CLOSED, how many words of bits follow."""


class Noted(IntEnum):
    """The other words of an item, and how many words it has of each kind, but for operands or bits at its end."""

    TOKEN = 1
    VALUE = 2
    STAYED_WORDS = 3

    TARGET = 3
    """Of FIRED: the frame that it sends to."""
    FIRST = 4
    """The edges of output 0: where they begin, and in the low bits where they end."""
    OUT = 5
    SECOND = 6
    OUT_SECOND = 7
    FIRED_WORDS = 8

    FRAME = 1
    """Of CLOSED."""
    ABOVE = 2
    WHEN = 3
    CLOSED_WORDS = 4

    STEP = 3
    """Of RELEASED: which step sent it."""
    RELEASED_WORDS = 4
