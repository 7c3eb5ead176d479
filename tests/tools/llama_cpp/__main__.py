"""Build the program that says where llama.cpp has the tensors of a model; with --bench those that measure it."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

PACKAGE = "llama-cpp-python==0.3.36"
"""With the llama.cpp of October 2026."""
HERE = Path(__file__).resolve().parent
BENCH = ("llama-bench", "ggml-rpc-server", "llama-fit-params")
WITHOUT = ("LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_SERVER", "LLAMA_BUILD_TESTS", "LLAMA_OPENSSL", "BUILD_SHARED_LIBS")


def main() -> None:
    """Fetch the sources, and compile what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.llama_cpp", description=__doc__)
    parser.add_argument("folder", type=Path, help="where sources and programs go: build/llama-cpp")
    parser.add_argument("--bench", action="store_true", help=f"build {', '.join(BENCH)}, for this processor")
    asked = parser.parse_args()
    source = fetched(asked.folder)
    if asked.bench:
        off = [f"-D{name}=OFF" for name in WITHOUT]
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_RPC=ON", "-DLLAMA_BUILD_TOOLS=ON", *off]
        compiled(source, asked.folder / "made-bench", BENCH, options)
        for name in BENCH:
            (asked.folder / "made-bench" / "bin" / name).replace(asked.folder / name)
    else:
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", f"-DLLAMA_CPP={source.resolve()}"]
        compiled(HERE, asked.folder / "made", ["placement"], options)
        (asked.folder / "made" / "placement").replace(asked.folder / "placement")


def fetched(folder: Path) -> Path:
    """Fetch the sources into *folder* unless they are there; return where llama.cpp is."""
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob("llama_cpp_python-*.tar.gz")):
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "llama-cpp-python", PACKAGE]
        subprocess.run([*pip, "--dest", str(folder)], check=True)
    archive = next(folder.glob("llama_cpp_python-*.tar.gz"))
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz") / "vendor" / "llama.cpp"


def compiled(source: Path, made: Path, targets: Sequence[str], options: Sequence[str]) -> None:
    """Compile programs of *source* in the folder *made*."""
    subprocess.run(["cmake", "-S", str(source), "-B", str(made), *options], check=True)
    subprocess.run(["cmake", "--build", str(made), "--parallel", "2", "--target", *targets], check=True)


if __name__ == "__main__":
    main()
