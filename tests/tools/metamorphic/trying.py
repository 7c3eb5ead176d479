"""Relations by name, tried on specs; what contradicts them, made small and kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.tools.metamorphic.answers import Answers
from tests.tools.metamorphic.claims import answered, compared, confined, planted, proved, reduced
from tests.tools.metamorphic.exhausting import exhausted
from tests.tools.metamorphic.harder import eased, hardened, tightened
from tests.tools.metamorphic.relations import (
    Relation,
    Trial,
    formatted,
    included,
    pinned,
    renamed,
    reordered,
    resized,
    scaled,
    written,
)
from tests.tools.metamorphic.shrinking import shrunk
from tests.tools.metamorphic.text import Spec

__all__ = ["KEPT", "RELATIONS", "keep", "kept", "smallest", "wrong"]

KEPT = Path(__file__).with_name("kept")
"""Where specs that failed are: the tests replay them."""

RELATIONS = {
    relation.name: relation
    for relation in (
        Relation("format", "What `mtpp fmt` writes is the same problem, and stays as it is.", formatted),
        Relation("write", "What `to_spec` writes is the same problem.", written),
        Relation("include", "With statements in a file that is included, it is the same problem.", included),
        Relation("rename", "Other names of nodes leave the optimum.", renamed),
        Relation("reorder", "Another order of nodes, edges, devices and constraints leaves the optimum.", reordered),
        Relation("scale", "All times multiplied by c multiply the optimum by c.", scaled),
        Relation("resize", "All sizes and bandwidths multiplied by c leave the optimum.", resized),
        Relation("pin", "The optimum is the best of those with a node pinned to each device in turn.", pinned),
        Relation(
            "tighten", "One constraint more makes no optimum better, and its plans are plans without it.", tightened
        ),
        Relation("ease", "One constraint less makes no optimum worse.", eased),
        Relation("harden", "More work, larger tensors and less of a device make no optimum better.", hardened),
        Relation("confine", "With memories as small as a plan allows, that plan stays one.", confined),
        Relation("plant", "No bound is above a random plan that keeps all constraints.", planted),
        Relation("compare", "No bound of a method is above a plan of another.", compared),
        Relation("exhaust", "Of few plans, the best is above no bound, and what is called optimal.", exhausted),
        Relation("reduce", "Reductions leave the optimum, and their plans are plans of the problem.", reduced),
        Relation("prove", "A certificate proves its bound, and nothing proves a bound above a plan.", proved),
        Relation("answer", "`mtpp verify` finds the answer right, and it is shown as text and as a page.", answered),
    )
}
"""All relations, by name."""


def wrong(relation: str, trial: Trial) -> Iterator[str]:
    """Yield what contradicts a relation; a fault within mtpp is one, too."""
    first = trial.ask()
    if first.problem is None and not first.failed:
        return
    try:
        yield from RELATIONS[relation].find(trial)
    except Exception as error:
        yield f"crashed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    for answer in trial.answers.known.values():
        if answer.failed:
            yield answer.failed


def kind(what: str) -> str:
    """Return the kind of a finding: what comes before its first colon, or two of them where it crashed."""
    parts = what.split(": ")
    return ": ".join(parts[:2]) if parts[0] in ("crashed", "failed") else parts[0]


def smallest(relation: str, trial: Trial, what: str, seconds: float = 120.0) -> Spec:
    """Return a small spec of which the same relation says the same kind of thing."""

    def fails(spec: Spec) -> bool:
        again = Trial(spec, trial.method, Answers(trial.answers.seconds), trial.seed)
        return any(kind(one) == kind(what) for one in wrong(relation, again))

    return shrunk(trial.spec, fails, seconds)


def keep(relation: str, trial: Trial, spec: Spec, what: str, folder: Path = KEPT) -> Path:
    """Write a spec that failed to a file, with what is to be tried on it; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1 + len([*folder.glob(f"{relation}-*.mtpp")])
    path = folder / f"{relation}-{number}.mtpp"
    head = f"# relation {relation}, method {trial.method}, seed {trial.seed}\n# {what[:200]}\n"
    path.write_text(head + spec.text, encoding="utf-8")
    return path


def kept(path: Path, seconds: float = 5.0) -> tuple[str, Trial]:
    """Return the relation and the trial of a file that :func:`keep` has written."""
    text = path.read_text(encoding="utf-8")
    words = text.partition("\n")[0].replace(",", "").split()
    return words[2], Trial(Spec.of(text), words[4], Answers(seconds), int(words[6]))
