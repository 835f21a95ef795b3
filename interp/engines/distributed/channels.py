"""Channels: messages between peers, each exactly once and in the order of sending, over links that promise neither.

Every batch has the epoch, its sender and a number. A receiver takes the batches of a sender by their numbers: it keeps
a batch that comes early, and drops a duplicate. It acknowledges batches, and a sender repeats those that are not
acknowledged.

An epoch begins whenever the run is rolled back: batches of an earlier epoch are dropped when they arrive. A peer enters
a later epoch when a batch of the driver's arrives; the driver's first batch says where to continue. Until that batch
arrives, the peer does nothing in the epoch, and drops batches of other workers, which send them again. A worker that
replaces another takes part only in epochs that begin later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .links import DRIVER, Links
from .messages import WORK_MESSAGES, Batch, Message, decode_batch, encode_batch
from .packing import Packed
from .timeline import TimelineRecorder


class PeerChannel:
    """The channel to one peer, in both directions."""

    def __init__(self) -> None:
        self.outgoing_messages: list[Message] = []
        """The messages for the next batch."""
        self.unacknowledged_batches: dict[int, Packed] = {}
        """The batches that were sent and are not acknowledged, by number."""
        self.flushes = 0
        """The number of flushes since a batch was last sent."""
        self.last_sent = 0
        self.last_received = 0
        """The number up to which all batches of the peer have been received."""
        self.early_batches: dict[int, tuple[Message, ...]] = {}
        """The messages of batches that came before their turn, by number."""
        self.owes_acknowledgement = False
        self.work_sent = self.work_received = 0
        """The number of work messages sent to the peer, and of those received."""


class Channels:
    """The channels of one peer."""

    def __init__(self, links: Links, epoch: int = 0, *, has_timeline: bool = False) -> None:
        """The peer takes part in epochs after `epoch`."""
        self.links, self._former_epoch = links, epoch
        self.recorder = TimelineRecorder(links.rank, links.microseconds) if has_timeline else None
        """Records the messages and the firings of the peer; None without a timeline."""
        self.begin_epoch(epoch)

    def begin_epoch(self, epoch: int) -> None:
        """Begin an epoch: nothing was sent in it, and nothing received."""
        self.epoch = epoch
        self.channels = {peer: PeerChannel() for peer in self.links.peers}
        self.work_sent = self.work_received = 0
        """The number of work messages sent, and of those received."""
        self.message_counts: Counter[str] = Counter()
        """The number of messages sent, by class."""

    def send(self, peer: int, message: Message) -> None:
        """Send a message, with the next flush."""
        channel = self.channels[peer]
        channel.outgoing_messages.append(message)
        self.message_counts[type(message).__name__] += 1
        if isinstance(message, WORK_MESSAGES):
            self.work_sent += 1
            channel.work_sent += 1
            if self.recorder is not None:
                flow = f"{self.epoch}.{self.links.rank}.{peer}.{channel.work_sent}"
                self.recorder.record_message("send", message, peer, flow)

    def flush(self) -> None:
        """Send the pending messages, and repeat batches that were not acknowledged for long."""
        for peer, channel in self.channels.items():
            channel.flushes += 1
            if channel.outgoing_messages:
                channel.last_sent += 1
                batch = self._encode(channel, channel.last_sent)
                channel.unacknowledged_batches[channel.last_sent] = batch
                channel.outgoing_messages.clear()
                self.links.post(peer, batch)
            elif channel.owes_acknowledgement:
                self.links.post(peer, self._encode(channel, 0))
            elif channel.unacknowledged_batches and channel.flushes > self.links.flushes_before_resending:
                for batch in channel.unacknowledged_batches.values():
                    self.links.post(peer, batch)
            else:
                continue
            channel.flushes = 0

    def _encode(self, channel: PeerChannel, number: int) -> Packed:
        channel.owes_acknowledgement = False
        messages = tuple(channel.outgoing_messages)
        return encode_batch(Batch(self.epoch, self.links.rank, number, channel.last_received, messages))

    def receive(self) -> Iterator[tuple[int, Message]]:
        """The messages that have arrived and whose turn has come, each with the rank of its sender."""
        for data in self.links.poll():
            batch = decode_batch(data)
            if not self._is_current(batch):
                continue
            channel = self.channels[batch.sender]
            for number in [number for number in channel.unacknowledged_batches if number <= batch.acknowledged]:
                del channel.unacknowledged_batches[number]
            if batch.number:
                channel.owes_acknowledgement = True
                if batch.number > channel.last_received:
                    channel.early_batches[batch.number] = batch.messages
            while (messages := channel.early_batches.pop(channel.last_received + 1, None)) is not None:
                channel.last_received += 1
                for message in messages:
                    if isinstance(message, WORK_MESSAGES):
                        self.work_received += 1
                        channel.work_received += 1
                        if self.recorder is not None:
                            flow = f"{self.epoch}.{batch.sender}.{self.links.rank}.{channel.work_received}"
                            self.recorder.record_message("receive", message, batch.sender, flow)
                    yield batch.sender, message

    def _is_current(self, batch: Batch) -> bool:
        """Whether to take a batch: one of this epoch, if that has begun here; or one of the driver's in a later epoch,
        which this peer then enters."""
        if batch.epoch > self.epoch and batch.sender == DRIVER:
            self.begin_epoch(batch.epoch)
        return batch.epoch == self.epoch > self._former_epoch and (batch.sender == DRIVER or self.has_begun)

    @property
    def has_begun(self) -> bool:
        """Whether the driver's first batch of this epoch has come; for the driver itself, always."""
        return DRIVER not in self.channels or self.channels[DRIVER].last_received > 0
