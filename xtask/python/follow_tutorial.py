"""Follows docs/tutorial.md as someone new would: `python follow_tutorial.py REPOSITORY`, part of `cargo xtask wheel`.

Runs every command and program of the page, in a folder that has a CSV file and nothing else, with the package and the
program of this interpreter's environment alone.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FILMS = "heat alien up jaws big ran her tron drive fargo shrek m selma coco".split()


def ratings():
    """A table of the form that the page describes: two tastes, times in order."""
    yield "user,item,rating,time"
    for user in range(24):
        name = {0: "ann", 1: "bob"}.get(user, f"user{user}")
        for at in range(7):
            film = (user % 2 * 7 + (user // 2 + at) % 7) if at < 5 else (user * 5 + at * 3) % 14
            yield f"{name},{FILMS[film]},{1 + (user + film * 3 + at) % 5},{1_500_000_000 + user * 1000 + at * 10}"


def main():
    page = (Path(sys.argv[1]) / "docs/tutorial.md").read_text()
    blocks = re.findall(r"```(console|python)\n(.*?)```", page, re.S)
    programs = Path(sys.executable).parent
    environment = {"PATH": os.pathsep.join([str(programs), os.defpath]), "HOME": os.environ.get("HOME", "")}
    commands = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "ratings.csv").write_text("\n".join(ratings()) + "\n")
        for language, block in blocks:
            if language == "console":
                lines = [["sh", "-c", line[2:]] for line in block.splitlines() if line.startswith("$ ")]
            else:
                lines = [[sys.executable, "-c", block]]
            for line in lines:
                print("$", line[-1].strip(), flush=True)
                subprocess.run(line, cwd=folder, env=environment, check=True)
                commands += 1
    assert commands >= 10, commands
    print(f"all {commands} commands of the tutorial ran")


if __name__ == "__main__":
    main()
