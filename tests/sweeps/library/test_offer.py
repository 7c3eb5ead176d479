"""Answers that are offered to a library: the better takes the place of the old, the wrong is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.core.base import writing
from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.sweeps.library import files
from mtpp_dsl.sweeps.library.auditing import audit
from mtpp_dsl.sweeps.library.collection import Library
from mtpp_dsl.sweeps.library.improving import Offer, offered, sentence_of
from mtpp_dsl.sweeps.library.judging import JudgedBound
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.session import renew
from mtpp_dsl.sweeps.library.store import RecordChange
from mtpp_dsl.sweeps.library.submitting import submit
from tests.sweeps.library.small import FOUND, SPEC, answer, small_library

NAME = "chain-2"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return small_library(tmp_path)


def test_a_better_answer_takes_the_place_of_a_worse_one_and_never_the_other_way(library: Library) -> None:
    bad = answer(library, NAME, "single-device")
    good = answer(library, NAME)
    first = offered(library, NAME, bad, FOUND)
    assert first.better
    assert first.after.status == "open"
    second = offered(library, NAME, good, FOUND)
    assert second.after.status == "optimal"
    assert second.after.value == good["objective"]["value"]
    again = offered(library, NAME, bad, FOUND)
    assert not again.better
    assert library.records.read() == {NAME: second.after}
    assert [*audit(library, second.after)] == []


def test_a_certificate_that_is_too_long_to_be_stored_proves_nothing_again(tmp_path: Path) -> None:
    """Its bound is kept as one that is checked, until a certificate is offered that fits."""
    library = small_library(tmp_path)
    found = answer(library, NAME, "anchor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "PLAIN", 0)
        patch.setattr(files, "MOST", 0)
        kept = offered(library, NAME, found, FOUND).after
    assert (kept.proof, kept.certificate_sha256) == ("checked", "")
    assert kept.bound == found["bound"]["value"]
    assert [*audit(library, kept)] == []
    assert offered(library, NAME, found, FOUND).after.proof == "certificate"  # which is better founded, and fits


def test_that_there_is_no_plan_is_recorded_and_contradicts_every_plan(tmp_path: Path) -> None:
    """It is a bound that no plan can be as good as; counting shows it again here."""
    library = small_library(tmp_path)
    planned = answer(library, NAME)
    (tmp_path / "chain.mtpp").write_text(SPEC + "constraint pin v[0] on d[0]\nconstraint forbid v[0] on d[0]\n")
    library = Library.open(tmp_path)
    refused = answer(library, NAME)
    change = offered(library, NAME, refused, FOUND)
    assert change.after.status == "infeasible"
    assert change.after.proof == "checked"
    assert sentence_of(change) == "chain-2: no plan by ideals, checked"
    assert library.records.read()[NAME] == change.after
    assert not offered(library, NAME, refused, FOUND).better
    with pytest.raises((VerificationError, UsageError)):
        offered(library, NAME, planned, FOUND)
    (tmp_path / "chain.mtpp").write_text(SPEC)
    library = Library.open(tmp_path)
    known = offered(library, NAME, planned, FOUND).after
    with pytest.raises(VerificationError, match="none is better than inf"):
        Offer(replace(known), None, JudgedBound(inf, "ideals", "trusted", "highs", "")).against(known, FOUND)


def test_a_certificate_takes_the_place_of_a_solvers_word_where_both_show_an_optimum() -> None:
    """A millionth lower, for the rounding that it keeps to; and never the other way round."""
    word = BestKnown("p", value=1.0, bound=1.0 - 2e-9, proof="trusted")
    firm = JudgedBound(1.0 - 5e-7, "configuration", "certificate", "highs", "{}")
    change = Offer(replace(word), None, firm).against(word, FOUND)
    assert (change.after.bound, change.after.proof, change.after.status) == (1.0 - 5e-7, "certificate", "optimal")
    claim = JudgedBound(1.0 - 2e-9, "exact", "trusted", "highs", "")
    assert not Offer(replace(word), None, claim).against(change.after, FOUND).better
    lower = JudgedBound(1.0 - 5e-6, "configuration", "certificate", "highs", "{}")
    assert not Offer(replace(word), None, lower).against(word, FOUND).better


def test_what_has_become_better_is_told_with_its_unit_and_never_looks_the_same() -> None:
    before = BestKnown("p", value=0.00111748, unit="s")
    told_of = [
        sentence_of(RecordChange(before, replace(before, value=value, found_by="heft"), plan=""))
        for value in (1e-3, 0.001117479)
    ]
    assert told_of[0] == "p: value 1.1175 ms -> 1 ms by heft"
    assert told_of[1] == "p: value 0.00111748 s -> 0.001117479 s by heft"


def _costlier(said: dict[str, Any]) -> None:
    said["objective"]["value"] *= 0.9


def _moved(said: dict[str, Any]) -> None:  # acyclic no longer: the ends of the chain on one device
    nodes = list(said["plan"]["assignment"])
    said["plan"]["assignment"][nodes[-1]] = said["plan"]["assignment"][nodes[0]]


def _proved(said: dict[str, Any]) -> None:
    said["bound"]["value"] *= 1.2


@pytest.mark.parametrize("damage", [_costlier, _moved, _proved])
def test_a_wrong_answer_is_refused_and_changes_nothing(
    library: Library, damage: Callable[[dict[str, Any]], None]
) -> None:
    good = answer(library, NAME)
    offered(library, NAME, answer(library, NAME, "single-device"), FOUND)
    before = library.records.read()
    damage(good)
    with pytest.raises(VerificationError):
        offered(library, NAME, good, FOUND)
    assert library.records.read() == before


def test_a_bound_that_an_older_plan_beats_is_refused(library: Library) -> None:
    offered(library, NAME, answer(library, NAME), FOUND)
    bound = answer(library, NAME, "single-device")
    bound["bound"] = {**answer(library, NAME)["bound"], "value": bound["objective"]["value"] * 0.999}
    with pytest.raises(VerificationError, match="none is better than"):
        offered(library, NAME, bound, FOUND)


def test_a_false_certificate_is_refused(library: Library) -> None:
    said = answer(library, NAME, "simple")
    said["bound"]["value"] *= 1.01
    with pytest.raises(VerificationError, match="not proved"):
        offered(library, NAME, said, FOUND)


def test_a_bound_with_a_certificate_is_kept_with_it_and_proved_again(library: Library) -> None:
    record = offered(library, NAME, answer(library, NAME, "simple"), FOUND).after
    assert (record.proof, record.value, record.status) == ("certificate", None, "bound")
    assert [*audit(library, record)] == []
    path = next((library.folder / "certificates").glob("*.json"))
    path.write_text(path.read_text().replace("0", "1"))
    assert [*audit(library, record)] == ["the stored certificate is not the one on record: their hashes differ"]


@pytest.mark.parametrize("at", ["the first file", "the table", "never"])
def test_a_crash_at_any_moment_loses_nothing(library: Library, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    offered(library, NAME, answer(library, NAME, "single-device"), FOUND)
    before = library.records.read()[NAME]
    good = answer(library, NAME)

    class Crash(BaseException):
        pass

    def crash(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        if at == "the first file":
            patched.setattr("mtpp_dsl.sweeps.library.files.write_bytes", crash)
        elif at == "the table":
            patched.setattr("mtpp_dsl.sweeps.library.store.write_text", crash)
        else:
            patched.setattr("mtpp_dsl.sweeps.library.files.settle", crash)
        with pytest.raises(Crash):
            offered(library, NAME, good, FOUND)
    library.records.mend()
    after = library.records.read()[NAME]
    assert [*audit(library, after)] == []
    assert (after == before) is (at != "never")
    assert library.records.plan(NAME) is not None
    assert not list(library.folder.rglob("*.new"))
    offered(library, NAME, good, FOUND)
    assert [*audit(library, library.records.read()[NAME])] == []


def test_a_full_disk_is_said_and_changes_nothing(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(library, NAME, answer(library, NAME, "single-device"), FOUND)
    before = (library.folder / "best.csv").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        offered(library, NAME, answer(library, NAME), FOUND)
    assert (library.folder / "best.csv").read_bytes() == before


def test_a_changed_problem_keeps_only_what_still_holds(library: Library) -> None:
    offered(library, NAME, answer(library, NAME), FOUND)
    (library.folder / "chain.mtpp").write_text(SPEC.replace("bandwidth = 1", "bandwidth = 0.5"))
    changed = Library.open(library.folder)
    old = changed.records.read()[NAME]
    assert [*audit(changed, old)] == ["the problem has changed since: its spec, or a file that this reads, is another"]
    new = renew(changed, NAME)
    assert new.value is not None
    assert old.value is not None
    assert new.value > old.value
    assert new.bound is None
    assert [*audit(changed, new)] == []


def test_a_submitted_plan_needs_the_name_of_its_problem(library: Library, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(answer(library, NAME)["plan"]["assignment"]))
    with pytest.raises(UsageError, match="--only"):
        submit(library, plan)
    record = submit(library, plan, [NAME]).after
    assert (record.bound, record.found_by) == (None, "submitted")
    assert [*audit(library, record)] == []


def test_a_submitted_answer_is_known_by_its_spec_and_its_bound_counts_only_with_a_certificate(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer(library, "chain-3")))
    record = submit(library, path).after
    assert (record.name, record.status) == ("chain-3", "plan")
    path.write_text(json.dumps(answer(library, "chain-3", "simple")))
    record = submit(library, path).after
    assert (record.status, record.proof) == ("open", "certificate")
    (library.folder / "chain.mtpp").write_text(SPEC.replace("seed = 3", "seed = 4"))
    with pytest.raises(UsageError, match="none of the problems"):
        submit(Library.open(library.folder), path)


def test_what_stands_beside_a_submitted_plan_is_no_bound(library: Library, tmp_path: Path) -> None:
    """A plan alone may say that it is proved optimal, in whatever form: nobody has checked that."""
    path, good = tmp_path / "plan.json", answer(library, NAME)
    claims: list[dict[str, Any]] = [
        {"value": good["objective"]["value"], "method": "milp", "proof": "certificate"},
        {"value": None, "method": "simple", "proof": "certificate"},
        {"value": "x", "method": "simple"},
        {"certificate": {}},
        {},
    ]
    for bound in claims:
        path.write_text(json.dumps({**good["plan"], "bound": bound}))
        record = submit(library, path, [NAME]).after
        assert (record.status, record.bound, record.proof) == ("plan", None, "")
    path.write_text(json.dumps({**good["plan"], "objective": {"value": "x"}}))
    with pytest.raises(UsageError, match="'x', which is no number"):
        submit(library, path, [NAME])


def test_a_proof_is_a_certificate_only_if_it_was_proved_again_here(library: Library) -> None:
    said = answer(library, NAME)
    said["bound"] |= {"proof": "certificate", "certificate": None}
    assert offered(library, NAME, said, FOUND).after.proof == "trusted"


def test_no_limit_to_the_throughput_is_no_bound(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    (tmp_path / "chain.mtpp").write_text(SPEC.replace("minimize bottleneck", "maximize throughput"))
    library = Library.open(tmp_path)
    said = answer(library, NAME, "simple")
    said["bound"]["value"] = None
    assert offered(library, NAME, said, FOUND).after.bound is None
    assert library.records.read()[NAME].status == "unsolved"


@pytest.mark.parametrize("text", ["[]", "{}", '{"kind": 1}', "{"])
def test_a_damaged_certificate_is_said_even_where_its_hash_is_right(library: Library, text: str) -> None:
    record = offered(library, NAME, answer(library, NAME, "simple"), FOUND).after
    next((library.folder / "certificates").glob("*.json")).write_text(text)
    (said,) = audit(library, replace(record, certificate_sha256=files.sha256_of(text)))
    assert f"the certificate of {NAME}" in said


@pytest.mark.parametrize("name", ["../../out/kept", "/kept", ".hidden", "a/b", "a\\\\b", "\U0001d7d8" * 60])
def test_names_of_problems_lead_to_no_file_outside_the_library(tmp_path: Path, name: str) -> None:
    """Files of plans are called like their problems, and those of a wrong hash are removed."""
    small_library(tmp_path)
    table = tmp_path / "problems" / "small.toml"
    table.write_text(table.read_text().replace("chain-{k}", f"{name}-{{k}}"))
    with pytest.raises(UsageError, match="cannot be called"):
        Library.open(tmp_path)
