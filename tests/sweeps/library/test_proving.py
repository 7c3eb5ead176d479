"""Bounds of records that have no certificate are proved again, and what proves them is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.sweeps.library.auditing import audit
from mtpp_dsl.sweeps.library.collection import Library
from mtpp_dsl.sweeps.library.improving import offered
from mtpp_dsl.sweeps.library.proving import prove_records, records_to_prove
from mtpp_dsl.sweeps.library.store import RecordChange
from tests.sweeps.library.small import FOUND, answer, small_library

NAME = "chain-2"


def trusted(folder: Path, *, higher: float = 1.0) -> Library:
    """Return a library whose record is optimal on a solver's word."""
    library = small_library(folder)
    known = offered(library, NAME, answer(library, NAME), FOUND).after
    assert known.status == "optimal"
    assert known.bound is not None
    word = replace(
        known,
        bound=known.bound * higher,
        bound_by="exact, on the word of highs",
        proof="trusted",
        certificate_sha256="",
    )
    library.records.take(NAME, lambda now: RecordChange(now, word, None, None))
    return Library.open(folder)


def test_a_bound_gets_its_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command, once; the library then has nothing to prove, and its audit proves it again."""
    folder = tmp_path / "lib.v1"  # a folder whose name looks like that of a file
    folder.mkdir()
    library = trusted(folder)
    assert [one.name for one in records_to_prove(library, [NAME, "other"])] == [NAME]
    assert run(["bench", "prove", str(folder)]) == 0
    assert "1 of 1 bound without a certificate proved again" in capsys.readouterr().out
    record = library.records.read()[NAME]
    assert (record.proof, record.bound_by, record.status) == ("certificate", "exact", "optimal")
    assert [*audit(library, record)] == []
    assert run(["bench", "prove", str(folder), "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["bench", "prove", str(folder), "--size", "full"]) == 2


def test_what_is_not_proved_stays_as_it_is(tmp_path: Path) -> None:
    """A bound above the optimum, as it were, and one whose spec has changed."""
    library = trusted(tmp_path, higher=1.0 + 1e-6)
    before = library.records.read()
    (result,) = prove_records(library, records_to_prove(library, [NAME]), 5.0)
    assert not result.proved
    assert library.records.read() == before
    changed = replace(before[NAME], spec_sha256="0" * 64)
    (result,) = prove_records(library, [changed], 5.0)
    assert "changed" in result.text
