"""Preparing compiled code is charged to no share of a time limit, and to the whole of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import numba
import numpy as np
import pytest

from mtpp_dsl.core.base import compiling, machine_code
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.base.preparation import PREPARING, Preparing
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.problem.graph import Floats


def triangle(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


def square(n: int) -> int:
    return n * n


def test_a_share_does_not_pay() -> None:
    """A share goes on for as long as code is prepared, and so do shares of it."""
    whole = Limits(time=100.0)
    share = whole.within(5.0)
    inner = share.within(2.0)
    PREPARING.add(30.0)
    assert inner.remaining == pytest.approx(32.0, abs=1.0)
    assert share.remaining == pytest.approx(35.0, abs=1.0)
    assert share.within(1.0).remaining == pytest.approx(1.0, abs=0.5)


def test_the_whole_pays() -> None:
    """The time limit itself counts every second, and no share outlives it."""
    whole = Limits(time=10.0)
    share = whole.within(5.0)
    PREPARING.add(30.0)
    assert whole.remaining == pytest.approx(10.0, abs=1.0)
    assert share.remaining == pytest.approx(10.0, abs=1.0)
    assert Limits().within(float("inf")).remaining == float("inf")


def test_threads_and_nested_blocks_count_once() -> None:
    """The stopwatch runs while anybody prepares anything, and shows the present seconds too."""
    watch, told = Preparing(), list[float]()
    watch.told = told.append

    def work() -> None:
        with watch:
            sleep(0.2)

    began = monotonic()
    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    with watch, watch:
        sleep(0.1)
        assert watch.seconds > 0.05
    for thread in threads:
        thread.join()
    assert 0.15 < watch.seconds <= monotonic() - began
    assert told[-1] == watch.seconds


@pytest.mark.parametrize("call", [lambda: Kernel(triangle, 0.0).compiled()(9), lambda: Kernel(square).compiled()(6)])
def test_compiling_is_measured(call: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call of a compiled kernel, of a search or of a check, prepares it; its share is as long as before."""
    assert callable(call)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    machine_code.numba()
    share, before, began = Limits(time=100.0).within(10.0), PREPARING.seconds, monotonic()
    assert call() == 36
    took = monotonic() - began
    prepared = PREPARING.seconds - before
    assert prepared > 0.5 * took
    assert share.remaining > 10.0 - (took - prepared) - 0.05


def counted(n: int) -> int:
    total = 0
    for i in range(n):
        total += i & 3
    return total


def filled(table: Floats, row: Floats) -> None:
    table[0] = row


def never_compiled(n: int) -> int:
    return n + 1


@pytest.fixture
def until(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set when the time of the call is over, in seconds from now."""

    def set_until(seconds: float) -> None:
        monkeypatch.setattr(PREPARING, "until", monotonic() + seconds)

    return set_until


def runs_plain(kernel: Kernel[[int], int], steps: float) -> bool:
    """Return whether what a kernel picks for so many steps leaves it uncompiled."""
    assert kernel.pick(steps, str)(9) == kernel.plain(9)
    return not kernel._ready


def test_compiled_is_what_runs_longer_than_compiling_takes(until: Callable[[float], None]) -> None:
    """Steps that are known to come decide at once, others when the plain function has run as long; then it stays."""
    until(60.0)
    kernel = Kernel(counted, 10.0)
    assert runs_plain(kernel, 0.1)
    assert not runs_plain(kernel, 1e9)
    assert kernel.pick(1.0, str) is kernel.compiled()
    kernel = Kernel(counted, 10.0)
    run = kernel.pick(0.0, str)
    assert run(9) == counted(9)
    assert kernel.portion(100) == 1
    kernel._spent = 5.0
    assert run(9) == counted(9)
    assert kernel.portion(100) == 100


def test_nothing_is_compiled_that_would_be_ready_too_late(until: Callable[[float], None]) -> None:
    """The function runs as it stands then; what is compiled already is used."""
    kernel = Kernel(counted, 10.0)
    until(0.05)
    assert runs_plain(kernel, 1e9)
    until(60.0)
    assert not runs_plain(kernel, 1e9)
    until(0.05)
    assert kernel.pick(1e9, str) is kernel.compiled()


def test_code_on_disk_needs_less_time(until: Callable[[float], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a kernel is large and on disk, it is loaded in a time in which it could not be compiled."""
    monkeypatch.setattr(compiling, "PER_BYTE", 1.0)
    Kernel(counted, 0.0).compiled(str)(9)
    until(5.0)
    assert not runs_plain(Kernel(counted, 10.0), 1e9)
    assert runs_plain(Kernel(never_compiled, 10.0), 1e9)
    until(0.05)
    assert runs_plain(Kernel(counted, 10.0), 1e9)


def test_rows_of_another_shape_are_refused() -> None:
    """The short message that stands for numba's own, where numba has one, is compiled with the kernel."""
    fill = Kernel(filled, 0.0).compiled()
    fill(np.zeros((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match="cannot assign slice"):
        fill(np.zeros((2, 3)), np.ones(2))


def test_cache_that_cannot_be_read_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code on disk that names a module that is gone, as after an update, is compiled again."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert Kernel(square).compiled()(3) == 9
    (index,) = tmp_path.rglob("*.nbi")
    index.write_bytes(pickle.dumps(numba.__version__) + b"cmtpp_dsl.gone\nGone\n.")
    with pytest.raises(ModuleNotFoundError, match=r"mtpp_dsl\.gone"):
        numba.njit(cache=True, nogil=True)(square)(3)
    assert Kernel(square).compiled()(3) == 9
