"""The key by which the result of a run is known: a hash of all that can change its answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.methods import file_options
from mtpp_dsl.sweeps.file.problem_files import HASHES, Changed, Hashes, path_params, spec_of, substituted
from mtpp_dsl.sweeps.file.run import Run, Scalar, digest


def key_of(run: Run, files: Collection[str], options: Mapping[str, Scalar], coarsen: str, start: str) -> str:
    """Return the key of a run, whatever it says that its key is.

    Args:
        run: what is run; of its spec the hash counts.
        files: names of the params that are files that the spec reads: their contents are in the hash of the spec.
        options: of the method, from :func:`options_told`.
        coarsen: fusion rules, from :func:`coarsen_told`.
        start: the hash of the plan to start from; "" for none.
    """
    return digest(
        {
            "spec": run.spec_sha256,
            "params": {name: value for name, value in run.params.items() if name not in files},
            "scenario": run.scenario,
            "method": run.method,
            "options": dict(options),
            "solver": run.solver,
            "solver_options": dict(run.solver_options),
            "coarsen": coarsen,
            "start": start,
            "seed": run.seed,
            "time_limit": run.time_limit,
            "memory_limit": run.memory_limit,
            "gap": run.gap,
            "threads": run.threads,
        }
    )


def options_told(
    options: Mapping[str, Scalar], files: Collection[str], folder: Path, hashes: Hashes
) -> dict[str, Scalar]:
    """Return what a key says of a method's options: of a file its hash, "" where there is none."""
    return {**options, **{name: hashes(str(folder / str(options[name]))) for name in files}}


def coarsen_told(coarsen: str, folder: Path, hashes: Hashes) -> str:
    """Return what a key says of fusion rules: their name, or the hash of their file."""
    return coarsen and (hashes(str(folder / coarsen)) or coarsen)


def start_told(path: str, folder: Path, data: str, hashes: Hashes) -> str:
    """Return what a key says of the plan to start from: its hash, "" where there is none.

    Raises:
        Absent: it is in the folder of data, and there is none.
    """
    return path and hashes(str(folder / substituted(path, data)))


def check_unchanged(run: Run) -> None:
    """Raise Changed where a file that the method reads is not what the key of the run speaks of.

    That is the plan to start from, the file of fusion rules, and what the method's options name; the spec, and what it
    reads, is checked where the problem is made.
    """
    files = file_options(run.method, run.options)
    if not (run.start or run.coarsen or files):
        return
    folder = Path(run.folder)
    try:
        options = options_told(run.options, files, folder, HASHES)
        coarsen, start = coarsen_told(run.coarsen, folder, HASHES), start_told(run.start, folder, run.data, HASHES)
    except UsageError as error:
        raise Changed(f"a file that the method reads cannot be read as when the sweep was: {error}") from error
    if key_of(run, path_params(spec_of(run)), options, coarsen, start) != run.key:
        named = [*([run.start] if run.start else []), *([run.coarsen] if run.coarsen else [])]
        named += [str(run.options[name]) for name in files]
        raise Changed(f"{' or '.join(named)} is not what it was when the sweep was read")
