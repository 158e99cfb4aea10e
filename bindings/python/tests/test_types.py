"""The package is typed, and its stubs say what the module has."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent


def run(*command):
    environment = {**os.environ, "MYPYPATH": str(FOLDER / "python"), "PYTHONPATH": str(FOLDER / "python")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER / "python", env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_is_content():
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy", "--config-file", str(FOLDER / "pyproject.toml"))


def test_the_stubs_are_those_of_the_module():
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy.stubtest", "absentia._core", "--ignore-missing-stub",
        "--allowlist", str(FOLDER / "tests" / "stubtest-allowlist.txt"))


def test_pyright_is_content():
    pyright = shutil.which("pyright", path=os.path.dirname(sys.executable))
    if pyright is None:
        pytest.skip("pyright is not installed")
    if subprocess.run([pyright, "--version"], capture_output=True).returncode != 0:
        pytest.skip("pyright could not fetch what it runs on")
    run(pyright, "--pythonpath", sys.executable, "absentia")
