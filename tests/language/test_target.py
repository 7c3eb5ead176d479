"""Tests of the statement ``target``: a runtime's limits as constraints of a spec."""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Colocate, InOrder, Memory
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.problem.variants import free_of

SPEC = """mtpp 1
graph {
  node embed (work = 1 ms, output = 1 MiB, params = 1 GiB)
  node attn[i in 0..3] (work = 2 ms, output = 1 MiB)
  node mlp[i in 0..3] (work = 3 ms, output = 1 MiB)
  node head (work = 1 ms)
  edge embed -> attn[0]
  edge attn[i] -> mlp[i] for i in 0..3
  edge mlp[i] -> attn[i + 1] for i in 0..2
  edge mlp[3] -> head
}
device gpu[2] (memory = 8 GiB)
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
"""


def test_adds_the_limits_of_a_runtime_and_remembers_what_was_stated() -> None:
    problem = mtpp_dsl.load(f"{SPEC}\nconstraint colocate embed, head\ntarget csv")
    assert problem.target is not None
    assert problem.target.name == "csv"
    assert [type(rule) for rule in problem.constraints] == [Colocate]
    problem = mtpp_dsl.load(f"{SPEC}\ntarget vllm")
    assert {type(rule) for rule in problem.constraints} == {Colocate, InOrder, Memory}
    assert all(rule.origin == "target vllm" for rule in problem.constraints)
    assert free_of(problem).constraints == ()
    assert problem.warnings == ()  # the memory is kept to


@pytest.mark.parametrize("said", ["vllm", "llama_cpp", '"llama-cpp"'])
def test_survives_being_written_out(said: str) -> None:
    problem = mtpp_dsl.load(f"{SPEC}\ntarget {said}")
    again = mtpp_dsl.load(problem.to_spec())
    assert again.constraints == problem.constraints
    assert again.target == problem.target
    assert problem.target is not None
    built = mtpp_dsl.Builder.of(free_of(problem)).target(problem.target.name).build()
    assert built.constraints == problem.constraints


def test_one_file_names_one_runtime() -> None:
    with pytest.raises(SpecError, match="the target is already given at"):
        mtpp_dsl.load(f"{SPEC}\ntarget vllm\ntarget csv")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("target vlm", r"there is no target 'vlm'; did you mean 'vllm'"),
        ("minimize makespan\ntarget vllm", "takes no schedule"),
        ("constraint replicate gpu up to 2\ntarget sglang", "declare each group of devices"),
        ("constraint colocate embed, head\ntarget megatron", "a copy of weights that both ends share"),
        ("device gpu[9]\ntarget vllm", "at least one layer on each stage: there are 9 devices and 4 layers"),
        ("device cpu\ntarget vllm", "cpu is a CPU: leave it out"),
    ],
)
def test_says_in_its_place_what_a_runtime_cannot_do(more: str, message: str) -> None:
    text = SPEC
    for word in ("minimize", "device gpu"):
        if word in more:
            text = "\n".join(line for line in text.splitlines() if not line.startswith(word)) + "\n"
    with pytest.raises(SpecError, match=message) as found:
        mtpp_dsl.load(text + more)
    assert [diagnostic.code for diagnostic in found.value.diagnostics] == ["MTPP-E512"]
    assert all(diagnostic.span is not None for diagnostic in found.value.diagnostics)


def test_warns_of_memories_that_the_runtime_does_not_use_alike() -> None:
    unequal = SPEC.replace("interconnect", "device small (memory = 4 GiB)\ninterconnect")
    (warning,) = mtpp_dsl.load(f"{unequal}\ntarget vllm").warnings
    assert "as many tokens as the rank with the least room" in warning
    assert mtpp_dsl.load(f"{unequal}\ntarget llama_cpp").warnings == ()


def test_is_a_name_like_others_elsewhere() -> None:
    problem = mtpp_dsl.load(SPEC.replace("head", "target") + "\nconstraint pin target on gpu[1]")
    assert "target" in problem.graph.names
