"""One process of a pipeline: builds its stage, runs it under a GPipe schedule, and writes results and times.

:mod:`mtpp_dsl.runtimes.execution.torch_pipeline` starts it. It ends when its standard input is closed, so none outlives
the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Do the part of the rank that the second argument gives, of the task in the folder that the first one names."""
    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    from mtpp_dsl.core.errors import MtppError

    try:
        task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
        found = _run(task, folder, rank)
    except MtppError as error:
        found = {"refused": str(error)}
    except Exception as error:
        import traceback

        traceback.print_exc()
        found = {"error": f"{type(error).__name__}: {error}"}
    temporary = folder / f"{rank}.tmp"
    temporary.write_text(json.dumps(found), encoding="utf-8")
    temporary.replace(folder / f"{rank}.json")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if "times" in found else 1)  # threads of gloo may wait for others that have ended


def _end_with_parent(folder: Path) -> None:
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _run(task: Mapping[str, Any], folder: Path, rank: int) -> dict[str, Any]:
    """Run the stage *rank* of a task; return its times and what tells its weights from others."""
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    from mtpp_dsl.runtimes.execution.timing import CLOCKS
    from mtpp_dsl.runtimes.execution.torch_split import TorchRecipe, fingerprint

    torch.set_num_threads(task["threads"])
    sys.path[:0] = [entry for entry in task["path"] if entry not in sys.path]
    inputs = torch.load(folder / "inputs.pt", weights_only=True)
    recipe = TorchRecipe.from_json(task["recipe"])
    split = recipe.build()
    module, count = split.stages[rank].module, len(split.stages)
    timed = _timed(module, CLOCKS[task["clock"]])
    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=count)
    stage = PipelineStage(timed, rank, count, torch.device("cpu"))
    whole, chunks = _together(inputs, recipe.signature.batch_dims)
    with torch.no_grad():
        schedule = ScheduleGPipe(stage, n_microbatches=len(inputs), args_chunk_spec=chunks)
        for _ in range(task["repeats"] + 1):  # the first warms up
            timed.results.clear()
            schedule.step(*(whole if rank == 0 else ()), return_outputs=False)
    if rank == count - 1:
        torch.save([tuple(tensor.clone() for tensor in sent) for sent in timed.results], folder / "results.pt")
    dist.barrier()
    dist.destroy_process_group()
    return {"times": timed.times[-len(inputs) * task["repeats"] :], "fingerprint": fingerprint(module)}


def _together(inputs: Sequence[Sequence[Any]], dims: Sequence[int | None]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the inputs of all microbatches as those of one call, and how a schedule takes them apart again."""
    import torch
    from torch.distributed.pipelining.microbatch import TensorChunkSpec, _Replicate

    whole = tuple(
        inputs[0][i] if dim is None else torch.cat([one[i] for one in inputs], dim) for i, dim in enumerate(dims)
    )
    return whole, tuple(_Replicate() if dim is None else TensorChunkSpec(dim) for dim in dims)


def _timed(module: Any, clock: Any) -> Any:
    """Return a module that does what *module* does, and keeps how long each call took, and what it returned."""
    import torch

    class Timed(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = module
            self.times: list[float] = []
            self.results: list[Any] = []

        def forward(self, *args: Any) -> Any:
            began = clock()
            sent = self.inner(*args)
            if args[0].device.type != "meta":  # schedules ask for shapes first
                self.times.append(clock() - began)
                self.results.append(sent)
            return sent if len(sent) > 1 else sent[0]

    return Timed()


if __name__ == "__main__":
    main()
