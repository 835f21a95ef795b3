"""Broken twins of the driver of a distributed run, which laws of both kinds of workers must catch."""

from __future__ import annotations

from pytest import MonkeyPatch
from tagloom.interp.engines.distributed.driver import Driver


def saves_without_draining(patch: MonkeyPatch) -> None:
    """Checkpoints are taken while messages are on their way."""
    true = Driver._act_on_reports

    def judge(self: Driver) -> None:
        if self._phase.value == "draining":
            self._received_when_idle = self._channels.work_sent + sum(
                report.sent_count for report in self._reports.values()
            )
        true(self)

    patch.setattr(Driver, "_act_on_reports", judge)
