"""The plan of a training: who owns which variable, and the programs that workers and servers run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core import dtypes
from ....core.autodiff.rows import Rows
from ....core.errors import Usage
from ....core.frontend.eager.variable import Variable
from ....core.frontend.trace.captures import Resource
from ....core.frontend.trace.source_location import user_location
from ....core.ops.effects import resource_of
from ....core.types import Type
from ....core.value import Value
from ...function.function import Function, function, trace_declared_types
from ...function.gradient import value_and_grad
from ...function.trace_cache import TracedProgram
from ..embedding import Embedding
from ..optimizers import Optimizer, flatten_variables
from .messages import Synchronisation
from .programs import program_to_text, values_to_data
from .server import ServerJob
from .worker import WorkerJob

_INT64 = Type(dtypes.int64)
_INDICES = Type(dtypes.int64, (None,))


class Lookup(NamedTuple):
    """A table whose rows travel: `ids(worker, step)` are the ids of the vectors that a gradient needs."""

    table: Embedding
    ids: Function


class TrainingPlan:
    """Which server owns which variable, and what each peer is told."""

    def __init__(
        self,
        loss: Callable[..., Any],
        variables: Any,
        optimizer: Optimizer,
        tables: Sequence[tuple[Embedding, Callable[..., Any]]],
        server_count: int,
        synchronisation: Synchronisation,
        engine: str | None,
    ) -> None:
        """Trace the programs. Raises Usage where a variable cannot be trained so."""
        self._loss, self._optimizer, self._engine = as_function(loss), optimizer, engine
        self._variables = tuple(flatten_variables(variables))
        self._lookups = [Lookup(table, as_function(ids)) for table, ids in tables]
        self._shards = tuple(shard for lookup in self._lookups for shard in lookup.table.shards)
        self._synchronisation = synchronisation
        every = (*self._variables, *self._shards)
        if len({id(variable._resource) for variable in every}) < len(every):
            raise Usage("a variable occurs twice among those to train", where=user_location())
        if not 1 <= server_count <= len(every):
            required, got = f"from 1 to {len(every)}, the number of variables", server_count
            raise Usage("the number of servers is out of range", where=user_location(), required=required, got=got)
        owners = assign_owners([variable_bytes(variable) for variable in every], server_count)
        self._owners = owners[: len(self._variables)], owners[len(self._variables) :]
        """The servers of the variables, and those of the shards."""
        optimizer.make_slots(every)
        self._gradient, self._lookup = self._trace_gradient(), self._trace_lookup()
        self._updates = [self._trace_update(server) for server in range(server_count)]
        self._check_updates()

    def worker_job(self, worker: int, worker_count: int) -> WorkerJob:
        """The instructions for a worker."""
        owners, shard_owners = self._owners
        servers = range(len(self._updates))
        places = positions_by_owner(owners), positions_by_owner(shard_owners)
        numbers = {variable._resource: number for number, variable in enumerate(self._variables)}
        first_shard = 1 + len(self._variables)
        return WorkerJob(
            worker=worker,
            worker_count=worker_count,
            server_count=len(servers),
            is_synchronised=self._synchronisation.is_synchronised,
            engine=self._engine,
            gradient=program_to_text(self._gradient.program),
            inputs=[
                list(places[0][numbers[capture]]) if capture in numbers else values_to_data([capture_value(capture)])
                for capture in self._gradient.captures
            ],
            shards=list(map(list, places[1])),
            lookup=None if self._lookup is None else program_to_text(self._lookup.program),
            results=[
                [1 + k for k, owner in enumerate(owners) if owner == server]
                + [first_shard + k for k, owner in enumerate(shard_owners) if owner == server]
                for server in servers
            ],
            indices=[[k for k, owner in enumerate(shard_owners) if owner == server] for server in servers],
        )

    def server_job(self, server: int, worker_count: int) -> ServerJob:
        """The instructions for a server."""
        update, stores, synchronisation = self._updates[server], self._stores(server), self._synchronisation
        variables, shards = self._variables_and_shards(server)
        return ServerJob(
            first_worker=len(self._updates),
            worker_count=worker_count,
            step_count=synchronisation.step_count,
            checkpoint_steps=synchronisation.checkpoint_steps,
            aggregate=synchronisation.aggregate,
            is_synchronised=synchronisation.is_synchronised,
            engine=self._engine,
            update=program_to_text(update.program),
            inputs=[
                stores.index(capture) if capture in stores else values_to_data([capture_value(capture)])
                for capture in update.captures
            ],
            results=[stores.index(resource) for resource in update.assigned_variables],
            variables=[stores.index(variable._resource) for variable in variables],
            shards=[stores.index(shard._resource) for shard in shards],
        )

    def first_stores(self, server: int) -> list[Any]:
        """The stores of a server at the beginning, as data."""
        return values_to_data([capture_value(resource) for resource in self._stores(server)])

    def assign(self, server: int, stores: Sequence[Value]) -> None:
        """Assign the variables of a server, and the slots for them, their values at the end."""
        update = self._updates[server]
        values = dict(zip(self._stores(server), stores, strict=True))
        update.assign([*[None] * update.structure.size, *(values[resource] for resource in update.assigned_variables)])

    def _variables_and_shards(self, server: int) -> tuple[list[Variable], list[Variable]]:
        """The variables and the shards of a server."""
        pairs = zip((self._variables, self._shards), self._owners, strict=True)
        variables, shards = (
            [variable for variable, owner in zip(group, owners, strict=True) if owner == server]
            for group, owners in pairs
        )
        return variables, shards

    def _stores(self, server: int) -> list[Resource]:
        """The resources that a server keeps: its variables, its shards, and whatever else a step assigns."""
        variables, shards = self._variables_and_shards(server)
        owned = [variable._resource for variable in (*variables, *shards)]
        return [*owned, *(resource for resource in self._updates[server].assigned_variables if resource not in owned)]

    def _trace_gradient(self) -> TracedProgram:
        """The program of a worker: the loss, and its gradients with respect to the variables and to the rows of the
        shards."""
        loss_function, lookups, variables = self._loss, self._lookups, self._variables

        def compute(worker: Any, gradient: Any, rows: Any) -> Any:
            def loss(rows: Any) -> Any:
                parts = iter(rows)
                vectors = [
                    lookup.table.stitch(lookup.ids(worker, gradient), [next(parts) for _ in lookup.table.shards])
                    for lookup in lookups
                ]
                return loss_function(worker, gradient, *vectors)

            targets = (*variables, 0) if lookups else variables
            return value_and_grad(loss, targets)(rows)

        types = tuple(map(rows_type, self._shards))
        traced = trace(compute, [_INT64, _INT64, types])
        check_pure(traced, self._shards, "the loss")
        return traced

    def _trace_lookup(self) -> TracedProgram | None:
        """The program of the indices of rows, for each shard; None without tables."""
        lookups = self._lookups

        def find(worker: Any, gradient: Any) -> Any:
            return tuple(
                rows for lookup in lookups for rows in lookup.table.rows_by_shard(lookup.ids(worker, gradient))
            )

        if not lookups:
            return None
        traced = trace(find, [_INT64, _INT64])
        check_pure(traced, self._shards, "a function of ids")
        return traced

    def _trace_update(self, server: int) -> TracedProgram:
        """The program of a step of a server."""
        optimizer, count = self._optimizer, self._synchronisation.aggregate
        variables, shards = self._variables_and_shards(server)

        def update(gradients: Any, rows: Any) -> Any:
            means = []
            for parts in zip(*gradients, strict=True):
                total = parts[0]
                for part in parts[1:]:
                    total = total + part
                means.append(total / count)
            means += [Rows(indices, values / count) for indices, values in rows]
            optimizer.apply(means, [*variables, *shards])
            return ()

        types = tuple(Type(variable.dtype, variable._type.shape) for variable in variables)
        row_types = tuple((_INDICES, rows_type(shard)) for shard in shards)
        return trace(update, [(types,) * count, row_types])

    def _check_updates(self) -> None:
        """Raises Usage if steps of two servers assign one variable: it would have two values."""
        owners: dict[Resource, int] = {}
        for server, update in enumerate(self._updates):
            for resource in update.assigned_variables:
                if owners.setdefault(resource, server) != server:
                    hint = "servers=1, or an optimizer whose state belongs to one variable each"
                    message = f"two servers would assign variable {resource.name}"
                    raise Usage(message, where=user_location(), hint=hint)


def as_function(python: Callable[..., Any]) -> Function:
    """A function as a `tl.function`."""
    return python if isinstance(python, Function) else function(python)


def rows_type(shard: Variable) -> Type:
    """The type of some rows of a shard."""
    return Type(shard.dtype, (None, *shard.value.shape[1:]))


def trace(python: Callable[..., Any], types: Sequence[Any]) -> TracedProgram:
    """The traced program of a function with parameters of these types."""
    traced_function: Function = function(input_signature=types)(python)
    return trace_declared_types(traced_function)


def check_pure(traced: TracedProgram, shards: Sequence[Variable], subject: str) -> None:
    """Raises Usage for a function that does more than compute from the values of variables; `subject` is what it is, in
    messages."""
    where = user_location()
    for resource in traced.assigned_variables:
        required, hint = "a function that only reads variables", "only the optimizer assigns variables of servers"
        raise Usage(f"{subject} assigns variable {resource.name}", where=where, required=required, hint=hint)
    for shard in shards:
        if shard._resource in traced.captures:
            hint = "the loss has the vectors of a table as an argument, and takes no others"
            raise Usage(f"{subject} reads the shard {shard.name} itself", where=where, hint=hint)
    nodes = (node for definition in traced.program.functions for node in definition.body.walk())
    for node in nodes:
        if resource_of(node.op) is not None:
            required = "a function without effects: workers may compute it more than once"
            raise Usage(f"{subject} has the effect {node.op}", where=node.location or where, required=required)


def assign_owners(sizes: Sequence[int], server_count: int) -> list[int]:
    """The server of each variable: the largest first, to the server that has the fewest bytes.

    >>> assign_owners([10, 80, 40, 30], 2)
    [1, 0, 1, 1]
    """
    loads, owners = [0] * server_count, [0] * len(sizes)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        owners[number] = server = loads.index(min(loads))
        loads[server] += max(sizes[number], 1)
    return owners


def positions_by_owner(owners: Sequence[int]) -> list[tuple[int, int]]:
    """For each variable its server, and its position among the variables of that server.

    >>> positions_by_owner([1, 0, 1])
    [(1, 0), (0, 0), (1, 1)]
    """
    return [(owner, list(owners[:number]).count(owner)) for number, owner in enumerate(owners)]


def variable_bytes(variable: Variable) -> int:
    """The size of the value of a variable."""
    return int(np.asarray(variable.value).nbytes)


def capture_value(resource: Resource) -> Value:
    """The current value of a resource."""
    value = resource.value
    return value if isinstance(value, np.ndarray) else value._tagloom_literal.value
