"""Writes quantities, params, definitions and files: the same meaning in many ways."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.tools.fuzzer.instance import Instance

__all__ = ["Draft", "Item", "Units"]

SCALE = {
    "": 1.0, "ms": 1e-3, "us": 1e-6, "s": 1.0, "B": 1.0, "MiB": 2.0**20, "kB": 1e3, "MB": 1e6, "GiB": 2.0**30,
    "GB/s": 1e9, "GiB/s": 2.0**30, "MB/s": 1e6, "GFLOP": 1e9, "TFLOP/s": 1e12,
}  # fmt: skip


@dataclass(frozen=True)
class Units:
    """The units of a spec; a size takes about one time at a rate of one."""

    time: str
    size: str
    rate: str
    work: str = ""
    speed: str = ""
    memory: str | None = None

    @property
    def room(self) -> str:
        """The unit of memory, which a file may give in another one than tensors."""
        return self.size if self.memory is None else self.memory


@dataclass
class Item:
    """A node or device, or a family of them: the numbers of its members, and the variables of its subscripts."""

    name: str
    members: list[int]
    at: list[tuple[int, ...]]
    variables: tuple[str, ...] = ()
    quoted: bool = False

    def ref(self, i: int) -> str:
        """Return how a spec calls the i-th member."""
        if not self.variables:
            return f'"{self.name}"' if self.quoted else self.name
        return f"{self.name}[{', '.join(map(str, self.at[i]))}]"

    def canonical(self, i: int) -> str:
        """Return the name of the i-th member."""
        return f"{self.name}[{','.join(map(str, self.at[i]))}]" if self.variables else self.name


class Draft:
    """A spec in the making: its statements, those of a file that it includes, and the files beside it."""

    def __init__(self, inst: Instance, rng: random.Random, units: Units) -> None:
        self.inst, self.rng, self.units = inst, rng, units
        self.statements: list[str] = []
        self.early: list[str] = []
        self.nodes: list[Item] = []
        self.devices: list[Item] = []
        self._names = 0

    def maybe(self, share: float, feature: str = "") -> bool:
        """Return True with a chance of *share*; the feature is then one that the instance has."""
        chosen = self.rng.random() < share
        if chosen and feature:
            self.inst.features.add(feature)
        return chosen

    def fresh(self, prefix: str) -> str:
        """Return a name that is not taken."""
        self._names += 1
        return f"{prefix}{self._names}"

    def plain(self, value: float, unit: str) -> str:
        """Return a quantity as text."""
        return f"{value!r} {unit}".strip() if value != int(value) else f"{int(value)} {unit}".strip()

    def quantity(self, value: float, unit: str, kind: str) -> str:
        """Return a quantity as text: a literal, a param, or a definition."""
        text = self.plain(value, unit)
        chance = self.rng.random()
        if chance < 0.06:
            name = self.fresh("p")
            self.inst.features.add("param")
            typed = f": {kind}" if kind and self.maybe(0.7) else ""
            default = text
            if self.maybe(0.5, "-D"):
                default = self.plain(value + 1, unit)
                self.inst.defines[name] = text
            if self.maybe(0.2):
                self.early.append(f"param {name}{typed} = {self.plain(value + 2, unit)}")
            self.statements.append(f"param {name}{typed} = {default}")
            return name
        if chance < 0.1:
            name = self.fresh("c")
            self.inst.features.add("let")
            if self.maybe(0.3):
                self.early.append(f"let {name} = {self.plain(value + 3, unit)}")
            self.statements.append(f"let {name} = {text}")
            return name
        if chance < 0.14 and value == int(value):
            return f"({int(value) - 1} + 1) * {self.plain(1, unit)}"
        return text

    def formula(self, item: Item, choices: Sequence[float], unit: str, kind: str) -> tuple[str, list[float]]:
        """Return an expression over the subscripts of an item, and what it is for each member, in base units."""
        rng, scale = self.rng, SCALE[unit]
        a, b = rng.choice(choices), rng.choice([0.5, 1, 2, 3])
        if not item.variables or rng.random() < 0.3:
            return self.quantity(a, unit, kind), [a * scale] * len(item.members)
        i, j = item.variables[0], item.variables[-1]
        one = f" * {self.plain(1, unit)}" if unit else ""
        at = [(t[0], t[-1]) for t in item.at]
        self.inst.features.add("family formula")
        match rng.randrange(4):
            case 0:
                return f"({a} + {b} * {i}){one}", [(a + b * x) * scale for x, _ in at]
            case 1:
                return f"({a} + {b} * mod({i} + {j}, 2)){one}", [(a + b * ((x + y) % 2)) * scale for x, y in at]
            case 2:
                return f"max({a}, {b} * {i} + {j}){one}", [max(a, b * x + y) * scale for x, y in at]
            case _:
                return f"({j} + 1) * {self.quantity(b, unit, kind)}", [(y + 1) * b * scale for _, y in at]

    def node(self, v: int) -> str:
        """Return a way to name a node."""
        return self._named(self.nodes, v)

    def device(self, d: int) -> str:
        """Return a way to name a device."""
        return self._named(self.devices, d)

    def node_name(self, v: int) -> str:
        """Return a way to name a node within an expression."""
        return self.node(v)

    def device_name(self, d: int) -> str:
        """Return a way to name a device within an expression."""
        return self.device(d)

    def _named(self, items: Sequence[Item], number: int) -> str:
        item = next(item for item in items if number in item.members)
        i = item.members.index(number)
        return f'"{item.canonical(i)}"' if self.rng.random() < 0.1 else item.ref(i)

    def list_of(self, numbers: Sequence[int], *, devices: bool = False) -> str:
        """Return a list of nodes or devices as text: families by their name, the rest one by one."""
        items = self.devices if devices else self.nodes
        if len(numbers) == sum(len(item.members) for item in items) and self.maybe(0.3):
            return "devices" if devices else "nodes"
        left, words = list(numbers), []
        for item in items:
            if item.variables and set(item.members) <= set(left) and self.maybe(0.6):
                words.append(item.name)
                left = [x for x in left if x not in item.members]
        words += [self._named(items, x) for x in left]
        self.rng.shuffle(words)
        if self.maybe(0.2, "let"):
            name = self.fresh("s")
            marks = self.rng.choice(["[]", "{}"])
            self.statements.append(f"let {name} = {marks[0]}{', '.join(words)}{marks[1]}")
            return name
        return ", ".join(words)

    def finish(self) -> None:
        """Put the statements together: the text, and perhaps a file that it includes."""
        inst, rng = self.inst, self.rng
        first = [statement for statement in self.statements if statement.startswith("import ")]
        rest = [statement for statement in self.statements if not statement.startswith("import ")]
        ordered = [s for s in rest if s.startswith(("link ", "time ", "times "))]
        free = [s for s in rest if s not in ordered]
        rng.shuffle(free)
        if self.maybe(0.25, "include") or self.early:
            inst.features.add("include")
            moved = [s for s in free if rng.random() < 0.4]
            shadowed = {s.split()[1].rstrip(":") for s in self.early}
            moved = [s for s in moved if not (s.startswith(("param", "let")) and s.split()[1].rstrip(":") in shadowed)]
            moved = [s for s in moved if not s.startswith(("interconnect", "minimize", "maximize", "device", "import"))]
            free = [s for s in free if s not in moved]
            inst.files["base.mtpp"] = "\n".join([*self.early, *moved]) + "\n"
            first.insert(0, 'include "base.mtpp"')
        head = ["mtpp 1"] if rng.random() < 0.3 else []
        inst.text = "\n".join([*head, *first, *free, *ordered]) + "\n"
