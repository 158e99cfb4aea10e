"""Follows docs/tutorial.md as someone new would: `python follow_tutorial.py REPOSITORY [PROGRAMS]`, part of
`cargo xtask wheel`.

Runs every command and program of the page, in a folder that has the CSV file of the page and nothing else, with the
package and the program of this interpreter's environment alone, or with the `python` and `absentia` of another folder.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    docs = Path(sys.argv[1]) / "docs"
    page = (docs / "tutorial.md").read_text()
    blocks = re.findall(r"```(console|python)\n(.*?)```", page, re.S)
    programs = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(sys.executable).parent
    environment = {"PATH": os.pathsep.join([str(programs), os.defpath]), "HOME": os.environ.get("HOME", "")}
    commands = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(docs / "ratings.csv", folder)
        for language, block in blocks:
            if language == "console":
                lines = [["sh", "-c", line[2:]] for line in block.splitlines() if line.startswith("$ ")]
            else:
                lines = [[str(programs / "python"), "-c", block]]
            for line in lines:
                print("$", line[-1].strip(), flush=True)
                subprocess.run(line, cwd=folder, env=environment, check=True)
                commands += 1
    assert commands >= 10, commands
    print(f"all {commands} commands of the tutorial ran")


if __name__ == "__main__":
    main()
