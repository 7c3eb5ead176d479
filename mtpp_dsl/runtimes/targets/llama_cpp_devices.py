"""Name the devices of a problem as llama.cpp does: ``CUDA0``, ``RPC0``, and the memory of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mtpp_dsl.core.contracts.targets import UnsoundSplit
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.library.entries import entries
from mtpp_dsl.runtimes.targets.stages import is_cpu

_OWN = re.compile(r"(CUDA|ROCm|MUSA|Vulkan|SYCL|MTL|CANN|OPENVINO|HTP|GPUOpenCL|WebGPU)[0-9]{0,3}|Metal|BLAS")
_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,250}:[0-9]{1,5}")
_BACKENDS = {"devices/amd.mtpp": "ROCm", "devices/apple.mtpp": "MTL", "devices/intel.mtpp": "SYCL"}
"""The back ends of the library's processors; of all others CUDA."""


class LlamaCppNames:
    """The names of GPUs.

    A device that is called as llama.cpp calls it, such as ``CUDA1``, has this name. One called by an address, such as
    "10.0.0.2:50052", is the device of an RPC server there. The others are counted in their order, those of the
    library's types by their back end.

    Attributes:
        name: of each GPU.
        address: of those that are on RPC servers.
    """

    def __init__(self, problem: Problem, gpus: Sequence[int]) -> None:
        self.problem, self.gpus = problem, tuple(gpus)
        self.address: dict[int, str] = {}
        self.name: dict[int, str] = {}
        self.guessed: list[int] = []
        taken = {problem.devices[d].name for d in gpus}
        count = Counter[str]()
        for d in gpus:
            device = problem.devices[d]
            if _ADDRESS.fullmatch(device.name):
                self.name[d] = f"RPC{len(self.address)}"
                self.address[d] = device.name
            elif _OWN.fullmatch(device.name):
                self.name[d] = device.name
            else:
                self.guessed.append(d)
                backend = _backend(device)
                while f"{backend}{count[backend]}" in taken:
                    count[backend] += 1
                self.name[d] = f"{backend}{count[backend]}"
                count[backend] += 1

    def buffer(self, d: int) -> str:
        """Return what llama.cpp calls the memory of a device."""
        if is_cpu(self.problem.devices[d]):
            return "CPU"
        return f"RPC0[{self.address[d]}]" if d in self.address else self.name[d]

    def with_buffer(self, name: str) -> int:
        """Return the device whose memory is called *name*.

        Raises:
            UnsoundSplit: the spec has none.
        """
        names = {self.buffer(d): d for d in range(self.problem.k)}
        if name not in names:
            known = ", ".join(f"{buffer} is {self.problem.devices[d].name}" for buffer, d in names.items())
            raise UnsoundSplit(f"-ot puts tensors into {name!r}, which is no device of the spec: {known}")
        return names[name]

    def options(self, needed: bool) -> tuple[str, list[str]]:
        """Return ``--rpc`` and ``--device``, and comments, where devices have names of their own or it is *needed*."""
        if not needed and len(self.guessed) == len(self.gpus):
            return "", []
        servers = f" --rpc {','.join(self.address.values())}" if self.address else ""
        devices = self.problem.devices
        guessed = [f"{devices[d].name} is taken to be {self.name[d]}" for d in self.guessed]
        remarks = [f"{', '.join(guessed)}: llama-server --list-devices says which is which"] if guessed else []
        return f"{servers} --device {','.join(self.name[d] for d in self.gpus)}", remarks

    def ordered(self, listed: Sequence[str] | None) -> tuple[int, ...]:
        """Return the GPUs in the order of ``--device``; without it as llama.cpp has them, those of servers first.

        Raises:
            UnsoundSplit: it lists others, or not all.
        """
        if listed is None:
            return tuple(sorted(self.gpus, key=lambda d: d not in self.address))
        by_name = {self.name[d]: d for d in self.gpus}
        if sorted(listed) != sorted(by_name):
            known = ", ".join(f"{name} is {self.problem.devices[d].name}" for name, d in by_name.items())
            raise UnsoundSplit(
                f"--device {','.join(listed)[:80]} is not the GPUs of the spec: {known or 'it has none'}"
            )
        return tuple(by_name[name] for name in listed)


def _backend(device: Device) -> str:
    entry = entries().get(device.type)
    return "CUDA" if entry is None else _BACKENDS.get(entry.file, "CUDA")
