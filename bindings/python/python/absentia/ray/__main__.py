"""``python -m absentia.ray train CONFIG.toml``: the job of ``absentia train --config`` on a cluster."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from typing import List, Optional

from .. import _core
from ._fit import fit
from ._ray import load


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m absentia.ray", description="Trains a model on a Ray cluster.")
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="train the job of a configuration file")
    train.add_argument("config", metavar="CONFIG.toml", help="a configuration file of absentia train")
    train.add_argument("--address", help="the cluster: auto, or HOST:PORT; without it, Ray starts on this machine")
    train.add_argument("--workers", type=int, required=True, help="number of workers")
    train.add_argument("--threads", type=int, default=1, help="threads and CPUs of each worker [default: 1]")
    train.add_argument("--model", help="where to write the model, if not as the file says; the first worker writes it")
    train.add_argument("--checkpoint", help="folder of checkpoints that all workers reach, or a URL of fsspec")
    every = int(_core.default_of("train", "checkpoint-every"))
    train.add_argument("--checkpoint-every", type=int, default=every, help=f"sweeps between checkpoints [default: {every}]")
    train.add_argument("--resume", action="store_true", help="go on from the last checkpoint, if there is one")
    return parser


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs a command and yields its exit code."""
    given = _arguments().parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.getLogger("absentia").setLevel(logging.INFO)
    try:
        settings, model, checkpoint = _core.job_of_file(given.config)
        keys = json.loads(settings)
        path = given.model or model
        if path is None:
            raise ValueError(f"{given.config} names no model; add model = \"FILE\" or give --model FILE")
        ray = load()
        ray.init(address=given.address, log_to_driver=False, logging_level="ERROR", ignore_reinit_error=True)
        # The threads of the file are those of one machine.
        keys.pop("threads", None)
        source = keys.pop("data", [])
        with fit(
            [source] if isinstance(source, str) else source,
            keys,
            workers=given.workers,
            num_threads=given.threads,
            checkpoint=given.checkpoint or checkpoint,
            checkpoint_every=given.checkpoint_every,
            resume=given.resume,
            callback=lambda sweep, seconds, objective: print(f"sweep {sweep}: J = {objective:.6g}, {seconds:.2f} s", flush=True),
        ) as run:
            run.save(path)
            print(f"{run.stop_reason} after {len(run.history)} sweeps; the model is in {path}")
    except (ValueError, OSError, ImportError, RuntimeError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
