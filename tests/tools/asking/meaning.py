"""Instances with other constraints or machines: what an explanation speaks of, as the fuzzer means it."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from tests.tools.fuzzer.instance import Instance, Row, Rule

__all__ = ["Meant"]


class Meant:
    """An instance beside the problem that was read from it.

    Attributes:
        inst: what the spec means.
        problem: as it was read.
        node, device: [number in the problem] the number in the instance.
    """

    def __init__(self, inst: Instance, problem: Any) -> None:
        self.inst, self.problem = inst, problem
        names, devices = [node.name for node in inst.nodes], [device.name for device in inst.devices]
        self.node = [names.index(name) for name in problem.graph.names]
        self.device = [devices.index(device.name) for device in problem.devices]

    def under(self, constraints: Iterable[Any], lifted: Collection[int] = ()) -> Instance:
        """Return the instance with these constraints of the problem alone.

        Args:
            constraints: of the problem, by its own numbers.
            lifted: devices, by the problem's numbers, that support all kinds.
        """
        rules, rows = [], []
        for one in constraints:
            if type(one).__name__ == "Linear":
                rows.append(self._row(one))
            else:
                rules.append(self._rule(one))
        free = {self.device[d] for d in lifted}
        devices = [replace(x, unsupported=()) if d in free else x for d, x in enumerate(self.inst.devices)]
        return replace(self.inst, rules=rules, rows=rows, devices=devices)

    def _rule(self, one: Any) -> Rule:
        on = getattr(one, "devices", None)
        return Rule(
            type(one).__name__,
            tuple(sorted(self.node[v] for v in getattr(one, "nodes", ()))),
            None if on is None else tuple(sorted(self.device[d] for d in on)),
            getattr(one, "parts", "both"), getattr(one, "most", 0), getattr(one, "sync", None),
            getattr(one, "sizes", ()), getattr(one, "by", ""), getattr(one, "scope", "both"),
        )  # fmt: skip

    def _row(self, one: Any) -> Row:
        terms = {}
        for decision, weight in one.terms:
            at = [self.node[decision.node]] if hasattr(decision, "node") else []
            at += [self.device[decision.device]] if hasattr(decision, "device") else []
            terms[(type(decision).__name__.lower(), *at)] = float(weight)
        return Row(terms, one.sense, float(one.rhs))  # type: ignore[arg-type]

    def with_rule(self, rule: Rule) -> Instance:
        """Return the instance with one more rule."""
        return replace(self.inst, rules=[*self.inst.rules, rule])

    def faster(self) -> Instance | None:
        """Return the instance with twice the bandwidth; None where the times of transfers are given."""
        inst = self.inst
        if inst.carried is not None:
            return None
        wide = [[2 * x for x in row] for row in inst.bandwidths]
        between = None if inst.between is None else 2 * inst.between
        return replace(inst, bandwidth=2 * inst.bandwidth, between=between, bandwidths=wide)

    def roomier(self) -> Instance:
        """Return the instance with a quarter more memory."""
        devices = [x if x.memory is None else replace(x, memory=1.25 * x.memory) for x in self.inst.devices]
        return replace(self.inst, devices=devices)

    def larger(self, like: int, peers: Sequence[int], name: str) -> Instance | None:
        """Return the instance with one more device; None where what that means is not plain.

        Args:
            like: the device that it is like, by the instance's numbers.
            peers: those of its type, *like* among them.
            name: of the new one.
        """
        inst = copy.deepcopy(self.inst)
        spoken = [term for row in inst.rows for term in row.terms if term[0] in ("on", "load")]
        if spoken or (inst.network == "links" and len(peers) == 1):
            return None
        k, old = inst.k, inst.devices[like].name
        inst.devices.append(replace(inst.devices[like], name=name))
        for node in inst.nodes:
            if old in node.times:
                node.times[name] = node.times[old]
        inst.own_times |= {(v, k): t for (v, d), t in inst.own_times.items() if d == like}
        inst.batch_times |= {(v, k, p): t for (v, d, p), t in inst.batch_times.items() if d == like}
        for rule in inst.rules:
            if rule.devices is None:
                continue
            named = like in rule.devices
            if (set(peers) <= set(rule.devices) and len(peers) > 1) or (named and rule.kind not in ("Pin", "Forbid")):
                rule.devices = (*rule.devices, k)
        if inst.network == "links":
            tables = list(inst.carried.values()) if inst.carried is not None else [inst.bandwidths, inst.latencies]
            others = [p for p in peers if p != like]
            widest = max(others, key=lambda p: (inst.bandwidths[like][p] if inst.carried is None else 0.0, p))
            for table in tables:
                for row in table:
                    row.append(row[like])
                table.append(list(table[like]))
                table[k][k] = 0.0
                table[like][k], table[k][like] = table[like][widest], table[widest][like]
        return inst
