"""Constraints by rule, compiled once as a template where Pyomo can, row by row where it cannot."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import get_ident
from typing import Any

from mtpp_dsl.core.base.lazy import pyo

LOGS = ("pyomo.core", "pyomo.core.expr.template_expr")
"""Where Pyomo tells of rules that it cannot template."""


def constrain(block: Any, name: str, *sets: Any, rule: Callable[..., Any]) -> None:
    """Add the constraint *name* over *sets* to *block*.

    A rule without Python data or ``if`` on its indices is kept as one template, which makes the
    matrix several times faster to build. Any other rule is expanded; there is no third outcome, as
    Pyomo raises on what it cannot template.
    """
    for on in (True, False):
        try:
            with _templates(on):
                setattr(block, name, pyo.Constraint(*sets, rule=rule))
        except Exception:
            block.del_component(name)
            if not on:
                raise
        else:
            return


def impossible(block: Any, name: str) -> None:
    """Add to *block* a row that no values satisfy, for what is known to have no plan."""
    part = pyo.Block(concrete=True)
    block.add_component(name, part)
    part.never = pyo.Var(bounds=(0, 0))
    part.row = pyo.Constraint(expr=part.never >= 1)


@contextmanager
def _templates(on: bool) -> Iterator[None]:
    """Turn templates on or off; on, silence Pyomo's log of the rules it cannot template."""
    import pyomo.core.base.constraint as pyomo_constraint

    _confine_templates()
    old = pyomo_constraint.TEMPLATIZE_CONSTRAINTS
    logs = [logging.getLogger(name) for name in LOGS]
    disabled = [log.disabled for log in logs]
    pyomo_constraint.TEMPLATIZE_CONSTRAINTS = on
    for log in logs:
        log.disabled = on
    try:
        yield
    finally:
        pyomo_constraint.TEMPLATIZE_CONSTRAINTS = old
        for log, was in zip(logs, disabled, strict=True):
            log.disabled = was


@cache
def _confine_templates() -> None:
    """Make what Pyomo changes while it makes a template hold for the thread that makes it.

    It puts a function of its own in the place of Python's ``sum`` and changes how its sets are gone through, for the
    whole process. Another thread, such as the one that checks the answer of a method that was left behind when its time
    was up, would then get StopIteration from the sum of nothing, and an index in place of the members of a set.
    """
    import pyomo.core.expr.template_expr as pyomo_templates

    manager = pyomo_templates._TemplateIterManager

    def acquire_here(self: Any) -> None:
        """Do what the manager's own method does, but never leave its functions in place for all threads."""
        assert self.paused
        self.paused = False
        builtins.sum = _on_this_thread(self.context.sum_template, self.builtin_sum)
        for changed in self.iters:
            changed._class.__iter__ = _on_this_thread(changed._iter, changed._old_iter)

    type(manager).acquire = acquire_here


def _on_this_thread(here: Callable[..., Any], elsewhere: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is *here* on the thread of the caller, and *elsewhere* on every other."""
    owner = get_ident()

    def function(*arguments: Any, **named: Any) -> Any:
        return (here if get_ident() == owner else elsewhere)(*arguments, **named)

    return function
