"""What ``nvidia-smi topo -m`` prints, as links: tables as machines print them, and tables that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.exchange.importers.topo import links_of_topology, read_topology
from mtpp_dsl.exchange.library.entries import FOLDER

LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""
MIXED = (
    "$ nvidia-smi topo -m\n"
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV12\tPHB\tSYS\tPXB\tSYS\t0-31,64-95\t0\t\tN/A\n"
    "GPU1\tNV12\t X \tPHB\tSYS\tPXB\tSYS\t0-31,64-95\t0\t\tN/A\n"
    "GPU2\tPHB\tPHB\t X \tSYS\tNODE\tSYS\t0-31,64-95\t0\t\tN/A\n"
    "GPU3\tSYS\tSYS\tSYS\t X \tSYS\tPIX\t32-63,96-127\t1\t\tN/A\n"
    "NIC0\tPXB\tPXB\tNODE\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tSYS\tSYS\tPIX\tSYS\t X \t\t\t\t\n" + LEGEND
)
"""Two A100 with NVLink, an L40S, and a 4090 at the other socket, with two network cards."""

OLD = """        GPU0    GPU1    GPU2    mlx4_0  CPU Affinity
GPU0     X      PIX     SOC     PHB     0-9,20-29
GPU1    PIX      X      SOC     PHB     0-9,20-29
GPU2    SOC     SOC      X      SOC     10-19,30-39
mlx4_0  PHB     PHB     SOC      X
"""
"""As older versions print it, with the name of the network card in the table."""

SWITCHED = "".join(
    f"GPU{i}"
    + "".join("     X   " if i == j else "    NV18" for j in range(8))
    + f"    {48 * (i // 4)}-47   {i // 4}\n"
    for i in range(8)
)
SWITCHED = "        " + "    ".join(f"GPU{i}" for i in range(8)) + "    CPU Affinity    NUMA Affinity\n" + SWITCHED

SPEC = """
include "links.mtpp"
graph {{
  node a (work = 1 ms, output = 1 MiB)
  node b (work = 1 ms)
  edge a -> b
}}
device gpu[i in 0..{last}] (type = {types}[i])
interconnect links (routing = direct)
minimize bottleneck
"""


def table(folder: Path, text: str) -> Path:
    path = folder / "topo.txt"
    path.write_text(text, encoding="utf-8")
    return path


def rates(folder: Path, links: str, types: list[str]) -> np.ndarray:
    """Return the bandwidths in GB/s that a spec with these links and types of devices has."""
    (folder / "links.mtpp").write_text(links, encoding="utf-8")
    said = "[" + ", ".join(f'"{kind}"' for kind in types) + "]"
    path = folder / "spec.mtpp"
    path.write_text(SPEC.replace("{types}", said).format(last=len(types) - 1), encoding="utf-8")
    joined = mtpp_dsl.load(path, search=[FOLDER]).interconnect
    assert isinstance(joined, Links)
    return joined.bandwidth / 1e9


KINDS = ["a100_80gb", "a100_80gb", "l40s", "v100_16gb"]


def test_rates_are_those_of_the_library(tmp_path: Path) -> None:
    """NVLinks count, and a PCIe path has the rate of the slower slot, whether types are given early or by the spec."""
    path = table(tmp_path, MIXED)
    late = rates(tmp_path, links_of_topology(path), KINDS)
    slow, fast, nvlink = 15.754, 31.508, 12 * 25
    expected = [[0, nvlink, fast, slow], [nvlink, 0, fast, slow], [fast, fast, 0, slow], [slow, slow, slow, 0]]
    np.testing.assert_allclose(late, expected)
    early = rates(tmp_path, links_of_topology(path, types=KINDS), ["own"] * 4)
    np.testing.assert_allclose(early, expected)


def test_given_rates_replace_those_of_the_library(tmp_path: Path) -> None:
    """Each code may have a rate of one's own; that of NV is of one NVLink."""
    text = links_of_topology(table(tmp_path, MIXED), rates={"SYS": "10 GB/s", "PHB": "20GB/s", "NV": "40 GB/s"})
    assert "include" not in text
    expected = [[0, 480, 20, 10], [480, 0, 20, 10], [20, 20, 0, 10], [10, 10, 10, 0]]
    np.testing.assert_allclose(rates(tmp_path, text, ["own"] * 4), expected)


def test_cards_and_affinities_are_remarks(tmp_path: Path) -> None:
    """The nearest network card of each GPU and its CPUs stand in comments."""
    text = links_of_topology(table(tmp_path, MIXED))
    assert "# gpu[0]: PXB to mlx5_0; CPU and NUMA affinity 0-31,64-95 0 N/A" in text
    assert "# gpu[3]: PIX to mlx5_1; CPU and NUMA affinity 32-63,96-127 1 N/A" in text


def test_older_and_switched_tables(tmp_path: Path) -> None:
    """Older words mean what newer ones do; eight GPUs at a switch have 28 links."""
    old = read_topology(table(tmp_path, OLD))
    assert old.codes[0, 1] == "PIX"
    assert old.codes[0, 2] == old.codes[2, 1] == "SYS"
    assert old.nics[2] == {"mlx4_0": "SYS"}
    text = links_of_topology(table(tmp_path, SWITCHED), types=["h100_sxm"], family="node")
    assert text.count("<-> node[") == 28
    assert '18 * nvlink_lane_of["h100_sxm"]' in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no table"),
        ("a\x00b\n" * 50, "no table"),
        (MIXED.partition("GPU2\tPHB")[0], "no row of GPU2; it is cut off"),
        (MIXED.partition("PHB\t X \tSYS\tNODE")[0], "row of GPU2 has 1 of 6 columns"),
        (MIXED.replace("GPU1\tNV12", "GPU1\tFAST", 1), "'FAST' of GPU1 is no connection"),
        (MIXED.replace("GPU1\tNV12", "GPU1\tNV", 1), "how many NVLinks"),
        (MIXED.replace("GPU1\tNV12\t X ", "GPU1\t X \tNV12", 1), "is a column missing?"),
        (MIXED.replace("GPU1\tGPU2", "GPU1\tGPU1", 1), "a column is there twice"),
        (MIXED.replace("GPU2\tPHB", "GPU1\tPHB", 1), "a second row of GPU1"),
        ("\tGPU0\tCPU Affinity\nGPU0\t X \t0-3\n", "one GPU"),
        ("\t" + "\t".join(f"GPU{i}" for i in range(200)), "at most 128"),
        ("GPU0 GPU1 \u202e" + "x" * 100_000, "no row of GPU0"),
    ],
)
def test_what_is_no_table_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """A table that is cut off, or has other words in it, is refused with its line."""
    with pytest.raises(UsageError, match=message):
        links_of_topology(table(tmp_path, text))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"types": ["a100"]}, "did you mean a100_pcie_40gb"),
        ({"types": ["l40s"]}, "no NVLink of l40s; give its rate, as --rate NV="),
        ({"types": ["h20"], "rates": {"NV": "1 GB/s"}}, "no PCIe slot of h20; give its rate, as --rate PHB="),
        ({"types": ["l4", "l4"]}, "4 GPUs and 2 types"),
        ({"rates": {"SIS": "1GB/s"}}, "did you mean 'SYS'"),
        ({"rates": {"SYS": "0 GB/s"}}, "more than zero"),
        ({"rates": {"SYS": "9 GiB"}}, "write a bandwidth"),
        ({"rates": {"SYS": "9) link gpu"}}, "write a bandwidth"),
        ({"family": "gpu (x"}, "no name of a family"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, object], message: str, tmp_path: Path) -> None:
    """A type that the library has not, or a rate that is none, is refused with what would do."""
    with pytest.raises(UsageError, match=message):
        links_of_topology(table(tmp_path, MIXED), **options)  # type: ignore[arg-type]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes a file, or prints it."""
    path, out = table(tmp_path, MIXED), tmp_path / "links.mtpp"
    assert run(["import", "topo", str(path), "-o", str(out), "--type", "a100_80gb", "--rate", "SYS=10GB/s"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["import", "topo", str(path), "--type", "a100_80gb", "--rate", "SYS=10GB/s"]) == 0
    assert capsys.readouterr().out == out.read_text()
    assert run(["import", "topo", str(path), "--rate", "SYS"]) == 2
    assert "CODE=RATE" in capsys.readouterr().err
