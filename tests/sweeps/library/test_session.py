"""Sessions of improving a library, by the command line: run, go on, audit, submit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.sweeps.library.collection import Library
from mtpp_dsl.sweeps.library.improving import Improver
from mtpp_dsl.sweeps.library.record import records_text
from mtpp_dsl.sweeps.library.session import SessionRequest, improve
from mtpp_dsl.sweeps.run.one_run import failure
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.library.small import small_library


def test_a_session_fills_the_records_and_the_next_has_nothing_to_do(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    lines: list[str] = []
    with Store.open(tmp_path / "runs.sqlite") as store:
        found = improve(library, store, LOCAL, SessionRequest(), jobs=1, say=lines.append)
        assert (found.better, found.wrong) == (["chain-2", "chain-3"], [])
        assert len(lines) == 2
        records = library.records.read()
        assert {record.status for record in records.values()} == {"optimal"}
        (tmp_path / "best.csv").unlink()  # as if the process had been killed before it wrote
        again = improve(library, store, LOCAL, SessionRequest(closed=True), jobs=1, say=lines.append)
    assert (again.summary.recorded, again.summary.skipped) == (0, 2)
    assert library.records.read() == records


def test_a_run_whose_answer_fails_the_check_is_reported(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    improver = Improver(library, lambda line: None)
    why = failure(VerificationError("the plan breaks constraint memory"))
    improver.ended(library.runs["chain-2"], RunOutcome("error", error=why))
    improver.ended(library.runs["chain-2"], RunOutcome("error", error=failure(UsageError("no such file"))))
    (wrong,) = improver.wrong
    assert "chain-2 by" in wrong
    assert "breaks constraint memory" in wrong


def test_an_answer_that_contradicts_a_record_is_kept_as_evidence(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    lines: list[str] = []
    with Store.open(tmp_path / "runs.sqlite") as store:
        improve(library, store, LOCAL, SessionRequest(only=("chain-2",)), jobs=1, say=lines.append)
        table = tmp_path / "best.csv"
        record = library.records.read()["chain-2"]
        assert record.value is not None
        lied = record.value * 1.1
        table.write_text(records_text([replace(record, value=lied, bound=lied)]))
        found = improve(library, store, LOCAL, SessionRequest(only=("chain-2",), closed=True), jobs=1, say=lines.append)
    assert len(found.wrong) == 1
    (evidence,) = (tmp_path / "evidence").glob("chain-2-*.json")
    assert json.loads(evidence.read_text())["objective"]["value"] == record.value
    assert str(evidence) in found.wrong[0]


def test_the_command_runs_audits_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_library(tmp_path)
    call = ["bench", "--improve", str(tmp_path)]
    assert run([*call, "--only", "chain-2", "--jobs", "1"]) == 0
    assert "1 record better" in capsys.readouterr().out
    assert Library.open(tmp_path).records.read()["chain-2"].status == "optimal"
    assert run([*call, "--only", "chain-2,chain-3", "--method", "heft", "--all", "--jobs", "1"]) == 0
    assert "refused: 2 runs, such as chain-2 by heft: method 'heft' cannot solve this" in capsys.readouterr().out
    assert run([*call, "--audit", "--only", "chain-2"]) == 0
    assert capsys.readouterr().out == "1 problem checked: all is as recorded\n"
    assert run([*call, "--dry-run"]) == 0
    assert "chain-3 (chain): unsolved" in capsys.readouterr().out
    assert run([*call, "--method", "idels"]) == 2
    assert "did you mean 'ideals'?" in capsys.readouterr().err
    assert run([*call, "--time-limit", "soon"]) == 2
    assert "time_limit" in capsys.readouterr().err
    plan = next((tmp_path / "plans").glob("chain-2.*"))
    plan.write_text(plan.read_text().replace("d[0]", "d[9]"))
    assert run([*call, "--audit", "--only", "chain-2"]) == 7
    assert capsys.readouterr().out.startswith("chain-2: the stored plan is not the one on record")
