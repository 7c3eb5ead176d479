"""``mtpp devices``: the list, parts of names, one entry with its sources, and a name that is not there."""

from __future__ import annotations

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.exchange.library.entries import entries


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a name all types are there, with their figures, and -q prints the names alone."""
    assert run(["devices"]) == 0
    out = capsys.readouterr().out
    assert "rtx_4090                    24 GB       1008 GB/s    fp32 82.6, tf32 82.6, fp16 165.2" in out
    assert "\na100_80gb, a100_sxm_80gb " in out  # two names of one device share a row
    assert "\na100_pcie_40gb " in out
    assert run(["devices", "-q"]) == 0
    types = [name for name, entry in entries().items() if entry.kind == "type"]
    assert capsys.readouterr().out.split() == types


def test_parts_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    """A part of a name lists types and links alike, and says how to use them."""
    assert run(["devices", "pcie4"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split() == ["pcie4_x16", "links/pcie.mtpp", "31.508", "GB/s"]
    assert 'include "links/pcie.mtpp"' in err
    assert run(["devices", "gaudi", "-q"]) == 0
    assert capsys.readouterr().out.split() == ["gaudi2", "gaudi3", "gaudi3_scale_up", "gaudi3_scale_out"]


def test_one_entry(capsys: pytest.CaptureFixture[str]) -> None:
    """A whole name shows the statement with its remarks and sources; another name is refused."""
    assert run(["devices", "a100_80gb"]) == 0
    out = capsys.readouterr().out
    assert "# a100_80gb is a100_sxm_80gb, the SXM module" in out
    assert "# Source: ai-dynamo/aiconfigurator" in out
    assert "type a100_80gb (peak = { fp32: 19.5 TFLOP/s" in out
    assert run(["devices", "h100sxm"]) == 2
    assert "did you mean 'h100_sxm'?" in capsys.readouterr().err
