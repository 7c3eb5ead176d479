"""Time the import of models, their plans and device maps: each step by the command line, in a process of its own.

For each model it prints the seconds of the processor (user and system) and of the clock that each step takes, imports
of packages included, and what the model's operations are beside the analytic figure.

Usage: .venv/bin/python benchmarks/imports.py [part of a name]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from subprocess import run
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mtpp_dsl.exchange.model import model_json as models
from mtpp_dsl.exchange.model.sizes import value

GPT2 = {"model_type": "gpt2", "n_layer": 48, "n_embd": 1600, "n_head": 25, "n_positions": 1024, "vocab_size": 50257}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "num_hidden_layers": 80,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}
MODELS: dict[str, tuple[dict[str, Any], int]] = {"gpt2-48": (GPT2, 1024), "llama-3-70b": (LLAMA, 2048)}
SPEC = """
mtpp 1
include "devices/nvidia.mtpp"
graph from "model.json" (group_by = layer, ties = copy)
device fast[2] (type = a100_80gb)
device mid (type = l40s)
device small (type = rtx_4090)
interconnect shared (bandwidth = 12 GB/s)
minimize bottleneck
constraint memory
constraint acyclic
"""


def analytic(config: dict[str, Any], seq: int) -> int:
    """Return the operations of a prefill of one sequence: 2 for each weight and token, 4 for each pair and place."""
    if config["model_type"] == "gpt2":
        h, layers, words = 1600, 48, 50257
        weights = 12 * h * h
    else:
        h, layers, words = 8192, 80, 128256
        weights = 2 * h * h + 2 * h * 1024 + 3 * h * 28672
    return 2 * seq * (layers * weights + h * words) + layers * 4 * seq * seq * h


def timed(*arguments: str, folder: str) -> tuple[float, float]:
    """Run the command line and return the seconds of the processor and of the clock; end the program if it fails."""
    before, begun = getrusage(RUSAGE_CHILDREN), monotonic()
    done = run([sys.executable, "-m", "mtpp_dsl", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    after = getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"mtpp {' '.join(arguments)} failed: {done.stderr}{done.stdout}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, monotonic() - begun


def measure(name: str, config: dict[str, Any], seq: int, folder: str) -> None:
    """Import, plan and export one model in *folder*, and print what that takes and gives."""
    place = Path(folder)
    (place / "config.json").write_text(json.dumps(config))
    (place / "spec.mtpp").write_text(SPEC)
    steps = {
        "import": ("import", "hf", "config.json", "--seq", str(seq), "--dtype", "bf16", "-o", "model.json"),
        "plan": ("solve", "spec.mtpp", "--time-limit", "10s", "--gap", "1%", "--json", "answer.json", "--quiet"),
        "device-map": ("export", "answer.json", "--to", "device-map", "-o", "map.json"),
    }
    for step, arguments in steps.items():
        busy, waited = timed(*arguments, folder=folder)
        print(f"{name:12} {step:12} {busy:6.1f} s of the processor {waited:6.1f} s of the clock")
    model = models.read(place / "model.json")
    answer = json.loads((place / "answer.json").read_text())
    found = sum(value(one.flop, {"batch": 1, "seq": seq}) for one in model.operators)  # type: ignore[arg-type]
    figure = analytic(config, seq)
    print(f"{name:12} {model.n} operators, {float(found):.6e} FLOP, analytic {figure:.6e}: {found / figure - 1:+.0e}")
    print(f"{name:12} {answer['status']}: {answer['objective']['value']:.4g} s, bound {answer['bound']['value']:.4g} s")


def main() -> None:
    """Measure the models whose names hold what was asked for."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, (config, seq) in MODELS.items():
        if wanted in name:
            with TemporaryDirectory() as folder:
                measure(name, config, seq, folder)


if __name__ == "__main__":
    main()
