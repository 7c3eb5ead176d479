"""Somebody else's package: installed beside ours, found, held to the contracts, and solved with."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from threading import Timer

import pytest

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import PluginError
from tests.amount import stride
from tests.tree import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install tests/plugin into a folder of its own."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "tests" / "plugin", folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder / "site")]
    command = [sys.executable, "-m", "pip", "install", *options, str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def run(site: Path, *arguments: str, command: str | Path = sys.executable) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command, *arguments],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


KEPT = """
import contextlib, io, json, sys, traceback
from mtpp_dsl.cli.run import run
answers = sys.stdout
for line in sys.stdin:
    asked, out, err, code = json.loads(line), io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if isinstance(asked, list):
            code = run(asked)
        else:
            try:
                exec(asked, {})
            except Exception:
                code = traceback.print_exc() or 1
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""
"""A program that runs commands of mtpp, given as lists of words, and Python, given as texts, one after the other."""

Asks = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def mtpp(site: Path) -> Iterator[Asks]:
    """Return what runs a command, or Python, beside their package: in one process, as it takes a second to start."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    kept = subprocess.Popen(
        [sys.executable, "-c", KEPT], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def ask(*words: str, code: str = "") -> subprocess.CompletedProcess[str]:
        assert kept.stdin is not None
        assert kept.stdout is not None
        late = Timer(300, kept.kill)
        late.start()
        print(json.dumps(code or words), file=kept.stdin, flush=True)
        answer = kept.stdout.readline()
        late.cancel()
        assert answer, "it ended, or took too long"
        return subprocess.CompletedProcess(words, *json.loads(answer))

    with kept:
        yield ask


def test_found(site: Path) -> None:
    """Plug-ins are found by their entry points, after the built-ins, without being imported."""
    code = (
        "import sys; from mtpp_dsl.registry import *\n"
        "found = [name for group in (FORMULATIONS, METHODS, GENERATORS, CONSTRAINTS) for name in available(group)]\n"
        "print(*sorted(name for name in found if name.startswith(('acme', 'kinds'))))\n"
        "assert 'acme_mtpp' not in sys.modules"
    )
    done = run(site, "-c", code)
    assert done.stdout.split() == ["acme-broken", "acme-few", "acme-first-fit", "acme-work", "acme_star", "kinds"], (
        done.stderr
    )


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(
            f"check_formulation(load(FORMULATIONS, 'acme-work')(), every_claim={stride(6)})", marks=pytest.mark.long
        ),
        "check_method(load(METHODS, 'acme-first-fit')())",
        "check_generator('acme_star', load(GENERATORS, 'acme_star'))",
        pytest.param("check_constraint(load(CONSTRAINTS, 'kinds')(at_most=1))", marks=pytest.mark.long),
    ],
)
def test_conformance(mtpp: Asks, check: str) -> None:
    """The public suite runs on them as on ours."""
    done = mtpp(code=f"from mtpp_dsl.registry import *; from mtpp_dsl.testing import *; {check}")
    assert done.returncode == 0, done.stderr


SPEC = """
mtpp 1
graph from generator acme_star (readers = 7, work = 2)
device d[3]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["acme-first-fit", "acme-work"])
def test_solve(site: Path, tmp_path: Path, method: str) -> None:
    """A spec may name their generator, and --method their method or formulation."""
    spec = tmp_path / "star.mtpp"
    spec.write_text(SPEC)
    done = run(site, "solve", str(spec), "--method", method, command=Path(sys.executable).parent / "mtpp")
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_they_add_is_kept(mtpp: Asks, tmp_path: Path) -> None:
    """Their formulation, derived from ours, keeps its row whatever plan it starts from; nothing solves another one."""
    spec, answer, model = tmp_path / "chain.mtpp", tmp_path / "free.json", tmp_path / "model.lp"
    spec.write_text(
        "mtpp 1\ngraph {\n  node a[i in 0..11] (work = 1, output = 20)\n  edge a[i] -> a[i + 1] for i in 0..10\n}\n"
        "device d[4]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\nconstraint acyclic\n"
    )
    answer.write_text(json.dumps({f"a[{i}]": "d[0]" for i in range(12)}))
    asked = ["solve", str(spec), "--method", "acme-few"]
    done = mtpp(*asked, "--start", str(answer), "--write-model", str(model))
    assert done.returncode == 0, done.stdout + done.stderr
    words = " ".join(done.stdout.split())
    assert "bottleneck 41" in words
    assert "optimal" in words
    assert "plan and bound are of the plans that keep what formulation 'acme-few' adds: at most five nodes" in words
    assert "few" in model.read_text(encoding="utf-8")
    assert mtpp(*asked, "--solver", "cp-sat").returncode == 2


KINDS = """mtpp 1
graph {
  node a[i in 0..1] (work = 1, output = 1, kind = "conv")
  node b[i in 0..1] (work = 2, output = 1, kind = "pool")
  node c[i in 0..1] (work = 3, output = 1, kind = "dense")
  edge a[i] -> b[i] -> c[i] for i in 0..1
}
device d[3]
interconnect shared (bandwidth = 10)
minimize bottleneck
"""


@pytest.fixture(scope="module")
def kinds(site: Path, mtpp: Asks) -> Path:
    """Return a spec with their constraint, solved into ``answer.json`` beside it."""
    spec = site.parent / "kinds.mtpp"
    spec.write_text(KINDS + "constraint kinds (at_most = 2)\n")
    done = mtpp("solve", str(spec), "--method", "exact", "--json", str(spec.with_name("answer.json")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "optimal" in done.stdout
    return spec


def test_their_constraint_is_kept_and_verified(mtpp: Asks, kinds: Path) -> None:
    """The plan found keeps it; a plan that does not is refused by ``mtpp verify``, which names the constraint."""
    done = mtpp("verify", str(kinds), str(kinds.with_name("answer.json")))
    assert "every constraint holds" in done.stdout, done.stdout + done.stderr
    alone = kinds.with_name("alone.json")
    alone.write_text(json.dumps({f"{name}[{i}]": "d[0]" for name in "abc" for i in (0, 1)}))
    done = mtpp("verify", str(kinds), str(alone))
    assert done.returncode == 7
    assert "kinds.mtpp:11): d[0] has nodes of 3 kinds: conv, dense, pool" in done.stdout + done.stderr


@pytest.mark.parametrize("method", ["ideals", "annealing", "slicegraph", "acme-first-fit"])
def test_their_constraint_is_refused_by_other_methods(mtpp: Asks, kinds: Path, method: str) -> None:
    """The reason is one sentence, with the methods that can; a plug-in that is broken changes nothing."""
    done = mtpp("solve", str(kinds), "--method", method)
    assert done.returncode == 2
    told = " ".join(done.stderr.split())
    assert f"{method} does not support constraint kinds (" in told
    assert "which is a plug-in's; " in told
    assert told.endswith(" can")


def test_their_constraint_among_those_that_clash(mtpp: Asks, kinds: Path) -> None:
    """Exit code 3, and its own line among those that cannot all hold."""
    spec = kinds.with_name("clash.mtpp")
    spec.write_text(KINDS + "constraint kinds (at_most = 1)\nconstraint pin a, b on d[0]\nconstraint memory\n")
    spec.write_text(spec.read_text().replace("device d[3]", "device d[3] (memory = 9)"))
    done = mtpp("solve", str(spec))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "kinds.mtpp" not in done.stdout
    assert re.search(r"kinds \(\S*clash.mtpp:11\)", done.stdout)
    assert re.search(r"pin \(\S*clash.mtpp:12\)", done.stdout)
    assert "memory (" not in done.stdout


def test_their_constraint_in_a_spec(mtpp: Asks, kinds: Path) -> None:
    """It is formatted, counted and completed as others are; without their package the spec says what is missing."""
    assert "kinds" in mtpp("check", str(kinds)).stdout
    assert mtpp("fmt", "--check", str(kinds)).returncode == 0
    wrong = kinds.with_name("wrong.mtpp")
    wrong.write_text(KINDS + "constraint kind (at_most = 2)\n")
    told = mtpp("check", str(wrong)).stderr
    assert "there is no constraint 'kind'; did you mean 'kinds'?" in told
    assert "; of plug-ins: kinds; or a label and ':'" in told
    alone = subprocess.run(
        [Path(sys.executable).parent / "mtpp", "check", str(kinds)], capture_output=True, text=True, check=False
    )
    assert "there is no constraint 'kinds'" in alone.stderr


def test_broken(mtpp: Asks) -> None:
    """A plug-in that cannot be imported is named with the reason, and only when it is asked for."""
    done = mtpp(code="from mtpp_dsl.registry import *; load(METHODS, 'acme-broken')")
    assert (
        "PluginError: method 'acme-broken' (acme_mtpp.nowhere:Broken) cannot be imported: "
        "No module named 'acme_mtpp.nowhere'" in done.stderr
    )


def test_typo(mtpp: Asks) -> None:
    """An unknown name is answered with a near one, theirs too."""
    done = mtpp(code="from mtpp_dsl.registry import *; load(METHODS, 'acme-firstfit')")
    assert "there is no method 'acme-firstfit'; did you mean 'acme-first-fit'?" in done.stderr


def test_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packages that claim one name are both named; nothing is chosen silently."""
    theirs = EntryPoint("regal", "acme_mtpp.generator:star", registry.GENERATORS)
    monkeypatch.setattr(registry, "entry_points", lambda **_: [theirs])
    registry.available.cache_clear()
    try:
        with pytest.raises(
            PluginError, match=r"two plug-ins call themselves generator 'regal': .*:regal and acme_mtpp"
        ):
            registry.available(registry.GENERATORS)
    finally:
        registry.available.cache_clear()
