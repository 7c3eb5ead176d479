"""Time the import of ONNX's nine light models, and split one of them, operator by operator, over four unequal devices.

For each model it prints operators, operations, bytes of weights and the seconds of the processor that the import takes.
densenet121 is then solved by the command line, its plan exported as ONNX files, and each file put to ONNX's checker.

Usage: .venv/bin/python benchmarks/model_files.py [part of a name]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from subprocess import run
from tempfile import TemporaryDirectory
from time import process_time

import onnx

import mtpp_dsl

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SPLIT = "densenet121"
TIME = 60
SPEC = """
mtpp 1
include "devices/nvidia.mtpp"
graph from "{path}" (group_by = operator)
device a (type = a100_80gb, reserve = 10 MB)
device b (type = l40s, reserve = 10 MB)
device c (type = rtx_4090, reserve = 10 MB)
device d (type = rtx_3090, reserve = 10 MB)
interconnect shared (bandwidth = 12 GB/s)
minimize bottleneck
constraint memory
constraint stages (empty = never)
"""


def main() -> None:
    """Print a line for each model, and the plan of one."""
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{'model':16} {'operators':>9} {'GFLOP':>8} {'MB':>7} {'s of CPU':>9}")
    for path in (path for path in sorted(LIGHT.glob("light_*.onnx")) if part in path.stem):
        begun = process_time()
        model = mtpp_dsl.from_onnx(path)
        spent = process_time() - begun
        flop = sum(each.flop for each in model.operators if isinstance(each.flop, int))
        size = sum(weight.bytes for weight in model.weights)
        name = path.stem.removeprefix("light_")
        print(f"{name:16} {model.n:9} {flop / 1e9:8.3f} {size / 1e6:7.1f} {spent:9.2f}")
    if part in SPLIT:
        split(LIGHT / f"light_{SPLIT}.onnx")


def split(path: Path) -> None:
    """Solve one model, write its parts and check them."""
    with TemporaryDirectory() as folder:
        spec, answer, parts = (Path(folder) / name for name in ("split.mtpp", "answer.json", "parts"))
        spec.write_text(SPEC.format(path=path), encoding="utf-8")
        mtpp = Path(sys.executable).parent / "mtpp"
        before = getrusage(RUSAGE_CHILDREN)
        run([mtpp, "solve", spec, "--time-limit", f"{TIME}s", "--json", answer, "--quiet"], check=False)
        after = getrusage(RUSAGE_CHILDREN)
        found = json.loads(answer.read_text(encoding="utf-8"))
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"\n{SPLIT} over 4 devices: {found['status']}, gap {found['gap']:.2%}, {spent:.0f} s of CPU")
        done = run([mtpp, "export", answer, "--to", "onnx-split", "--model", path, "-o", parts], check=False)
        if done.returncode == 0:
            files = sorted(parts.glob("*.onnx"))
            for file in files:
                onnx.checker.check_model(str(file), full_check=True)
            print(f"{len(files)} files, all accepted by the checker")


if __name__ == "__main__":
    main()
