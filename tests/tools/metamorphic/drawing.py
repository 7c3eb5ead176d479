"""Random draws of graphs, devices and memories, written as statements."""

from __future__ import annotations

from random import Random
from typing import TypeVar

__all__ = ["Draw"]

T = TypeVar("T")


class Draw:
    """Statements that have been drawn so far.

    Attributes:
        random: all draws are from it.
        most: the largest number of nodes.
        lines: the statements.
        n: number of nodes.
        edges: pairs of nodes.
        names: of the devices.
        layers: whether nodes are called as the layers of a model.
    """

    def __init__(self, random: Random, most: int) -> None:
        self.random, self.most = random, most
        self.lines: list[str] = []
        self.n = 0
        self.edges: list[tuple[int, int]] = []
        self.names: list[str] = []
        self.layers = False
        self.takes = 0.0
        self.weights = random.choice(
            [(1,), (1, 2, 3), (0.1, 0.2, 0.3), (0, 1, 2, 5), (0, 0, 1, 7), (1, 10, 100), tuple(range(1, 30))]
        )

    def of(self, *values: T) -> T:
        """Return one of the values."""
        return self.random.choice(values)

    def often(self, share: float) -> bool:
        """Return true in this share of all calls."""
        return self.random.random() < share

    def add(self, line: str) -> None:
        """Add a statement."""
        self.lines.append(line)

    def node(self, v: int) -> str:
        """Return the name of a node, as statements have it."""
        return f'"layer[{v}]"' if self.layers else f"v{v}"

    def rate(self) -> float:
        """Return a bandwidth: tensors take little time, about as long as nodes, or longer."""
        return self.of(0.5, 1, 1, 4, 20, 1000)

    def limit(self) -> float:
        """Return a limit of loads: tight, or loose, for plans that spread the nodes."""
        return round(self.takes * self.of(0.6, 1, 1.5, 3) / max(1, len(self.names)) + self.of(0, 2, 8), 2)

    def graph(
        self,
        options: dict[str, float],
        *,
        shape: str = "",
        size: float = 0,
        phases: bool = False,
        backward: bool = False,
    ) -> None:
        """Add a graph whose nodes have the options with these probabilities.

        Args:
            options: of nodes, beside work and output.
            shape: of the edges; "" for any.
            size: how often edges have a size of their own.
            phases: whether work and output differ by phase.
            backward: whether there is a backward part, too.
        """
        sizes = [self.random.randint(3, 9), self.random.randint(10, 30), self.random.randint(30, 200)]
        n = min(self.random.choices(sizes, (6, 3, 1))[0], self.most)
        if backward:
            n = max(2, n // 2)
        chosen = [name for name, share in options.items() if self.often(share)]
        chosen = [name for name in chosen if name != "memory" or "cache" not in chosen]
        uniform = self.often(0.2)
        numbers = [self._numbers(chosen, phases) for _ in range(n)]
        nodes = [numbers[0] if uniform else numbers[v] for v in range(n)]
        edges = self._edges(n, shape)
        lines = [
            f"node {self.node(v)} ({options}{f', color = {v}' if backward else ''})" for v, options in enumerate(nodes)
        ]
        lines += [self._edge(u, v, size) for u, v in edges]
        if backward:
            mirrored = [self._numbers(chosen, phases) for _ in range(n)]
            lines += [f"node v{n + v} ({mirrored[v]}, color = {v}, part = backward)" for v in range(n)]
            back = [(n + v, n + u) for u, v in edges] + [(v, n + v) for v in range(n)]
            lines += [self._edge(u, v, size) for u, v in back]
            edges += back
        self.n, self.edges = n * (1 + backward), edges
        self.lines += ["graph {", *lines, "}"]

    def _edge(self, u: int, v: int, size: float) -> str:
        return f"edge {self.node(u)} -> {self.node(v)}" + (
            f" (size = {self.of(*self.weights)} GB)" if self.often(size) else ""
        )

    def _numbers(self, chosen: list[str], phases: bool) -> str:
        work, output = self.of(*self.weights), self.of(0, 1, 1, 2, 5)
        self.takes += work
        if phases:
            parts = [f"work = {{ p: {work} s, q: {self.of(*self.weights)} s }}"]
            parts += [f"output = {{ p: {output} GB, q: {self.of(0, 1, 3)} GB }}"]
        else:
            parts = [f"work = {work} s", f"output = {output} GB"]
        for name in chosen:
            match name:
                case "deviation":
                    parts += [f"deviation = {self.of('0%', '30%', '2 s')}"] if self.often(0.7) else []
                case "kind":
                    parts += ['kind = "odd"'] if self.often(0.4) else []
                case "forward":
                    parts += [f"forward = {self.of(0, 0.25, 0.5, 1)}"]
                case "memory":
                    parts += [f"memory = {self.of(1, 2, 4)} GB"]
                case _:
                    parts += [f"{name} = {self.of(0, 1, 1, 2, 3)} GB"]
        return ", ".join(parts)

    def _edges(self, n: int, shape: str) -> list[tuple[int, int]]:
        shape = shape or self.of("chain", "layers", "random", "random", "forest", "residual", "star", "none")
        draw = self.random
        match shape:
            case "chain":
                return [(v, v + 1) for v in range(n - 1)]
            case "residual":
                return [(v, v + 1) for v in range(n - 1)] + [(v, v + 2) for v in range(n - 2) if draw.random() < 0.4]
            case "forest":
                return [(draw.randrange(v), v) for v in range(1, n) if draw.random() < 0.85]
            case "star":
                return [(0, v) for v in range(1, n - 1)] + [(v, n - 1) for v in range(1, n - 1)]
            case "layers":
                width = draw.randint(2, 4)
                return [
                    (u, v) for v in range(width, n) for u in range(v - v % width - width, v - v % width)
                    if u >= 0 and draw.random() < 0.5
                ]  # fmt: skip
            case "none":
                return []
        degree = draw.choice([1, 2, 4])
        return [(u, v) for v in range(n) for u in range(v) if draw.random() < degree / max(1, n / 2)]

    def devices(
        self, *, memory: float = 0, reserve: float = 0, free: float = 0, price: bool = False, tree: bool = False,
        equal: bool | None = None, groups: bool = False, batch: bool = False,
    ) -> None:  # fmt: skip
        """Add devices, a few of them equal or all of them different.

        Args:
            memory, reserve, free: how often devices have the option.
            price: whether they cost and draw something.
            tree: whether they hang from switches.
            equal: whether all are equal; None for either.
            groups: whether each is in one of two groups.
            batch: whether they have ``fixed`` and ``overhead``.
        """
        k = self.random.choices([1, 2, 3, 4, 6], (1, 4, 4, 3, 1))[0]
        equal = self.often(0.4) if equal is None else equal
        total = 2 * self.n / k
        self.names = [f"d{d}" for d in range(k)]
        if tree:
            self.lines += ["switch top", f"switch low[2] (under = top, uplink = {self.rate()} GB/s)"]
        first: list[str] = []
        kinds = any('kind = "odd"' in line for line in self.lines)
        with_memory = self.often(memory)
        for d, name in enumerate(self.names):
            options = [f"speed = {self.of(1, 1, 2, 0.5)}"] if self.often(0.6) else []
            if with_memory and self.often(0.9):
                options += [f"memory = {round(total * self.of(0.5, 1, 1.5, 3), 1):g} GB"]
                options += [f"reserve = {self.of(0, 0.5)} GB"] if self.often(reserve) else []
            options += ["io = free"] if self.often(free) else []
            options += ['unsupported = "odd"'] if kinds and self.often(0.3) else []
            if price:
                options += [f"price = {self.of(1, 2, 5)} USD", f"power = {self.of(1, 3)} W"]
            if batch:
                options += [f"fixed = {self.of(0, 20, 60)}%", f"overhead = {self.of(0, 0.5)} s"]
            if tree:
                switch = self.of("top", "low[0]", "low[1]")
                options += [f"switch = {switch}"] + ([f"uplink = {self.rate()} GB/s"] if self.often(0.8) else [])
            first = first if equal and d else options
            shown = first + ([f"group = {d * 2 // k}"] if groups else [])
            self.add(f"device {name} ({', '.join(shown)})" if shown else f"device {name}")

    def links(self) -> None:
        """Add links of their own between a few devices."""
        for u in self.names:
            for v in self.names:
                if u < v and self.often(0.2):
                    arrow, late = self.of("<->", "->"), self.of("", ", latency = 2 s")
                    self.add(f"link {u} {arrow} {v} (bandwidth = {self.rate()} GB/s{late})")

    def memory(self, share: float) -> None:
        """Add a constraint of memory, in a share of all calls; a few are those of uniform caches."""
        if not self.often(share) or not any("memory = " in line for line in self.lines if line.startswith("device")):
            return
        if self.often(0.2) and any("cache = " in line for line in self.lines):
            self.add("constraint cache uniform (tokens = 16, block = 16)")
        else:
            self.add("constraint memory")
