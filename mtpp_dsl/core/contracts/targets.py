"""The contract of targets: a runtime's limits as constraints, its files, and reading them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol, TypeAlias, runtime_checkable

from mtpp_dsl.core import registry
from mtpp_dsl.core.base.files import MAX_FILE_BYTES, read_text
from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import on_a_line

Files: TypeAlias = Mapping[str, "str | bytes | Callable[[BinaryIO], None]"]
"""Contents by file name, or what writes them; the first is the one that the runtime reads, the others go beside it."""


class UnsoundSplit(UsageError):
    """A file of the right form is no split of this graph: a layer is lost, doubled or swapped, or a count is wrong."""

    exit_code: ClassVar[int] = 7


@dataclass(frozen=True)
class Stamp:
    """What an exported file says of where it came from, and what some targets make it from.

    Attributes:
        spec: the path of the spec; "" for a problem without one.
        devices: the names of the devices, in their order.
        value: of the plan, in the unit of the objective.
        bound: no plan is better than this, as the answer says where there is one; None where none is known.
        objective: what *value* is of, such as "bottleneck".
        unit: of both, as :meth:`mtpp_dsl.core.problem.objective.Objective.unit` has it.
        target: the runtime whose limits the bound counts; "" for none.
        model: the file of the model, or ``module:callable``; None where it is not given.
        model_name: what was split: the model by its name, or else the spec.
        model_sha256: of the file of the model; "" where none is known.
        answer: the path of the answer; "" for a plan that comes from none.
    """

    spec: str
    devices: tuple[str, ...]
    value: float
    bound: float | None
    objective: str
    unit: str = ""
    target: str = ""
    model: str | None = None
    model_name: str = ""
    model_sha256: str = ""
    answer: str = ""

    def lines(self) -> list[str]:
        """Return the stamp as lines for comments."""
        sha = f" (sha256 {self.model_sha256:.16})" if self.model_sha256 else ""
        lines = [f"made by mtpp from {self.model_name or self.spec or 'a problem'}{sha}"]
        if self.answer:
            lines.append(f"answer: {self.answer}, to {self.spec}")
        lines += [
            f"devices, in order: {', '.join(self.devices)}",
            f"{self.objective} of the plan: {format_quantity(self.value, self.unit)}",
        ]
        if self.bound is not None:
            under = f" for {self.target}" if self.target else ""
            source = "by that answer, " if self.answer else ""
            lines.append(f"{source}no plan{under} is better than: {format_quantity(self.bound, self.unit)}")
        return [on_a_line(line) for line in lines]

    def to_json(self) -> dict[str, object]:
        """Return the stamp for manifests."""
        return {
            "made_by": "mtpp",
            "model": self.model_name or None,
            "model_sha256": self.model_sha256 or None,
            "spec": self.spec or None,
            "answer": self.answer or None,
            "devices": list(self.devices),
            "objective": self.objective,
            "unit": self.unit,
            "value": self.value,
            "bound": self.bound,
            "target": self.target or None,
        }


@dataclass(frozen=True)
class Split:
    """A split that was read from a file.

    Attributes:
        assignment: [n] the number of the device of every node of the graph.
        notes: what the reader of the file should be told.
    """

    assignment: tuple[int, ...]
    notes: tuple[str, ...] = ()


@runtime_checkable
class Target(Protocol):
    """A runtime, or a file that runtimes take.

    A class may have ``options``, a mapping from names to the words that they can be given; its objects are then made
    with those that are chosen, by name, and their ``name`` says which, such as "llama-cpp:layer".

    It may also have a method ``first_splits(problem, cost)``, which yields splits for searches to start from; see
    :func:`first_splits`.

    Attributes:
        name: how ``--for``, ``--to`` and ``--format`` call it.
        summary: one line for ``mtpp targets``.
    """

    name: str
    summary: str

    def restrict(self, problem: Problem) -> Problem:
        """Return *problem* with the constraints that the runtime stands for, added to its own; all else stays.

        Raises:
            UsageError: the runtime cannot do what the problem is about; says what.
        """
        ...

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return the files that make the runtime run *plan*.

        Raises:
            UsageError: the runtime cannot express the plan; says which constraint to add.
        """
        ...

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split in a file or a folder, or in a text that is given itself; nothing in it is run.

        Raises:
            UnsoundSplit: a layer is lost, doubled or swapped, or there are too many or too few stages.
            UsageError: it is not of this form, or cannot be read.
        """
        ...


def first_splits(target: Target, problem: Problem, cost: Callable[[Split], float]) -> Iterator[Split]:
    """Yield the splits that *target* offers searches to start from; none where it offers none.

    They begin with simple ones and may go on to what improves the best of them. They may break constraints: whoever
    takes one checks it, and stops asking when the time is up.

    Args:
        target: whose limits are among the constraints of the problem.
        problem: what is asked.
        cost: returns what a split costs, and inf where it breaks a constraint.
    """
    offered: Callable[[Problem, Callable[[Split], float]], Iterator[Split]] | None
    offered = getattr(target, "first_splits", None)
    if offered is not None:
        yield from offered(problem, cost)


def target_options(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the options of the target *name*, each with the words that it can be given.

    Raises:
        PluginError: there is no such target.
    """
    options: Mapping[str, tuple[str, ...]] = getattr(registry.load(registry.TARGETS, name), "options", {})
    return options


def target_called(called: str) -> Target:
    """Make the target of a name such as "vllm", or "llama-cpp:layer" with the words of options behind colons.

    Raises:
        PluginError: there is no such target.
        UsageError: it has no option with such a word, or an option is given twice.
    """
    name, *words = called.split(":")
    kind: Any = registry.load(registry.TARGETS, name)
    known = target_options(name)
    chosen: dict[str, str] = {}
    for word in words:
        option = next((option for option, choices in known.items() if word in choices), None)
        if option is None:
            every = [choice for choices in known.values() for choice in choices]
            takes = f"it takes {', '.join(f'{name}:{choice}' for choice in every)}" if every else "it takes no options"
            raise UsageError(f"target {name} has no option {word!r}{did_you_mean(word, every)}; {takes}")
        if option in chosen:
            raise UsageError(f"target {called} gives its option {option} twice")
        chosen[option] = word
    target: Target = kind(**chosen)
    return target


def text_of(source: Path | str, most: int = MAX_FILE_BYTES) -> str:
    """Return the text of a file, or the text itself.

    Raises:
        UsageError: the file cannot be read, or is larger than *most* bytes.
    """
    return read_text(source, most) if isinstance(source, Path) else source
