"""Processes on a Dask cluster: one cluster of two workers for all tests."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from time import monotonic, sleep

import pytest

from mtpp_dsl.errors import Ended, UsageError
from mtpp_dsl.executors import dask as dask_executor
from mtpp_dsl.executors.addresses import open_executor
from mtpp_dsl.executors.dask import Dask
from mtpp_dsl.executors.versions import versions
from mtpp_dsl.testing import check_executor

pytest.importorskip("distributed", reason="distributed is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="sends signals")]

ECHO = "mtpp_dsl.plugins.echo"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Dask]:
    executor = open_executor("local-cluster:2")
    assert isinstance(executor, Dask)
    yield executor
    executor.close()
    executor.close()  # may be called again


def test_it_keeps_the_laws(cluster: Dask) -> None:
    """The same laws as on this machine hold over the network."""
    assert cluster.slots == 2
    check_executor(cluster)


def test_a_worker_that_dies_ends_its_processes(cluster: Dask) -> None:
    """Its channel says so, its process dies with it, the other goes on, and a new one starts."""
    one, other = cluster.start(ECHO), cluster.start(ECHO)
    assert one.where != other.where
    one.tell(("processes", None))
    pid, worker = one.hear(10)
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(Ended, match=r"worker \d of the cluster was lost"):
        one.hear(30)
    until = monotonic() + 10
    while _runs(pid) and monotonic() < until:
        sleep(0.05)
    assert not _runs(pid)
    other.tell(("echo", 1))
    assert other.hear(10) == 1
    third = cluster.start(ECHO)
    third.tell(("echo", 2))
    assert third.hear(10) == 2
    other.end()
    third.end()


def _runs(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_other_versions_are_refused(cluster: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with other versions is told which; so is one that nobody answers."""
    there = cluster._client.scheduler.address
    other = {**versions(), "highspy": "1.0.0", "python": "3.99"}
    with monkeypatch.context() as patched:
        patched.setattr(dask_executor, "versions", lambda: other)
        with pytest.raises(
            UsageError, match=r"other versions .* python 3\.\d+ there, 3.99 here; highspy .* 1.0.0 here"
        ):
            open_executor(there)
    monkeypatch.setattr(dask_executor, "CONNECT", 0.5)
    with pytest.raises(UsageError, match=r"no scheduler of Dask .* answers at tcp://127.0.0.1:9"):
        open_executor("tcp://127.0.0.1:9")
