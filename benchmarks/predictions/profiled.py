"""Make a profile of a model on this machine, and the problem of a spec that reads it."""

from __future__ import annotations

from pathlib import Path

import mtpp_dsl
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.importers.torch_inputs import read_input
from mtpp_dsl.exchange.importers.torch_model import import_torch
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import write
from mtpp_dsl.exchange.model.profile import text_of
from mtpp_dsl.runtimes.execution.machine import machine_facts
from mtpp_dsl.runtimes.profiling.jobs import profile_of_jobs
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort
from mtpp_dsl.runtimes.profiling.torch_profile import torch_jobs

MODELS = Path(__file__).with_name("gpts.py")
EFFORT = MeasuringEffort(seconds=0.3, samples=25)


def imported(code: str, batch: int, seq: int, folder: Path) -> Model:
    """Import a model of torch, write it as model.json, and return it."""
    model = import_torch(code, [read_input("ids: int64[batch, seq]")], {"batch": batch, "seq": seq})
    write(model, folder / "model.json")
    return model


def profile(code: str, model: Model, folder: Path, sizes: dict[str, int], device: str = "cpu") -> str:
    """Measure the operators of a model on "cpu" or "cuda", as ``mtpp profile`` does; return the name of the file."""
    jobs = torch_jobs(code, model, sizes, device, EFFORT, 1)
    facts = machine_facts(1, EFFORT.clock, ("torch",), device)
    measured, journal = profile_of_jobs(jobs, model, device, sizes, facts, folder / f"{device}.part", lambda *_: None)
    path = folder / f"{device}.json"
    path.write_text(text_of(measured), encoding="utf-8")
    journal.close()
    return path.name


def problem_of(spec: str, folder: Path) -> Problem:
    """Return the problem of a spec beside the model and the profiles."""
    path = folder / "spec.mtpp"
    path.write_text(spec, encoding="utf-8")
    return mtpp_dsl.load(path)
