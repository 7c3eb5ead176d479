"""The instances of planners that people use: read from specs with tables, and proved."""

from __future__ import annotations

from pathlib import Path

import pytest

import mtpp_dsl
from benchmarks.rules.comparison import RULES, Rule, stored, value
from benchmarks.rules.programmes import pipedream
from tests.planners import bottleneck, instances, least_of_chain, peers, write_spec

CHAINS = ("llama3-8b-prefill@home3", "gpt2-xl-prefill@home3", "mixtral-decode@home3", "llama3-8b-decode@dc4")


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("overlap", [False, True])
def test_a_chain_has_the_bottleneck_that_all_orders_of_devices_give(
    name: str, overlap: bool, data: Path, tmp_path: Path
) -> None:
    instance = instances(data)[name]
    path = write_spec(instance, tmp_path, overlap=overlap)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40
    found = mtpp_dsl.solve(mtpp_dsl.load(path), time_limit=60)
    assert found.status == "optimal"
    assert found.plan is not None
    assert found.cost is not None
    assert found.cost == pytest.approx(bottleneck(instance, found.plan.assignment.tolist(), overlap=overlap))
    assert found.cost == pytest.approx(least_of_chain(instance, overlap=overlap), rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("name", ["densenet121-op@home3", "gpt2-xl-prefill@2x4"])
def test_no_planner_has_a_better_plan(name: str, data: Path, tmp_path: Path) -> None:
    instance = instances(data)[name]
    found = mtpp_dsl.solve(mtpp_dsl.load(write_spec(instance, tmp_path)), time_limit=60)
    assert found.status == "optimal"
    assert found.cost is not None
    others = [bottleneck(instance, device) for device in peers(data, name).values()]
    assert others
    assert found.cost <= min(others) * (1 + 1e-9)


SAME = {"deepspeed-parameters": 27, "pipeedge": 15, "parallax-greedy": 22}
"""Instances on which a rule written again makes the stored plan, where that is not all of them."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.stored)
def test_rules_make_the_stored_plans(rule: Rule, data: Path) -> None:
    """Rules written again make the plans of the programs; where they differ, as the page says, none is far off."""
    given = instances(data)
    kept = {name: plan for name, plan in stored(data, rule.stored).items() if name in given}
    found = {name: rule.make(given[name]) for name in kept}
    assert sum(found[name] == plan for name, plan in kept.items()) == SAME.get(rule.stored, len(kept))
    if rule.stored == "pipeedge":
        for name, plan in kept.items():
            made = found[name]
            assert (made is None) == (plan is None)
            if made is not None and plan is not None:
                assert value(given[name], made, overlap=True) <= value(given[name], plan, overlap=True) * (1 + 1e-9)


def test_pipedream_has_no_plan_for_servers_of_different_sizes(data: Path) -> None:
    """Its levels have equally many devices; of others it has named devices that are not there."""
    instance = instances(data)["gpt2-xl-prefill@2x4"]
    here = [*range(4), 4, 5]
    unequal = {
        **instance,
        "devices": [instance["devices"][d] for d in here],
        "links": [[instance["links"][d][e] for e in here] for d in here],
    }
    assert pipedream(instance) is not None
    assert pipedream(unequal) is None
