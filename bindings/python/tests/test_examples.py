"""Every example runs, and so does every block of docs/python.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent
DOCS = FOLDER.parent.parent / "docs" / "python.md"


def run(command, cwd):
    environment = {**os.environ, "PYTHONPATH": str(FOLDER / "python")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("example", sorted((FOLDER / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_example_runs(example, tmp_path):
    run([sys.executable, str(example)], tmp_path)


def test_the_documentation_runs(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.S)
    assert blocks
    run([sys.executable, "-c", "\n".join(blocks)], tmp_path)
