"""Every example runs and says what it should, and so does every block of the documentation."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent
EXAMPLES = FOLDER / "examples"
REPOSITORY = FOLDER.parent.parent

# A line that each must print, and the package without which it has nothing to show.
SAYS = {
    "compare_weights": (r"uniform: ndcg@10 0\.\d+", "matplotlib"),
    "exposure": (r"with exposure Evaluation\(", None),
    "first_model": (r"jaws: ", None),
    "from_implicit": (r"loaded: True", "implicit"),
    "optuna_search": (r"best ndcg@10 0\.\d+ with \{'mean'", "optuna"),
}


def run(command, cwd):
    environment = {**os.environ, "PYTHONPATH": str(FOLDER / "python"), "MPLCONFIGDIR": str(cwd)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_is_listed():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_the_example_runs(name, tmp_path):
    line, package = SAYS[name]
    if package is not None:
        pytest.importorskip(package)
    assert re.search(line, run([sys.executable, str(EXAMPLES / f"{name}.py")], tmp_path))
    if name == "compare_weights":
        picture = (tmp_path / "compare_weights.png").read_bytes()
        assert picture.startswith(b"\x89PNG") and len(picture) > 5000


def test_the_first_model_takes_ten_lines():
    code = (EXAMPLES / "first_model.py").read_text().split('"""')[-1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize("page", ["docs/python.md", "docs/tutorial.md", "README.md"])
def test_the_documentation_runs(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (REPOSITORY / page).read_text(), re.S)
    assert blocks
    rows = "user,item\nann,jaws\nann,up\nbob,jaws\nbob,up\nbob,alien\ncy,alien\n"
    (tmp_path / "ratings.csv").write_text(rows)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "train.csv").write_text(rows)
    (tmp_path / "parts" / "test.csv").write_text("user,item\nann,alien\n")
    run([sys.executable, "-c", "\n".join(blocks)], tmp_path)
