"""Check ``constraint cache uniform``: devices have equal numbers of blocks, of plans with one device for each node."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.core.constraints import Constraint, Copies, Memory, Repeat, Replicate, Shard, StageMemory
from mtpp_dsl.core.errors import ConstraintError
from mtpp_dsl.core.problem.objective import Objective

SEVERAL = (Copies, Repeat, Replicate, Shard, StageMemory)
"""Constraints under which a node is on several devices, or what a device keeps depends on more than its nodes."""


def check_blocks(constraints: Sequence[Constraint], objectives: Sequence[Objective]) -> None:
    """Check that caches are cut into whole blocks, once, and that devices have blocks of their own nodes.

    Raises:
        ConstraintError: otherwise; says what does not go together.
    """
    rules = [rule for rule in constraints if isinstance(rule, Memory) and rule.pool is not None]
    if not rules:
        return
    rule = rules[0]
    pool = rule.pool
    assert pool is not None
    if rules[1:]:
        raise ConstraintError(f"constraint {rule} says already how caches are cut into blocks", rules[1].origin)
    if rule.devices is not None:
        raise ConstraintError("constraint cache uniform is about all devices: leave the devices out", rule.origin)
    if pool.block < 1 or (pool.tokens is not None and (pool.tokens < 1 or pool.tokens % pool.block)):
        raise ConstraintError(
            f"caches are for one block of tokens or more, and for whole blocks; {pool.tokens} tokens are not, in "
            f"blocks of {pool.block}",
            rule.origin,
        )
    several = next((other for other in constraints if isinstance(other, SEVERAL)), None)
    if several is not None:
        raise ConstraintError(
            f"constraint cache uniform counts what each device holds of its own nodes, and constraint {several} does "
            "not leave each node on one device: the two do not go together",
            rule.origin,
        )
    if any(objective.batch is not None for objective in objectives):
        raise ConstraintError(
            "constraint cache uniform is about requests that are served, and a batch has none: say 'constraint memory'",
            rule.origin,
        )
