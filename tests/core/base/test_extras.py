"""Packages that are imported when they are needed, and the message where they are absent or broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError


def test_present() -> None:
    assert need("json.decoder", "torch").__name__ == "json.decoder"


def test_absent_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"this needs no_such_package: pip install 'mtpp-dsl\[onnx\]'"):
        need("no_such_package.part", "onnx")
    monkeypatch.setitem(sys.modules, "json", None)  # as Python marks what must not be imported
    with pytest.raises(UsageError, match=r"this needs json: pip install 'mtpp-dsl\[hf\]'"):
        need("json", "hf")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_need", "No module named 'no_such_need'"),
        ("raise OSError('libcudnn.so.9: cannot open\\nshared object')", "libcudnn.so.9: cannot open"),
    ],
)
def test_broken_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    (tmp_path / "halfway_there.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError) as caught:
        need("halfway_there", "torch")
    assert str(caught.value) == (
        f"halfway_there cannot be imported ({reason}); install it anew: pip install 'mtpp-dsl[torch]'"
    )
