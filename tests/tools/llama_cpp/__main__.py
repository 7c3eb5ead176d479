"""Build the program that says where llama.cpp has the tensors of a model."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

PACKAGE = "llama-cpp-python==0.3.36"
"""With the llama.cpp of October 2026."""
HERE = Path(__file__).resolve().parent


def main(folder: Path) -> None:
    """Fetch the sources into *folder*, and compile there."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "llama-cpp-python", PACKAGE]
    subprocess.run([*pip, "--dest", str(folder)], check=True)
    archive = next(folder.glob("llama_cpp_python-*.tar.gz"))
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    source = folder / archive.name.removesuffix(".tar.gz") / "vendor" / "llama.cpp"
    made = folder / "made"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", f"-DLLAMA_CPP={source.resolve()}"]
    subprocess.run(["cmake", "-S", str(HERE), "-B", str(made), *options], check=True)
    subprocess.run(["cmake", "--build", str(made), "--target", "placement"], check=True)
    (made / "placement").replace(folder / "placement")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
