"""The program that the package installs is the command line."""

import json
import os
import subprocess
import sys

import pytest

ROWS = "user,item\n" + "".join(f"u{at % 13},i{at * at % 11}\n" for at in range(90))


def absentia(*arguments, cwd):
    command = [sys.executable, "-m", "absentia", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_a_model_is_trained_and_recommends(tmp_path):
    (tmp_path / "ratings.csv").write_text(ROWS)
    train = "train ratings.csv --model m.absentia -k 3 --regularization 0.1 --iterations 3"
    done = absentia(*train.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = absentia("recommend", "m.absentia", "u1", "--train", "ratings.csv", "--json", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout.splitlines()[0])["user"] == "u1"


def test_exit_codes_and_messages_are_those_of_the_program(tmp_path):
    wrong = absentia("train", "--no-such-flag", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "--no-such-flag" in wrong.stderr and "Traceback" not in wrong.stderr
    absent = absentia("describe", "absent.csv", cwd=tmp_path)
    assert absent.returncode == 4


@pytest.mark.skipif("ABSENTIA_CLI" not in os.environ, reason="the program was not built")
def test_it_says_the_same_as_the_program(tmp_path):
    program = subprocess.run(
        [os.environ["ABSENTIA_CLI"], "train", "--help"], capture_output=True, text=True, check=True
    )
    assert absentia("train", "--help", cwd=tmp_path).stdout == program.stdout
