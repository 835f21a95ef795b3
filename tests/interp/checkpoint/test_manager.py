"""A folder with the last few checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest
import tagloom as tl


def test_the_last_few(tmp_path: Path) -> None:
    """The last `keep` checkpoints remain, by step; the latest is restored; other files are not touched."""
    step, folder = tl.Variable(0), tmp_path / "new" / "folder"
    manager = tl.CheckpointManager(tl.Checkpoint(step=step), folder, keep=2)
    assert manager.latest is None and manager.restore_latest() is None and manager.paths == []
    for number in (0, 8, 9, 10, 100):
        step.assign(number)
        assert manager.save(step) == folder / f"step-{number}.safetensors"
    for name in ("step-007.safetensors", "step-3.txt", "best.safetensors"):
        (folder / name).touch()
    assert [path.name for path in manager.paths] == ["step-10.safetensors", "step-100.safetensors"]
    step.assign(0)
    report = manager.restore_latest()
    assert report is not None and report.is_complete and int(step) == 100
    manager.save(100)
    assert len(manager.paths) == 2 and (folder / "best.safetensors").exists()


def test_a_failed_save_deletes_nothing(tmp_path: Path) -> None:
    """The oldest checkpoint is deleted only after the new one is saved."""
    holder: list[tl.Variable] = [tl.Variable(1)]
    manager = tl.CheckpointManager(tl.Checkpoint(holder=holder), tmp_path, keep=1)
    manager.save(1)
    holder.clear()
    with pytest.raises(tl.Usage, match="there are no variables to save"):
        manager.save(2)
    assert [path.name for path in manager.paths] == ["step-1.safetensors"]


def test_refused_steps(tmp_path: Path) -> None:
    """Steps that go back and steps that are no integers are refused."""
    manager = tl.CheckpointManager(tl.Checkpoint(w=tl.Variable(1)), tmp_path)
    manager.save(5)
    with pytest.raises(tl.Usage, match="there is a checkpoint of a later step"):
        manager.save(4)
    with pytest.raises(tl.Usage, match="an integer from 0 up"):
        manager.save(-1)
    with pytest.raises(tl.Usage, match="keep must be the number of checkpoints"):
        tl.CheckpointManager(tl.Checkpoint(), tmp_path, keep=0)
    (tmp_path / "file").touch()
    with pytest.raises(tl.Usage, match="this folder cannot be created"):
        tl.CheckpointManager(tl.Checkpoint(w=tl.Variable(1)), tmp_path / "file" / "x").save(1)
