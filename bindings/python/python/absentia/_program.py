"""The program ``absentia``, run in a process of its own."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, Iterable, List, Sequence

_LOG = logging.getLogger("absentia")
_WARNING = "warning: "


def objects_of(arguments: Sequence[str], report: Callable[[Dict[str, Any]], None]) -> List[Dict[str, Any]]:
    """Runs a command with ``--json`` and yields what it printed. Each object is reported as it comes; warnings are
    logged. Raises ``ValueError`` with what the program says is wrong.
    """
    line = [sys.executable, "-m", "absentia", *arguments, "--json"]
    pipe = subprocess.PIPE
    found: List[Dict[str, Any]] = []
    errors: List[str] = []
    with subprocess.Popen(line, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace") as process:
        assert process.stdout is not None and process.stderr is not None
        # Both pipes are read at once, so that the program never waits for us.
        reader = threading.Thread(target=_logged, args=(process.stderr, errors))
        reader.start()
        try:
            for text in process.stdout:
                if text.startswith("{"):
                    found.append(json.loads(text))
                    report(found[-1])
        except BaseException:
            process.kill()
            raise
        finally:
            reader.join()
    if process.returncode != 0:
        raise ValueError(_reason(errors))
    return found


def _logged(lines: Iterable[str], errors: List[str]) -> None:
    """Logs warnings as they come, and keeps the errors."""
    for line in lines:
        text = line.rstrip()
        if text.startswith("{"):
            errors.append(text)
        elif text:
            _LOG.warning("%s", text[len(_WARNING) :] if text.startswith(_WARNING) else text)


def _reason(errors: List[str]) -> str:
    """What the program said was wrong."""
    if not errors:
        return "the program ended without a reason"
    said = json.loads(errors[-1])
    return ": ".join(part for part in (said["error"], said["hint"]) if part)
