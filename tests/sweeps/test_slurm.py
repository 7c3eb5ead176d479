"""A sweep as a job array of SLURM: the script, and its tasks run by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.run.slurm import array_of, script
from mtpp_dsl.sweeps.store.store import Store

SWEEP = '''
mtpp-sweep = 1
name = "two words"
methods = ["single-device"]
time_limit = "10s"
memory_limit = "2 GB"
[[problems]]
name = "chain {n}"
text = """
mtpp 1
param n: int
graph from generator chain (nodes = n)
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
"""
params = {n = [3, 4, 5]}
'''


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    path = tmp_path / "a sweep.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="runs bash")
def test_tasks_are_the_sweep(sweep: Path, tmp_path: Path) -> None:
    """Bash takes the script; its tasks, run as the array would, record each run once; spaces in paths do no harm."""
    folder = tmp_path / "a job"
    assert run(["bench", "slurm", str(sweep), "-o", str(folder), "--tasks", "2", "--only", "problem=chain*"]) == 0
    for syntax, number in ((["-n"], "1"), ([], "1"), ([], "2")):
        done = subprocess.run(
            ["bash", *syntax, str(folder / "run.sbatch")],
            env={**os.environ, "SLURM_ARRAY_TASK_ID": number},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    found: list[str] = []
    for number in (1, 2):
        with Store.open(folder / f"task-{number}.sqlite", readonly=True) as store:
            found += store.done()
    assert sorted(found) == sorted(each.key for each in expand(read_sweep(sweep)))


def test_the_array_is_as_large_as_the_sweep_needs(sweep: Path) -> None:
    """Tasks last an hour at most, memory and cores are those of the runs at once; what cannot be known is asked."""
    runs = expand(read_sweep(sweep))
    array = array_of("x", runs)
    assert (array.tasks, array.threads, array.memory) == (1, 1, 2 * 10**9 + (1 << 30))
    assert 3 * 10 < array.seconds < 3600
    hours = [replace(each, time_limit=3500.0, threads=2) for each in runs]
    assert array_of("x", hours).tasks == 3
    text = script(array_of("x", hours, jobs=2), sweep, sweep.parent, [], ["--partition=short", "qos=low"])
    assert "#SBATCH --cpus-per-task=4\n" in text
    assert "#SBATCH --partition=short\n#SBATCH --qos=low\n" in text
    endless = [replace(each, time_limit=None) for each in runs]
    with pytest.raises(UsageError, match="--task-time"):
        array_of("x", endless)
    assert array_of("x", endless, seconds=60.0).seconds == 60.0
    with pytest.raises(UsageError, match="no runs"):
        array_of("x", [])
    with pytest.raises(UsageError, match="one option of sbatch"):
        script(array, sweep, sweep.parent, [], ["a\nrm -rf b"])


def test_no_line_of_a_name_becomes_a_command(sweep: Path) -> None:
    """The name of the sweep and its paths stand in lines of comments, which no quotes hold together."""
    runs = expand(read_sweep(sweep))
    array, folder = array_of("x", runs), sweep.parent
    for name, file, place in (("a\nb", sweep, folder), ("a", folder / "a\nb", folder), ("a", sweep, folder / "a\nb")):
        with pytest.raises(UsageError, match=r"a\\nb' has a character that cannot stand"):
            script(replace(array, name=name), file, place, [], [])
    assert "/50%%/task-%a.log" in script(array, sweep, folder / "50%", [], [])  # %u would be the user's name
