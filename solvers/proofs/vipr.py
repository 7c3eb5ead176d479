"""Certificates ``leaves`` in the format VIPR 1.0 (cheung2017), which programs of others check, such as ``viprchk``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.leaves import Leaf, how_ordered, rows_below
from mtpp_dsl.solvers.proofs.leaves import leaves_of as checked_leaves
from mtpp_dsl.solvers.proofs.packed import unpacked
from mtpp_dsl.solvers.proofs.proof_reading import number
from mtpp_dsl.solvers.proofs.rows import Rows

__all__ = ["vipr_lines"]


def vipr_lines(problem: Problem, data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a proof that the rows below the target of a certificate have no solution.

    First the rows, then the bounds of variables as rows. Each leaf is a sum of rows and bounds under the assumptions
    that its branches make; two parts of a box together, without the assumption that parts them.

    Raises:
        Refused: the certificate has no tree over the rows of this problem, or a leaf proves nothing.
    """
    rows = rows_below(problem, number(data, "target"), ordered=how_ordered(data))
    return _Writer(rows, unpacked(data.get("tree"))).lines()


class _Writer:
    """Writes one proof.

    Attributes:
        derived: lines of constraints that follow from others, so far.
    """

    def __init__(self, rows: Rows, tree: object) -> None:
        self._rows, self._tree = rows, tree
        self._low = len(rows.rows)
        self._high = self._low + len(rows.names)
        self._first = self._high + len(rows.names)
        self.derived: list[str] = []

    def lines(self) -> Iterator[str]:
        rows, tree = self._rows, self._tree
        leaves = {leaf.number: leaf for leaf in checked_leaves(rows, tree)}
        assert isinstance(tree, list)
        self._derive(tree, leaves)
        whole = [str(v) for v in range(len(rows.names)) if (rows.low[v], rows.high[v]) == (0, 1)]
        yield "% The rows that every plan below the target keeps to, and a proof that they have no solution."
        yield "VER 1.0"
        yield f"VAR {len(rows.names)}"
        yield from (f"x{v}" for v in range(len(rows.names)))
        yield f"INT {len(whole)}"
        yield " ".join(whole)
        yield "OBJ min"
        yield "0"
        yield f"CON {self._first} {2 * len(rows.names)}"
        for number_, row in enumerate(rows.rows):
            yield f"R{number_} L {row.most} {len(row.terms)} " + " ".join(f"{v} {often}" for v, often in row.terms)
        yield from (f"L{v} G {value} 1 {v} 1" for v, value in enumerate(rows.low))
        yield from (f"H{v} L {value} 1 {v} 1" for v, value in enumerate(rows.high))
        yield "RTP infeas"
        yield "SOL 0"
        yield f"DER {len(self.derived)}"
        yield from self.derived

    def _derive(self, tree: Sequence[object], leaves: Mapping[int, Leaf]) -> None:
        """Derive a contradiction for each box, those of its two parts first."""
        assumed: list[list[int]] = []  # of each open box the variable, then number of assumption and proof of its parts
        fixed: dict[int, int] = {}
        count = 0
        for item in tree:
            if not isinstance(item, list):
                assert isinstance(item, int)
                assumed.append([item])
                self._assume(assumed[-1], fixed, 0)
                continue
            proof = self._refute(leaves[count], fixed)
            count += 1
            while assumed:
                assumed[-1].append(proof)
                if len(assumed[-1]) == 3:
                    self._assume(assumed[-1], fixed, 1)
                    break
                variable, zero, proof_zero, one, proof_one = assumed.pop()
                del fixed[variable]
                proof = self._add(f"G 1 0 {{ uns {proof_zero} {zero} {proof_one} {one} }} -1")

    def _assume(self, box: list[int], fixed: dict[int, int], value: int) -> None:
        box.append(self._add(f"{'LG'[value]} {value} 1 {box[0]} 1 {{ asm }} -1"))
        fixed[box[0]] = box[-1]

    def _add(self, constraint: str) -> int:
        self.derived.append(f"D{len(self.derived)} {constraint}")
        return self._first + len(self.derived) - 1

    def _refute(self, leaf: Leaf, assumed: Mapping[int, int]) -> int:
        """Derive ``0 >= 1`` from the rows of a leaf, bounds and assumptions."""
        rows = self._rows
        total: dict[int, Fraction] = {}
        least = Fraction(0)
        parts: dict[int, Fraction] = {}
        for row, multiplier in leaf.multipliers.items():
            often = Fraction(multiplier)
            parts[row] = -often
            least -= often * rows.rows[row].most
            for variable, count in rows.rows[row].terms:
                total[variable] = total.get(variable, Fraction(0)) + often * count
        for variable, often in total.items():
            source, at = self._bound_of(variable, often > 0, leaf.fixed.get(variable), assumed)
            if often:
                parts[source] = parts.get(source, Fraction(0)) + often
                least += often * at
        if least <= 0:
            raise Refused(f"leaf {leaf.number} of the certificate proves nothing")
        terms = " ".join(f"{source} {often / least}" for source, often in parts.items())
        return self._add(f"G 1 0 {{ lin {len(parts)} {terms} }} -1")

    def _bound_of(self, variable: int, low: bool, fixed: int | None, assumed: Mapping[int, int]) -> tuple[int, int]:
        """Return which constraint bounds a variable in a box, from below if *low*, and its bound."""
        if fixed is not None and (fixed == 1) == low:
            return assumed[variable], fixed
        if low:
            return self._low + variable, self._rows.low[variable]
        return self._high + variable, self._rows.high[variable]
