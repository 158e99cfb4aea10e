"""The program ``absentia``: ``python -m absentia train ratings.csv --model movies.absentia``."""

import sys

from absentia import _core


def main() -> int:
    """Run the command line with the arguments of the process, and return its exit code."""
    return _core.run_command(["absentia", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
