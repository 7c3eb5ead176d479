"""A library of problems: which there are, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import data_folder, read_sweep
from mtpp_dsl.sweeps.file.problem_files import DATA, problem_of
from mtpp_dsl.sweeps.file.run import Run, digest
from mtpp_dsl.sweeps.file.sweep import MethodEntry, Settings, Sweep
from mtpp_dsl.sweeps.library import files
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.store import Records

__all__ = ["Library", "find_library", "spec_sha256"]

PROBLEMS = "problems"


@dataclass(frozen=True)
class Library:
    """A library of problems in a folder.

    Attributes:
        sweeps: the files of ``problems/``, as they stand.
        runs: a run of each problem by the first method of its file: what the problem is read from.
        records: what is known.
        left_out: files whose problems need published files that are not here.
    """

    sweeps: tuple[Sweep, ...]
    runs: Mapping[str, Run]
    records: Records
    left_out: tuple[Path, ...] = ()

    @classmethod
    def open(cls, folder: Path) -> Library:
        """Read the lists of problems of a library; its problems themselves are read when they are needed.

        Raises:
            UsageError: it is no library, two problems have one name, or one has a name that no file can have.
            SpecError: a list, or a spec, does not parse.
        """
        lists = sorted((folder / PROBLEMS).glob("*.toml"))
        if not lists:
            raise UsageError(f"{folder} is no library of problems: it has no {PROBLEMS}/*.toml")
        without = [path for path in lists if not data_folder() and DATA in read_text(path, wanted="TOML")]
        sweeps = tuple(read_sweep(path) for path in lists if path not in without)
        runs: dict[str, Run] = {}
        for sweep in sweeps:
            for run in expand(replace(sweep, methods=sweep.methods[:1])):
                files.check_name(run.problem)
                if run.problem in runs:
                    raise UsageError(f"{folder} has two problems called {run.problem!r}")
                runs[run.problem] = run
        return cls(sweeps, runs, Records(folder), tuple(without))

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.records.folder

    def problem(self, name: str) -> Problem:
        """Return a problem, read anew."""
        return problem_of(self.runs[name])

    def plan(self, problem: Problem, name: str) -> Plan | None:
        """Return the stored plan of a problem; None if it is not stored."""
        text = self.records.plan(name)
        return None if text is None else Plan.from_json(problem, files.read_object(text, f"the plan of {name}"))

    def asked(self, methods: Sequence[MethodEntry], settings: Settings) -> list[Run]:
        """Return the runs of all problems by these methods, under these limits where they say something.

        Args:
            methods: none for those of the lists of problems.
            settings: stand before those of the lists.
        """
        runs: list[Run] = []
        for sweep in self.sweeps:
            entries = tuple(replace(entry, settings=settings.over(entry.settings)) for entry in sweep.problems)
            asked = replace(sweep, methods=tuple(methods) or sweep.methods, problems=entries)
            runs += expand(asked)
        return runs


def spec_sha256(run: Run) -> str:
    """Return the hash of a problem's spec with all that it reads, and of the values of its params.

    Published files count by their contents and by where they are below the folder of data.
    """
    return digest({"spec": run.spec_sha256, "params": dict(run.params), "scenario": run.scenario})


def find_library(name: str) -> Path:
    """Return the folder of a library: a path, or the name of one in ``benchmarks/`` here or beside the package.

    Raises:
        UsageError: there is none.
    """
    places = [Path(name), Path("benchmarks") / name, Path(__file__).resolve().parents[3] / "benchmarks" / name]
    for place in places:
        if (place / PROBLEMS).is_dir():
            return place
    shown = ", ".join(str(place) for place in places[:2])
    raise UsageError(f"there is no library {name!r}: looked for {PROBLEMS}/*.toml in {shown}, and beside the package")


def current(library: Library, record: BestKnown) -> bool:
    """Return whether a record is of the problem as it is now: its spec and all that this reads are the same."""
    run = library.runs.get(record.name)
    return run is not None and record.spec_sha256 == spec_sha256(run)


def certificate_of(library: Library, record: BestKnown) -> Mapping[str, object] | None:
    """Return the stored certificate of a record's bound; None without one.

    Raises:
        UsageError: it is damaged.
    """
    text = library.records.certificate(record.name)
    if text is None:
        return None
    certificate = files.read_object(text, f"the certificate of {record.name}")
    if not isinstance(certificate.get("kind"), str):
        raise UsageError(f"the certificate of {record.name} does not say of which kind it is")
    return certificate
