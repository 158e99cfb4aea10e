"""The instruction set that the environment names."""

import os
import subprocess
import sys

import pytest


def import_with(name):
    environment = {**os.environ, "ABSENTIA_SIMD": name}
    command = [sys.executable, "-c", "import absentia"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_set_that_every_machine_has_is_accepted():
    assert import_with("scalar").returncode == 0


@pytest.mark.parametrize("name", ["mmx", "SCALAR"])
def test_a_set_that_the_machine_does_not_have_is_refused_at_import(name):
    refused = import_with(name)
    assert refused.returncode != 0
    assert f'ABSENTIA_SIMD is "{name}"; this machine has scalar' in refused.stderr
