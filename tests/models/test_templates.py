"""Templates of Pyomo's rules, which are made by changing things for the whole process, and other threads."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterator
from typing import Any

import pyomo.core.expr.template_expr as pyomo_templates
import pyomo.environ as pyo
import pytest

from mtpp_dsl.models.blocks import components


def test_templates_leave_other_threads_alone() -> None:
    """Law: while one thread makes a template of a rule, sums and sets are what they are to every other thread."""
    model = pyo.ConcreteModel()
    model.A = pyo.Set(initialize=[1, 2, 3])
    model.x = pyo.Var(model.A)
    seen: list[object] = []

    def look() -> None:
        seen.extend([sum(i for i in ()), sum((i for i in (1, 2)), 4), sum(map(int, "12")), list(model.A)])

    def rule(model: pyo.ConcreteModel, i: int) -> object:
        if not seen:
            other = threading.Thread(target=look)
            other.start()
            other.join()
        return sum(model.x[j] for j in model.A) >= i

    components.constrain(model, "row", model.A, rule=rule)
    assert seen == [0, 7, 3, [1, 2, 3]]
    assert len(model.row) == 3
    assert str(model.row[2].expr) == "2  <=  x[1] + x[2] + x[3]"
    assert sum is builtins.sum
    assert sum(i for i in ()) == 0


def test_there_is_no_moment_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyomo's own sum is never that of another thread, not even before the ways through its sets are changed, too."""
    seen: list[object] = []

    class Looked(list):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[object]:
            other = threading.Thread(target=lambda: seen.append(sum(i for i in ())))
            other.start()
            other.join()
            return super().__iter__()

    manager = type(pyomo_templates._TemplateIterManager)
    begin = manager.init

    def looked_at(self: Any, *arguments: object) -> object:
        begin(self, *arguments)
        self.iters = Looked(self.iters)
        return self

    monkeypatch.setattr(manager, "init", looked_at)
    model = pyo.ConcreteModel()
    model.A = pyo.Set(initialize=[1, 2, 3])
    model.x = pyo.Var(model.A)
    components.constrain(model, "row", model.A, rule=lambda model, i: sum(model.x[j] for j in model.A) >= i)
    assert len(model.row) == 3
    assert seen
    assert set(seen) == {0}
