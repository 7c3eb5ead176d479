"""Constraints of a builder: those with a name of their own, and rows over decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.language.algebra import Row
from mtpp_dsl.language.builder.builder_calls import BuilderCall, BuilderStatement, says
from mtpp_dsl.language.words.written import name as checked_name
from mtpp_dsl.language.words.written import named, option_list, quoted, value

Names = str | Iterable[str]
"""A node, a device or a family by name, or several."""


class Rules:
    """Methods that add constraints."""

    _statements: list[BuilderStatement]
    _call: BuilderCall | None
    _rows: int

    def _statement(self, text: str) -> None:
        self._statements.append(BuilderStatement(text, self._call))

    def _rule(self, rule: str, devices: Names | None = None, rest: str = "", **options: Any) -> Self:
        on = "" if devices is None else f" on {named(devices)}"
        given = option_list(options, words=("parts", "share", "sync", "scope", "schedule", "recompute", "empty"))
        self._statement(f"constraint {rule}{on}{rest}{given}")
        return self

    @says
    def constraint(self, text: str) -> Self:
        """Add a constraint in the language's words: ``"pin a on gpu[0]"``, ``"cap: load(gpu[0]) <= 3 ms"``."""
        self._statement(f"constraint {text}")
        return self

    @says
    def add(
        self,
        rows: Row | Iterable[Row] | Mapping[object, Row],
        label: str | None = None,
        *,
        penalty: object = None,
    ) -> Self:
        """Add a row that :mod:`mtpp_dsl.algebra` has made, or several.

        >>> from mtpp_dsl import Builder
        >>> from mtpp_dsl.algebra import load, on
        >>> builder = Builder()
        >>> builder = builder.add(sum(on(v, "gpu[0]") for v in ("a", "b")) <= 1, "experts")
        >>> builder = builder.add({d: load(d) <= "3 ms" for d in ("gpu[0]", "gpu[1]")}, "cap", penalty=2)

        Args:
            rows: a row; several, which are under one label; or a mapping, whose keys tell them apart: ``cap[gpu[0]]``.
            label: what results call it; "row1", "row2" and so on unless given.
            penalty: what a unit of violation costs: the plan may break the row, and pays. Without it, it must not.
        """
        if label is None:
            self._rows += 1
            label = f"row{self._rows}"
        label, paid = checked_name(label), option_list({"penalty": penalty})
        if isinstance(rows, Mapping):
            for key, row in rows.items():
                body = _body([row])
                self._statement(f"constraint {label}: forall _ in [{quoted(str(key))}]: {body}{paid}")
            return self
        self._statement(f"constraint {label}: {_body([rows] if isinstance(rows, Row) else [*_rows(rows)])}{paid}")
        return self

    @says
    def acyclic(
        self,
        *,
        parts: Literal["both", "forward"] | None = None,
        groups: Literal["ordered", "free"] | None = None,
    ) -> Self:
        """Let the quotient graph have no cycle; that of groups of devices, too, unless they are free."""
        return self._rule("acyclic", parts=parts, groups=groups)

    @says
    def contiguous(self, devices: Names | None = None, *, parts: Literal["both", "forward"] | None = None) -> Self:
        """Let the nodes of each device, or of these, be convex."""
        return self._rule("contiguous", devices, parts=parts)

    @says
    def uniform_cache(self, *, tokens: object = None, block: object = None) -> Self:
        """Let all devices have as many blocks for their caches as the fullest holds: ``constraint cache uniform``.

        The ``cache`` of each node is for so many *tokens*, in blocks of *block* tokens.
        """
        return self._rule("cache uniform", tokens=tokens, block=block)

    @says
    def fits_memory(
        self,
        devices: Names | None = None,
        *,
        schedule: Literal["gpipe", "1f1b", "pipedream", "2bw"] | None = None,
        microbatches: object = None,
        recompute: Literal["never", "always", "free"] | None = None,
    ) -> Self:
        """Let the memory of the nodes on each device, or on these, fit into its memory: ``constraint memory``.

        With a schedule, let what a stage of the pipeline keeps fit: of so many microbatches, at most.
        """
        return self._rule("memory", devices, schedule=schedule, microbatches=microbatches, recompute=recompute)

    @says
    def colocate(self, *nodes: str, by: Literal["color", "kind", "label"] | None = None) -> Self:
        """Let nodes share a device; or those of one color, kind or label."""
        if (by is None) == (not nodes):
            raise UsageError("give nodes, or by, such as colocate(by='color')")
        return self._rule(f"colocate by {checked_name(by)}" if by is not None else f"colocate {named(nodes)}")

    @says
    def separate(self, *nodes: str) -> Self:
        """Let no two of the nodes share a device."""
        return self._rule(f"separate {named(nodes)}")

    @says
    def pin(self, nodes: Names, devices: Names) -> Self:
        """Let each of the nodes be on one of the devices."""
        return self._rule(f"pin {named(nodes)}", devices)

    @says
    def forbid(self, nodes: Names, devices: Names) -> Self:
        """Let none of the nodes be on any of the devices."""
        return self._rule(f"forbid {named(nodes)}", devices)

    @says
    def subgraphs(self, most: object, devices: Names | None = None) -> Self:
        """Let each device, or these, run at most so many contiguous pieces."""
        return self._rule(f"subgraphs at most {value(most, 'most')}", devices)

    @says
    def exclusive_links(self) -> Self:
        """Let transfers that leave, or reach, the same device not overlap."""
        return self._rule("exclusive links")

    @says
    def batch_sizes(self, sizes: Iterable[int], devices: Names | None = None) -> Self:
        """Let devices run batches of these sizes only."""
        return self._rule("batch", devices, f" in {value([*sizes])}")

    @says
    def repeat(self, up_to: object, devices: Names | None = None) -> Self:
        """Let a node run up to so many batches on each device, or on these."""
        return self._rule(f"repeat up to {value(up_to, 'up_to')}", devices)

    @says
    def replicate(self, devices: Names, up_to: object, *, sync: Literal["weights", "none"] | None = None) -> Self:
        """Let a stage on one of the devices run on up to so many of them."""
        return self._rule(f"replicate {named(devices)} up to {value(up_to, 'up_to')}", sync=sync)

    @says
    def shard(self, devices: Names, by: Iterable[int], *, speedup: Mapping[int, float] | str | None = None) -> Self:
        """Let the nodes of a stage on one of the devices be split over so many of them, each of *by*.

        Args:
            devices: of which groups are made.
            by: how many devices a group may have.
            speedup: what the work is divided by, by the number of devices; or the name of a function of the spec.
        """
        law = ""
        if isinstance(speedup, str):
            law = f" (speedup = {checked_name(speedup)})"
        elif speedup is not None:
            pairs = ", ".join(f"{value(t)}: {value(faster)}" for t, faster in speedup.items())
            law = f" (speedup = {{{pairs}}})"
        return self._rule(f"shard {named(devices)} by {value([*by])}{law}")

    @says
    def copies(self, up_to: object, *, share: Literal["pipelines", "stages", "ranges", "any"] | None = None) -> Self:
        """Let a plan be several routes that share the inputs, no node on more than so many devices."""
        return self._rule(f"copies up to {value(up_to, 'up_to')}", share=share)

    @says
    def robust(self, up_to: object, *, deviation: object | None = None) -> Self:
        """Let loads count that up to so many nodes take longer, by this share of their times unless they say more."""
        return self._rule(f"robust up to {value(up_to, 'up_to')}", deviation=deviation)

    @says
    def stages(self, devices: Names | None = None, *, empty: Literal["allowed", "never"] | None = None) -> Self:
        """Let data flow along the devices as they are declared, or along these, in this order, and never back.

        Args:
            devices: in the order of the pipeline; a family stands for its members by number.
            empty: whether a device may be without a node; "allowed" unless given.
        """
        return self._rule("stages", devices, empty=empty)

    @says
    def break_symmetry(
        self, by: Literal["tasks", "batches", "time"], *, scope: Literal["within", "between", "both"] | None = None
    ) -> Self:
        """Order equal devices, which only speeds up the search."""
        return self._rule(f"break symmetry by {checked_name(by)}", scope=scope)


def _rows(rows: object) -> Iterable[Row]:
    if not isinstance(rows, Iterable) or isinstance(rows, str):
        raise UsageError(f"{rows!r:.80} is no row: compare expressions of mtpp_dsl.algebra by <=, >= or ==")
    return rows


def _body(rows: list[Row]) -> str:
    if not rows:
        raise UsageError("there are no rows in this list")
    wrong = next((row for row in rows if not isinstance(row, Row)), None)
    if wrong is not None:
        raise UsageError(f"{wrong!r:.80} is no row: compare expressions of mtpp_dsl.algebra by <=, >= or ==")
    return " and ".join(row.__mtpp__() for row in rows)
