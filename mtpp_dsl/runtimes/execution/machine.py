"""Facts about the machine that measures: without them a time means little."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["machine_facts", "processor_name"]


def machine_facts(threads: int, clock: str, packages: tuple[str, ...], device: str = "cpu") -> dict[str, Any]:
    """Return what a profile says of its machine; *packages* are those whose versions matter."""
    facts: dict[str, Any] = {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "threads": threads,
        "clock": clock,
        "system": platform.system(),
        "python": platform.python_version(),
    }
    if device != "cpu":
        facts["device"] = device
    for package in packages:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def processor_name() -> str:
    """Return the name of the processor, as the system gives it."""
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "Hardware"):
                return value.strip()
    return platform.processor() or platform.machine()
