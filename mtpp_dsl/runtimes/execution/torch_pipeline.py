"""Run a split as one process for each stage: gloo on this machine, a GPipe schedule, nothing left behind.

This module is also the program of these processes: see :func:`main`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic, perf_counter, sleep
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import MtppError, SolverError, UsageError
from mtpp_dsl.runtimes.execution.clocks import CLOCKS, Clock
from mtpp_dsl.runtimes.execution.machine import processes_within
from mtpp_dsl.runtimes.execution.torch_split import TorchRecipe, fingerprint

__all__ = ["run_pipeline"]

POLL = 0.02
LAST_LINES = 12


@dataclass(frozen=True)
class Ran:
    """What a split returned, and how long its stages took.

    Attributes:
        results: for each microbatch the tensors that the model returns.
        times: for each stage the seconds of each call of each microbatch, warm-up left out.
        fingerprints: of the weights of each stage, to tell whether all processes had the same.
        passes: the seconds, by the clock on the wall, until all microbatches had gone through all stages, for each
            repetition.
    """

    results: list[tuple[Any, ...]]
    times: list[list[float]]
    fingerprints: list[float]
    passes: list[float]


def run_pipeline(
    recipe: TorchRecipe,
    inputs: Sequence[Sequence[Any]],
    *,
    repeats: int = 3,
    threads: int = 1,
    clock: Clock = "wall",
    time_limit: float | None = None,
    places: Sequence[str] = (),
) -> Ran:
    """Run each stage in a process of its own, all microbatches *repeats* times, and return results and times.

    Args:
        recipe: what each process builds.
        inputs: the arguments of each microbatch.
        repeats: how often, after a run that warms up.
        threads: of each process.
        clock: see :data:`mtpp_dsl.runtimes.execution.clocks.CLOCKS`.
        time_limit: seconds after which all processes are ended.
        places: the device of torch that each stage runs on, such as "cuda:0"; () for the CPU. Tensors travel through
            the memory of the host, and a stage's time includes its copies to and from the device.

    Raises:
        UsageError: a process says that the model, or the split, cannot be used.
        SolverError: a process fails otherwise, or the time is over.
    """
    torch = need("torch", "torch")
    with tempfile.TemporaryDirectory(prefix="mtpp-run-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        torch.save([tuple(one) for one in inputs], folder / "inputs.pt")
        task = {
            "recipe": recipe.to_json(),
            "repeats": repeats,
            "threads": threads,
            "clock": clock,
            "path": [entry for entry in sys.path if entry],
            "places": list(places) or ["cpu"] * len(recipe.devices),
        }
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        with processes_within() as processes:
            for rank in range(len(recipe.devices)):
                processes.append(_started(folder, rank))
            _wait(processes, folder, time_limit)
        answers = [_answer_of(folder, rank) for rank in range(len(recipe.devices))]
        results = torch.load(folder / "results.pt", weights_only=True)
    return Ran(
        results, [one["times"] for one in answers], [one["fingerprint"] for one in answers], answers[-1]["passes"]
    )


def _started(folder: Path, rank: int) -> subprocess.Popen[bytes]:
    """Return the process of a rank."""
    command = [sys.executable, "-m", "mtpp_dsl.runtimes.execution.torch_pipeline", str(folder), str(rank)]
    with (folder / f"{rank}.log").open("wb") as log:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def _wait(processes: Sequence[subprocess.Popen[bytes]], folder: Path, time_limit: float | None) -> None:
    """Wait until all processes have ended well.

    Raises:
        UsageError, SolverError: one has failed, or the time is over.
    """
    until = None if time_limit is None else monotonic() + time_limit
    while True:
        codes = [process.poll() for process in processes]
        failed = next((rank for rank, code in enumerate(codes) if code), None)
        if failed is not None:
            raise _failure(folder, failed, codes[failed])
        if all(code == 0 for code in codes):
            return
        if until is not None and monotonic() > until:
            raise SolverError(f"the stages have not ended within {time_limit:g} s; all processes were ended")
        sleep(POLL)


def _failure(folder: Path, rank: int, code: int | None) -> Exception:
    """Return what to raise for a process that failed: the others fail because of it, so the first one counts."""
    answer = _answer_of(folder, rank)
    if "refused" in answer:
        return UsageError(answer["refused"])
    log = (folder / f"{rank}.log").read_text(encoding="utf-8", errors="replace").splitlines()
    how = answer.get("error") or (f"it was ended by signal {-code}" if code and code < 0 else f"exit code {code}")
    return SolverError("\n".join([f"the process of stage {rank} failed: {how}", *log[-LAST_LINES:]]))


def _answer_of(folder: Path, rank: int) -> dict[str, Any]:
    path = folder / f"{rank}.json"
    if not path.is_file():
        return {}
    answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return answer


def main() -> None:
    """Do the part of the rank that the second argument gives, of the task in the folder that the first one names."""
    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    try:
        task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
        answer = _run(task, folder, rank)
    except MtppError as error:
        answer = {"refused": str(error)}
    except Exception as error:
        import traceback

        traceback.print_exc()
        answer = {"error": f"{type(error).__name__}: {error}"}
    temporary = folder / f"{rank}.tmp"
    temporary.write_text(json.dumps(answer), encoding="utf-8")
    temporary.replace(folder / f"{rank}.json")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if "times" in answer else 1)  # threads of gloo may wait for others that have ended


def _end_with_parent(folder: Path) -> None:
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _run(task: Mapping[str, Any], folder: Path, rank: int) -> dict[str, Any]:
    """Run the stage *rank* of a task; return its times and what tells its weights from others."""
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    torch.set_num_threads(task["threads"])
    sys.path[:0] = [entry for entry in task["path"] if entry not in sys.path]
    inputs = torch.load(folder / "inputs.pt", weights_only=True)
    recipe = TorchRecipe.from_json(task["recipe"])
    split = recipe.build()
    module, count = split.stages[rank].module, len(split.stages)
    weights = fingerprint(module)
    timed = _timed(module, CLOCKS[task["clock"]], torch.device(task["places"][rank]))
    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=count)
    stage = PipelineStage(timed, rank, count, torch.device("cpu"))
    whole, chunks = _together(inputs, recipe.signature.batch_dims)
    with torch.no_grad():
        schedule = ScheduleGPipe(stage, n_microbatches=len(inputs), args_chunk_spec=chunks)
        passes = []
        for _ in range(task["repeats"] + 1):  # the first warms up
            timed.results.clear()
            dist.barrier()
            began = perf_counter()
            schedule.step(*(whole if rank == 0 else ()), return_outputs=False)
            passes.append(perf_counter() - began)
    if rank == count - 1:
        torch.save([tuple(tensor.clone() for tensor in sent) for sent in timed.results], folder / "results.pt")
    dist.barrier()
    dist.destroy_process_group()
    times = timed.times[-len(inputs) * task["repeats"] :]
    return {"times": times, "fingerprint": weights, "passes": passes[1:]}


def _together(inputs: Sequence[Sequence[Any]], dims: Sequence[int | None]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the inputs of all microbatches as those of one call, and how a schedule takes them apart again."""
    import torch
    from torch.distributed.pipelining.microbatch import TensorChunkSpec, _Replicate

    whole = tuple(
        inputs[0][i] if dim is None else torch.cat([one[i] for one in inputs], dim) for i, dim in enumerate(dims)
    )
    return whole, tuple(_Replicate() if dim is None else TensorChunkSpec(dim) for dim in dims)


def _timed(module: Any, clock: Any, place: Any) -> Any:
    """Return a module that does on a device what *module* does, and keeps how long calls took, and their results.

    What it takes and returns is on the CPU.
    """
    import torch

    class Timed(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = module.to(place)
            self.times: list[float] = []
            self.results: list[Any] = []

        def forward(self, *args: Any) -> Any:
            if args[0].device.type == "meta":  # schedules ask for shapes first
                sent = self.inner(*args)
                return sent if len(sent) > 1 else sent[0]
            began = clock()
            sent = tuple(tensor.cpu() for tensor in self.inner(*(arg.to(place) for arg in args)))
            self.times.append(clock() - began)
            self.results.append(sent)
            return sent if len(sent) > 1 else sent[0]

    return Timed()


if __name__ == "__main__":
    main()
