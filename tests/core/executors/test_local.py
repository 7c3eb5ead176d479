"""Processes on this machine: the laws of executors, and addresses."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from time import monotonic, sleep

import pytest

from mtpp_dsl import solve
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Ended, UsageError
from mtpp_dsl.core.executors.addresses import open_executor
from mtpp_dsl.core.executors.local import LOCAL, Local, LocalChannel
from mtpp_dsl.solving.plugins.samples import small
from mtpp_dsl.solving.testing import check_executor


def test_it_keeps_the_laws() -> None:
    """Messages, ends, last words, prints."""
    check_executor(Local())


def test_addresses_say_how_many_and_which() -> None:
    """``local:3`` has three slots; what is no number, and what nobody claims, is refused with what there is."""
    assert open_executor("local:3").slots == 3
    assert open_executor("local").slots == LOCAL.slots
    for wrong in ("local:0", "local:many", "local-cluster:0"):
        with pytest.raises(UsageError, match="how many"):
            open_executor(wrong)
    for wrong in ("tcp://[::1", "tcp://localhost:1x"):
        with pytest.raises(UsageError, match=r"is no address of a scheduler, such as tcp://host:8786"):
            open_executor(wrong)
    with pytest.raises(UsageError, match=r"begins with 'tpc'.*'tcp'.*there are: local, dask, tcp"):
        open_executor("tpc://host:1")


def test_what_runs_in_one_process_has_no_use_for_a_scheduler() -> None:
    """It is refused before anybody is asked, with the methods that spread; so is a model on another machine."""
    problem = small()["chain"]
    with pytest.raises(UsageError, match=r"'slicegraph' runs in one process.*choose --method auto or guess"):
        solve(problem, "slicegraph", scheduler="tcp://nowhere:1")
    with pytest.raises(UsageError, match="on another machine"):
        solve(problem, "guess", scheduler="tcp://nowhere:1", write_model="x.lp")


def test_limits_travel_without_their_executor() -> None:
    """A process that is sent limits starts its own processes where it runs."""
    limits = Limits(time=60.0, executor=LOCAL)
    assert limits.within(1.0).executor is LOCAL
    copy = pickle.loads(pickle.dumps(limits))
    assert copy.executor is None
    assert copy.time == 60.0


FORKS = """
import os, time
def main(wire):
    child = os.fork()
    if child == 0:
        time.sleep(60)
    wire.send((os.getpid(), child))
    {then}
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    ("then", "why"),
    [
        ("time.sleep(60)", None),
        ("os._exit(3)", None),
        ("wire.put(b'x' * 2000); time.sleep(60)", "killed"),
    ],
)
def test_what_it_has_started_ends_with_it(
    then: str, why: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though that holds the other end of the wire; and one that sends more than it may is killed with it."""
    (tmp_path / "forks.py").write_text(FORKS.format(then=then))
    monkeypatch.syspath_prepend(str(tmp_path))
    channel = LocalChannel("forks", longest=1000)
    own, child = channel.hear(20.0)
    if why is not None:
        with pytest.raises(Ended, match=why):
            channel.hear(20.0)
        assert channel.garbled
    channel.end()
    until = monotonic() + 10
    while (alive(own) or alive(child)) and monotonic() < until:
        sleep(0.02)
    assert not alive(own)
    assert not alive(child)


def alive(pid: int) -> bool:
    """Return whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False
