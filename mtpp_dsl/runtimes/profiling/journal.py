"""Keep what has been measured so far, line by line on the disk: a run that was ended goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_bytes
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.profile import Timing, timing_of

__all__ = ["Journal"]


class Journal:
    """A file of measured signatures; the first line says under which conditions they were measured.

    Attributes:
        path: of the file.
        known: the times that it had when it was opened, and those added since.
    """

    def __init__(self, path: Path, conditions: Mapping[str, Any]) -> None:
        """Open a journal, or begin one.

        Raises:
            UsageError: there is one of other conditions, or the file is none.
        """
        self.path = path
        self.known: dict[str, Timing] = {}
        head = json.dumps({"journal": 1, "conditions": conditions}, sort_keys=True)
        kept = self._read(head) if path.exists() else 0
        if not kept:
            path.write_text(f"{head}\n", encoding="utf-8")
        else:
            os.truncate(path, kept)

    def _read(self, head: str) -> int:
        """Read what is there; return how many bytes of it are whole lines."""
        data = read_bytes(self.path)
        lines = data.splitlines(keepends=True)
        if not lines or not lines[0].endswith(b"\n"):
            return 0
        if lines[0].decode("utf-8", "replace").rstrip("\n") != head:
            raise UsageError(
                f"{self.path} holds times of another machine, model or setting: delete it to begin anew, or call mtpp "
                "profile as before to go on"
            )
        kept = len(lines[0])
        for line in lines[1:]:
            try:
                row = json.loads(line)
                self.known[row["key"]] = timing_of(row, str(self.path))
            except (UsageError, ValueError, KeyError, TypeError):
                break  # a line that was being written when the process ended
            if not line.endswith(b"\n"):
                del self.known[row["key"]]
                break
            kept += len(line)
        return kept

    def add(self, key: str, timing: Timing) -> None:
        """Keep a time, through to the disk."""
        row = {"key": key} | timing.row()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")
            file.flush()
            os.fsync(file.fileno())
        self.known[key] = timing

    def close(self) -> None:
        """Delete the file: everything is in the profile."""
        self.path.unlink(missing_ok=True)
