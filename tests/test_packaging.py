"""What is in the tree is in the wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from mtpp_dsl.core import registry
from tests.tools.oldest import oldest
from tests.tree import ROOT, files, packages, setuptools

APART = {f"mtpp_dsl.solvers.backends.cpsat.{module}" for module in ("batch_model", "sample_model", "cpsat_worker")}
"""What imports OR-tools, which cannot be in one process with highspy."""
LEFT_OUT = (".*", "build", "dist", "*.egg-info", "__pycache__", "tests")


def test_every_package_is_listed() -> None:
    """A sub-package that is not in the list works in the editable install and is absent from the wheel."""
    assert set(setuptools()["packages"]) == packages()
    assert len(setuptools()["packages"]) == len(packages())


def test_every_folder_of_modules_is_a_package() -> None:
    """A folder of modules without an __init__.py would be left out without a word."""
    folders = {path.parent for path in files()}
    assert all((folder / "__init__.py").is_file() for folder in folders)


def test_every_built_in_is_there() -> None:
    """Every line of the registry's tables names something that can be imported."""
    for group, names in registry.BUILTIN.items():
        for name in names:
            assert registry.load(group, name) is not None


def test_every_formulation_is_registered() -> None:
    """A formulation or relaxation in a file of its own is in the table, or nobody can ask for it."""
    registered = {value.partition(":")[0] for value in registry.BUILTIN[registry.FORMULATIONS].values()}
    written = {
        name
        for path, name in files().items()
        if path.parent.name in ("formulations", "relaxations") and path.name != "__init__.py"
        if "def accepts(" in path.read_text(encoding="utf-8")
    }
    assert written <= registered


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel once, of a copy, so that no build folder of ours or of before gets in the way."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "tree", ignore=shutil.ignore_patterns(*LEFT_OUT))
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(folder / "tree")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def test_wheel_holds_the_tree(wheel: Path) -> None:
    """The wheel has every module, grammar, schema and file of rules under mtpp_dsl, and nothing at the top but that."""
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    expected = set(map(str, _installed()))
    assert expected <= inside
    assert {name.split("/")[0] for name in inside if ".dist-info/" not in name} == {"mtpp_dsl"}
    extra = {name for name in inside - expected if ".dist-info/" not in name}
    assert not extra


def test_wheel_works(wheel: Path, tmp_path: Path) -> None:
    """The wheel's own modules, not the tree's, can all be imported; OR-tools in a process of its own."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    names = {name for name in files().values() if not name.endswith("__main__")}
    for some in (names - APART, names & APART):
        code = (
            "import importlib, sys\n"
            f"sys.path.insert(0, {str(tmp_path)!r})\n"
            f"for name in {sorted(some)!r}:\n"
            "    module = importlib.import_module(name)\n"
            f"    assert module.__file__.startswith({str(tmp_path)!r}), module.__file__\n"
        )
        command = [sys.executable, "-P", "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


SUFFIXES = {".css", ".el", ".js", ".json", ".lark", ".lua", ".md", ".mtpp", ".py", ".toml", ".vim"}
"""Of modules, and of what lies beside them in the wheel."""


def _installed() -> list[Path]:
    """Return where every file of the mapped folders that is package data or a module goes."""
    return [
        Path(*package.split("."), path.relative_to(ROOT / folder))
        for package, folder in setuptools()["package-dir"].items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES or path.name == "py.typed"
    ]


@pytest.mark.parametrize("name", ["models", "solvers", "grammars"])
def test_second_copies_are_refused(name: str) -> None:
    """``import models`` from the repository root would make a second copy of every class: it is an error."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"import mtpp_dsl.{name}" in done.stderr


def test_every_requirement_names_its_oldest_version() -> None:
    """``make test-oldest`` installs these."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {line.partition("==")[0] for line in oldest(project)} >= {"highspy", "numpy", "ortools", "pyarrow"}
    with pytest.raises(ValueError, match="numpy names no oldest version"):
        oldest({"dependencies": ["numpy"], "optional-dependencies": {}})
    with pytest.raises(ValueError, match=r"numpy is asked for from 1\.0 and from 2\.0 on"):
        oldest({"dependencies": ["numpy>=1.0"], "optional-dependencies": {"fast": ["numpy>=2.0"]}})
