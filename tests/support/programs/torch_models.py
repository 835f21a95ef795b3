"""A model of PyTorch with a decoding loop: a small LSTM that adds numbers of two digits.

`python tests/support/programs/torch_models.py FILE` trains it, and writes it as an exported program:
docs/models/adding.pt2.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

END, WIDTH, HIDDEN = 10, 8, 40
"""The token after the last digit, and the sizes of the model."""


class Adder(nn.Module):
    """Reads the digits of two numbers, and writes those of the sum, the last one first, until the end token."""

    def __init__(self) -> None:
        super().__init__()
        self.digits = nn.Embedding(END + 1, WIDTH)
        self.reader = nn.LSTM(WIDTH, HIDDEN, batch_first=True)
        self.writer = nn.LSTMCell(WIDTH, HIDDEN)
        self.head = nn.Linear(HIDDEN, END + 1)

    def read(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The state after the digits."""
        tokens = torch.stack([a // 10, b // 10, a % 10, b % 10], dim=-1)
        _, (h, c) = self.reader(self.digits(tokens))
        return h[0], c[0]

    def write(self, token: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
        """How likely each token is the next one, and the next state."""
        h, c = self.writer(self.digits(token), (h, c))
        return self.head(h), h, c

    def forward(self, a: Any, b: Any) -> Any:
        def goes_on(token: Any, total: Any, scale: Any, h: Any, c: Any) -> Any:
            return (token != END) & (scale < 10_000)

        def emit(token: Any, total: Any, scale: Any, h: Any, c: Any) -> tuple[Any, ...]:
            scores, h, c = self.write(token[None], h, c)
            return scores[0].argmax(), total + token * scale, scale * 10, h, c

        h, c = self.read(a[None], b[None])
        scores, h, c = self.write(torch.full((1,), END), h, c)
        first = scores[0].argmax()
        start = first, torch.zeros_like(first), torch.ones_like(first), h, c
        _, total, _, _, _ = torch._higher_order_ops.while_loop(goes_on, emit, start)
        return total

    def loss(self, a: Any, b: Any) -> Any:
        """The cross entropy of the digits of sums."""
        h, c = self.read(a, b)
        total, token, losses = a + b, torch.full_like(a, END), []
        is_over = torch.zeros_like(a, dtype=torch.bool)
        for position in range(4):
            scores, h, c = self.write(token, h, c)
            token = torch.where((total == 0) & (position > 0), END, total % 10)
            losses.append(F.cross_entropy(scores, token, reduction="none").masked_fill(is_over, 0.0))
            is_over, total = token == END, total // 10
        return torch.stack(losses).sum(0).mean()


def train(steps: int, batch: int = 256) -> Adder:
    """An adder that is right for nearly all numbers."""
    torch.manual_seed(0)
    model = Adder()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1.0, 2 * (steps - k) / steps))
    for _ in range(steps):
        loss = model.loss(*torch.randint(0, 100, (2, batch)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def archive(model: nn.Module, arguments: tuple[Any, ...]) -> bytes:
    """The exported program of a model, without the paths of this machine and the example arguments."""
    content = io.BytesIO()
    torch.export.save(torch.export.export(model, arguments), content)
    written = io.BytesIO()
    with zipfile.ZipFile(content) as source, zipfile.ZipFile(written, "w") as target:
        for name in source.namelist():
            entry = source.read(name)
            if name.endswith("models/model.json"):
                entry = re.sub(rb'(File \\")[^"\\]*/([^"/\\]*\.py\\")', rb"\1\2", entry)
            if "sample_inputs" not in name:
                target.writestr(zipfile.ZipInfo(name), entry)
    return written.getvalue()


if __name__ == "__main__":
    trained = train(6000)
    pairs = torch.randint(0, 100, (200, 2))
    right = sum(int(trained(a, b)) == int(a + b) for a, b in pairs)
    Path(sys.argv[1]).write_bytes(archive(trained, (torch.tensor(27), torch.tensor(48))))
    print(f"adds {right} of {len(pairs)}")
