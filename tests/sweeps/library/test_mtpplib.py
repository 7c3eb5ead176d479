"""mtpplib itself: what is stored holds. A sample in ``make test``, all plans and certificates in ``make test-all``."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mtpp_dsl.core.text.source import Source
from mtpp_dsl.sweeps.library.auditing import audit
from mtpp_dsl.sweeps.library.collection import Library, certificate_of, current
from mtpp_dsl.sweeps.library.record import BestKnown
from tests import amount

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "mtpplib"
SAMPLE = 50
QUICK_NODES = 250
"""In the sample are problems of up to so many nodes; in test-all those of any size."""
QUICK_PROOFS = ("batches", "count", "path-hull", "routes", "shares", "windows")
"""Kinds of certificates that are proved again in the sample, as each takes a moment; in test-all every kind."""


@cache
def library() -> Library:
    return Library.open(FOLDER)


@cache
def records() -> dict[str, BestKnown]:
    return library().records.read()


def sample() -> list[str]:
    """Return names of all groups in turn, the same in every run; of long runs, all that can be read here."""
    known = [name for name in sorted(library().runs) if name in records()]
    if amount.CHOSEN == "all":
        return known
    turns: Counter[str] = Counter()
    order: list[tuple[int, str, str]] = []
    for name in sorted(known, key=lambda name: records()[name].graph_sha256):  # as good as drawn
        if records()[name].nodes <= QUICK_NODES:
            group = records()[name].group
            order.append((turns[group], group, name))
            turns[group] += 1
    return [name for *_, name in sorted(order)[:SAMPLE]]


def wrong(names: list[str]) -> Iterator[str]:
    for name in names:
        certificate = certificate_of(library(), records()[name]) or {}
        proof = amount.CHOSEN == "all" or certificate.get("kind") in QUICK_PROOFS
        yield from (f"{name}: {line}" for line in audit(library(), records()[name], proof=proof))


def test_what_is_stored_for_a_sample_holds() -> None:
    names = sample()
    kinds = {(certificate_of(library(), records()[name]) or {}).get("kind") for name in names}
    assert len(names) >= SAMPLE
    assert kinds & {*QUICK_PROOFS}
    assert len({records()[name].group for name in names}) >= 20
    assert [*wrong(names)] == []


def test_every_problem_is_as_it_was_when_it_was_recorded() -> None:
    assert len(library().runs) >= 500
    assert [name for name in library().runs if name not in records() or not current(library(), records()[name])] == []


def test_no_bound_says_that_there_is_no_plan_that_is_stored() -> None:
    crossed = [
        record.name
        for record in records().values()
        if record.value is not None and record.bound is not None and record.crossed(record.value, record.bound, share=0)
    ]
    assert crossed == []


LOOSER = {"rule": ["free", "contiguous", "acyclic"], "order": ["free", "contiguous", "acyclic"], "q": [2, 1]}
"""Values of params by which problems differ that have the same graph, those with more plans first."""


def test_what_allows_more_plans_has_no_bound_beyond_a_plan_of_what_allows_fewer() -> None:
    families: dict[object, list[tuple[int, BestKnown]]] = {}
    for name, run in library().runs.items():
        for param in LOOSER.keys() & run.params.keys():
            if run.params[param] in LOOSER[param]:
                others = tuple(sorted((other, str(value)) for other, value in run.params.items() if other != param))
                rank = LOOSER[param].index(run.params[param])
                families.setdefault((run.spec, param, others), []).append((rank, records()[name]))
    pairs = [
        (one, other)
        for members in families.values()
        for rank, one in members
        for place, other in members
        if rank < place and one.bound is not None and other.value is not None
    ]
    assert len(pairs) > 50
    assert [(one.name, other.name) for one, other in pairs if one.crossed(other.value or 0.0, one.bound or 0.0)] == []


def test_every_file_belongs_to_a_record_and_all_is_small() -> None:
    for part, sha256 in (("plans", "plan_sha256"), ("certificates", "certificate_sha256")):
        names = [path.name.removesuffix(".xz").removesuffix(".json") for path in (FOLDER / part).iterdir()]
        assert [name for name in names if not getattr(records().get(name), sha256, "")] == []
        assert len(names) == len(set(names))
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if "sqlite" not in path.name) < 6e6


def test_decoders_have_the_parameters_that_their_makers_publish() -> None:
    with (FOLDER / "specs" / "models.csv").open(encoding="utf-8") as file:
        models = list(csv.DictReader(file))
    assert len(models) >= 30
    for row in models:
        m = {name: float(value) for name, value in row.items() if name != "name"}
        attention = m["hidden"] * m["head"] * (2 * m["heads"] + 2 * m["groups"])
        feed = m["experts"] * (2 + m["gated"]) * m["hidden"] * m["ffn"]
        total = m["layers"] * (attention + feed) + (2 - m["tied"]) * m["vocabulary"] * m["hidden"]
        assert total / 1e9 == pytest.approx(m["billions"], rel=0.01), row["name"]


def test_the_specs_are_formatted() -> None:
    from mtpp_dsl.language.syntax.layout import format_spec

    for path in sorted((FOLDER / "specs").glob("*.mtpp")):
        text = path.read_text(encoding="utf-8")
        assert format_spec(Source(path.name, text)) == text, path.name
