"""Tests that llama.cpp places what launch lines say: its own parser and loader, with RPC servers for GPUs."""

from __future__ import annotations

import shlex
import socket
import subprocess
from os import environ
from pathlib import Path
from random import Random

import pytest

import mtpp_dsl
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.llama_cpp import LlamaCpp
from tests.exchange.importers import gguf_files
from tests.runtimes.targets import experts, test_towers
from tests.runtimes.targets.splits import STAMP
from tests.tree import ROOT

PLACEMENT = Path(environ.get("MTPP_LLAMA_CPP", ROOT / "build" / "llama-cpp" / "placement"))
pytestmark = pytest.mark.skipif(
    not PLACEMENT.exists(), reason="llama.cpp is not built: python -m tests.tools.llama_cpp build/llama-cpp"
)
LAYERS, WIDTH, INNER = 4, 64, 32


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facts = {
        "general.alignment": 32, "tokenizer.ggml.model": "no_vocab", **gguf_files.metadata(
            "llama", LAYERS, expert_count=4, expert_used_count=2, embedding_length=WIDTH, feed_forward_length=INNER,
            vocab_size=32, **{"attention.head_count": 4, "attention.head_count_kv": 4, "rope.dimension_count": 16,
                              "attention.layer_norm_rms_epsilon": 1e-5},
        ),
    }  # fmt: skip
    del facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.scores"]
    path = tmp_path_factory.mktemp("llama") / "model.gguf"
    return gguf_files.write(path, facts, gguf_files.with_experts(LAYERS, WIDTH, INNER))


def free_ports(count: int) -> int:
    """Return the first of some ports in a row that nobody uses."""
    for first in range(50_000, 60_000, 16):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for i, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + i))
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
        return first
    raise OSError("no port is free")


def placed(line: str, model: Path, port: int, servers: int) -> dict[str, str]:
    """Return where llama.cpp has each tensor, as "cache N" the cache of each layer, and "mmproj", for a launch line."""
    command = line.splitlines()[-1].replace('"${1:?which model?}"', shlex.quote(str(model)))
    command = command.replace('"${2:?which mmproj file?}"', "mmproj.gguf")
    words = [str(PLACEMENT), str(port), str(servers), *shlex.split(command)[1:]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = {}
    rows = [
        row for row in done.stdout.splitlines() if row.startswith(("layer ", "tensor ", "tower "))
    ]  # servers print, too
    for kind, name, place in (row.split(maxsplit=2) for row in rows):
        if kind == "tower":
            found[name] = place
        elif kind == "tensor":
            found[name] = "CPU" if place.startswith("CPU") else place
        else:
            found[f"cache {name}"] = f"RPC0[127.0.0.1:{port + int(place[3:])}]" if place != "CPU" else place
    return found


@pytest.mark.parametrize("number", range(6))
def test_every_tensor_and_cache_is_where_the_plan_has_it(number: int, model: Path) -> None:
    random, servers = Random(number), 1 + number % 3
    port = free_ports(servers)
    graph = experts.problem(random, LAYERS, 1, shared=False).graph
    devices = [Device(f"127.0.0.1:{port + d}") for d in range(servers)]
    devices.insert(random.randint(0, servers), Device("cpu", "cpu"))
    problem = Problem.create(graph, devices, experts.problem(random, 2, 1).interconnect)
    homes = experts.random_assignment(random, problem)
    (line,) = LlamaCpp().export(problem, Plan.create(problem, homes), STAMP).values()
    assert isinstance(line, str)
    expected = experts.wanted(problem, homes)
    found = placed(line, model, port, servers)
    assert {name: found[name] for name in expected} == expected, line
    by_rules = experts.places(line, problem)
    assert {name: by_rules[name] for name in found if name in by_rules} == {n: found[n] for n in found if n in by_rules}


@pytest.mark.parametrize("home", range(3))
def test_the_tower_is_where_the_plan_has_it(home: int, model: Path) -> None:
    port = free_ports(2)
    servers = "".join(f'device "127.0.0.1:{port + d}"\n' for d in range(2))
    problem = mtpp_dsl.load(test_towers.SPEC.replace("device gpu[2] (memory = 7 GB)", servers))
    homes = [*[home] * 3, 2, 0, 0, 0, 1, 1]
    line = test_towers.line_of(problem, homes)
    assert placed(line, model, port, 2)["mmproj"] == ("RPC0", "RPC1", "CPU")[home]
