"""Which of the bounds that are reported a run keeps."""

from __future__ import annotations

from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.plans.result import Bound, Certificate

CERTIFIED = Bound(2.0, "simple", "checked", "mtpp", certificate=Certificate("shares"))
CLAIMED = Bound(2.0 * (1 + 1e-11), "exact", "trusted", "highs")


def test_a_bound_that_can_be_proved_again_stays_where_rounding_is_all_that_is_higher() -> None:
    """A model's own first bound had taken the place of the same one with a certificate."""
    progress = Progress()
    progress.report_bound(CERTIFIED)
    progress.report_bound(CLAIMED)
    assert progress.bound is CERTIFIED
    higher = Bound(2.001, "exact", "trusted", "highs")
    progress.report_bound(higher)
    assert progress.bound is higher


def test_a_proof_takes_the_place_of_a_claim_as_high_and_no_bound_in_the_log_falls() -> None:
    """The log counts what was known to hold, whoever said so."""
    progress = Progress()
    progress.report_bound(CLAIMED)
    progress.report_bound(CERTIFIED)
    assert progress.bound is CERTIFIED
    assert [entry.bound for entry in progress.log] == [CLAIMED.cost]
