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


def test_the_page_on_clusters_runs(tmp_path):
    """Every command of the page, on two workers of this machine."""
    pytest.importorskip("ray")
    pd = pytest.importorskip("pandas")
    page = (REPOSITORY / "docs/cluster.md").read_text()
    shared, events = tmp_path / "shared", tmp_path / "events"
    shared.mkdir()
    events.mkdir()
    rows = [(f"u{at % 40}", f"i{at * 7 % 23}") for at in range(400)]
    pd.DataFrame(rows, columns=["user", "item"]).to_parquet(events / "a.parquet")
    settings = 'data = ["events/*.parquet"]\nmodel = "shared/again.absentia"\nfactors = 4\nregularization = 0.01\n'
    (tmp_path / "run.toml").write_text(settings)

    def here(text):
        text = text.replace("/shared", str(shared)).replace("factors=64", "factors=4").replace("--threads 16", "--threads 1")
        return text.replace("workers=8", "workers=2").replace("--workers 8", "--workers 2").replace("--address auto ", "")

    blocks = re.findall(r"```(python|sh)\n(.*?)```", page, re.S)
    commands = [here(block) for language, block in blocks if language == "sh" and "pip install" not in block]
    assert len(blocks) == 4 and len(commands) == 1
    programs = [here(block) for language, block in blocks if language == "python"]
    run([sys.executable, "-c", programs[0]], tmp_path)
    # Another run has other checkpoints.
    command = commands[0].replace("run-1", "run-2").split()
    run([sys.executable, *command[1:]], tmp_path)
    run([sys.executable, "-c", programs[1]], tmp_path)
    assert (shared / "model.absentia").read_bytes() and (shared / "again.absentia").exists()
    listed = pd.concat(pd.read_parquet(path) for path in (shared / "lists").glob("*.parquet"))
    assert listed["user"].nunique() == 40


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
