"""Scopes: names and devices for parts of a function."""

from __future__ import annotations

from ..errors import Usage
from ..program.device import FIRST_DEVICE, DeviceName, parse_device
from ..program.program import ScopeEntry
from .trace.captures import VariableBase
from .trace.source_location import SCOPE_NUMBERS, entered_scopes, user_frame, user_location


class NamedScope:
    """The context manager of `scope` and `device`."""

    def __init__(self, name: str, device: DeviceName | None = None, variable: int | None = None) -> None:
        self.name, self.device, self.variable = name, device, variable

    def __enter__(self) -> None:
        frame = user_frame()
        assert frame is not None
        entry = ScopeEntry(self.name, frame.f_code, frame.f_lasti, self.device, self.variable, next(SCOPE_NUMBERS))
        entered_scopes().append((frame, entry))

    def __exit__(self, *exception: object) -> None:
        entered_scopes().pop()


def scope(name: str, /) -> NamedScope:
    """A name for the nodes that are traced inside `with tl.scope(name):`. Pictures and the debugger draw a frame around
    them, and fold it like the call of a Python helper; scopes and helpers may be inside one another. The meaning of the
    program does not change, and values of eager arrays have no scopes.

    Raises Usage, which is a TypeError, if the name is not a string, and a ValueError if it is empty.

    >>> import tagloom as tl
    >>> @tl.function
    ... def model(x: tl.float64) -> tl.float64:
    ...     with tl.scope("encoder"):
    ...         y = tl.tanh(2.0 * x)
    ...     return y + 1.0
    >>> [len(node.location.scopes) for node in model.program.functions[0].body.nodes]
    [1, 1, 0]
    """
    if not isinstance(name, str):
        where, hint = user_location(), 'write tl.scope("encoder")'
        raise Usage(
            "the name of a scope must be a string", where=where, got=repr(name)[:80], hint=hint, python=TypeError
        )
    if not name:
        where, hint = user_location(), 'write tl.scope("encoder")'
        raise Usage("the name of a scope is empty", where=where, hint=hint, python=ValueError)
    return NamedScope(name)


def device(name: str | VariableBase, /) -> NamedScope:
    """A device for the nodes that are traced inside `with tl.device("/job:ps/task:1"):`. The name may be a part of one,
    `/job:ps` or `/task:1`; inside another `tl.device`, it replaces the parts that it has. The results of a program do
    not depend on devices. The engine `distributed` has a worker for each, where these nodes fire; `tagloom show
    --form partitions` shows what would travel between them. Pictures draw a frame, as for `scope`.

    The body of a function that is called inside is on that device as well, except nodes with another device. It is in
    the graph once, so all its calls must admit one device.

    A variable instead of a name stands for its device: that of the `with tl.device(...)` around its creation, or the
    first device. All nodes inside `with tl.device(w)`, wherever such statements are, have one device.

    Raises Usage, which is a ValueError, if this is not a name of a device, and a TypeError if it is not a string.

    >>> import tagloom as tl
    >>> @tl.function
    ... def model(x: tl.float64) -> tl.float64:
    ...     with tl.device("/job:ps/task:1"):
    ...         y = tl.tanh(2.0 * x)
    ...     return y + 1.0
    >>> out = model.run(0.0, engine="distributed")
    >>> out.value, out.cluster.devices, out.cluster.messages["FiringRequest"]
    (1.0, ('/job:worker/task:0', '/job:ps/task:1'), 2)
    """
    if isinstance(name, VariableBase):
        resource = name._resource
        return NamedScope(f"variable {resource.name}", resource.device or FIRST_DEVICE, resource.creation_order)
    try:
        parsed_name = parse_device(name)
    except Usage as error:
        error.where = user_location()
        raise
    return NamedScope(name, parsed_name)
