"""Devices: the names of the places where nodes may fire."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import Usage

_DEVICE_PATTERN = re.compile(r"(?:/job:(?P<job>[A-Za-z_]\w*))?(?:/task:(?P<task>\d{1,9}))?", re.ASCII)


class DeviceName(NamedTuple):
    """The name of a device, or of all devices whose names have these parts."""

    job: str | None
    task: int | None

    def __str__(self) -> str:
        job, task = "" if self.job is None else f"/job:{self.job}", "" if self.task is None else f"/task:{self.task}"
        return job + task

    def admits(self, device: DeviceName) -> bool:
        """Whether a device has all parts that this name has."""
        return self.job in (None, device.job) and self.task in (None, device.task)

    def agreement(self, device: DeviceName) -> int:
        """How many of its parts a device has."""
        return (self.job is not None and self.job == device.job) + (self.task is not None and self.task == device.task)

    def or_else(self, default: DeviceName) -> DeviceName:
        """This name, with the parts that it lacks from another one.

        >>> print(parse_device("/task:2").or_else(parse_device("/job:ps/task:0")))
        /job:ps/task:2
        """
        return DeviceName(
            default.job if self.job is None else self.job, default.task if self.task is None else self.task
        )


FIRST_DEVICE = DeviceName("worker", 0)
"""The device of arguments and results, and of nodes without a constraint."""


def parse_device(text: str) -> DeviceName:
    """The device of a name; raises Usage, which is a ValueError, where it is none, and a TypeError if it is not a
    string.

    >>> parse_device("/job:ps/task:1")
    DeviceName(job='ps', task=1)
    >>> print(parse_device("/task:0"), parse_device("/task:0").admits(parse_device("/job:ps/task:0")))
    /task:0 True
    """
    match = _DEVICE_PATTERN.fullmatch(text) if isinstance(text, str) else None
    if match is None or not text:
        required, python = (
            "/job:NAME/task:NUMBER, or a part of that",
            ValueError if isinstance(text, str) else TypeError,
        )
        raise Usage("this is not a device", required=required, got=repr(text)[:80], python=python)
    task = match["task"]
    return DeviceName(match["job"], None if task is None else int(task))
