"""Messages arrive exactly once and in order, whatever the network does; and what an epoch is."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from support.laws.distributed_laws import channel_violations
from tagloom.core import dtypes
from tagloom.core.tag import ROOT, Site
from tagloom.core.types import Handle, Type, handle_type
from tagloom.core.value import fingerprint
from tagloom.interp.engines.distributed.channels import Channels
from tagloom.interp.engines.distributed.links import DRIVER
from tagloom.interp.engines.distributed.messages import (
    Batch,
    CloseNotice,
    FiringRequest,
    FiringResult,
    Probe,
    TokenTransfer,
    decode_batch,
    encode_batch,
)
from tagloom.interp.engines.distributed.network import NO_FAULTS, Faults, FaultyNetwork, NetworkLinks
from tagloom.interp.machine.event import Token

SITE = Site("main", "fib", "call")
TAG = ROOT.child(SITE)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("seed", range(4))
def test_messages_arrive_once_and_in_order(seed: int) -> None:
    """On a network that loses a third of all batches, repeats half, and delays them, a receiver gets what was sent."""
    network = FaultyNetwork([DRIVER, 0], Faults(0.3, 0.5, 9, 0.0, 0), Random(seed))
    sender, receiver = Channels(NetworkLinks(network, DRIVER)), Channels(NetworkLinks(network, 0))
    sender.begin_epoch(1)
    arrived: list[int] = []
    for number in range(2_000):
        network.round += 1
        if number < 100:
            sender.send(0, Probe(number))
        sender.flush()
        list(sender.receive())
        arrived += [message.number for _, message in receiver.receive() if isinstance(message, Probe)]
        receiver.flush()
    assert arrived == list(range(100))
    assert not sender.channels[0].unacknowledged_batches
    assert (sender.message_counts["Probe"], sender.work_sent, receiver.work_received) == (100, 0, 0)


def test_a_peer_begins_an_epoch_with_the_driver_s_first_batch() -> None:
    """A peer enters a later epoch with the driver. Before the driver's first batch it takes nothing from others; a
    worker that replaces another takes nothing of the epoch in which that one died."""
    network = FaultyNetwork([DRIVER, 0, 1], NO_FAULTS, Random(0))
    receiver = Channels(NetworkLinks(network, 0), epoch=3)

    def arrive(epoch: int, sender: int, number: int) -> list[int]:
        network.post(0, encode_batch(Batch(epoch, sender, number, 0, (Probe(number),))))
        network.round += 1
        return [message.number for _, message in receiver.receive() if isinstance(message, Probe)]

    assert arrive(3, DRIVER, 1) == [] and arrive(3, 1, 1) == [] and receiver.epoch == 3 and not receiver.has_begun
    assert arrive(4, 1, 1) == [] and receiver.epoch == 3  # only the driver begins epochs
    assert arrive(4, DRIVER, 2) == [] and (receiver.epoch, receiver.has_begun) == (4, False)
    assert arrive(4, 1, 1) == []
    assert arrive(4, DRIVER, 1) == [1, 2] and receiver.has_begun
    assert arrive(4, 1, 1) == [1] and arrive(4, 1, 1) == [] and arrive(3, 1, 2) == []


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("seed", range(10))
def test_channels_keep_the_laws_while_epochs_change(seed: int) -> None:
    """In each epoch, messages arrive once and in order, the driver's first before all others."""
    assert list(channel_violations(seed)) == []


def test_messages_as_bytes() -> None:
    """A batch comes back from its bytes, values of every kind included."""
    handle = Handle(3, TAG, 2, handle_type(Type(dtypes.float64, (None,))).dtype)
    values = (2**63 - 1, True, 0.1, float("nan"), np.float32(0.1), np.array([[1.5], [-0.0]]), np.uint64(2**64 - 1))
    tokens = tuple(Token(number, 0, TAG, value) for number, value in enumerate((*values, handle)))
    messages = (
        TokenTransfer(tokens, True, 7),
        CloseNotice(TAG, Site("fib", "loop", "loop")),
        FiringRequest(tokens[0], (handle, 1, 2.5), 4),
        FiringResult(3, TAG.child(SITE), ((0, handle), (1, True)), None, 9),
    )
    batch = decode_batch(encode_batch(Batch(5, 2, 8, 6, messages)))
    assert batch[:4] == (5, 2, 8, 6)
    assert batch.messages[1:3] == messages[1:3]
    transfer = batch.messages[0]
    assert isinstance(transfer, TokenTransfer)
    assert [(*each[:3], fingerprint(each.value)) for each in transfer.tokens] == [
        (*each[:3], fingerprint(each.value)) for each in tokens
    ]
    assert batch.messages[3] == messages[3]
