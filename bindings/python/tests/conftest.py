"""Lists tests that are skipped, for ``cargo xtask test`` to count."""

import os
import signal


def pytest_configure(config):
    # A shell starts background commands with Ctrl-C ignored; tests that interrupt a call would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _note(report):
    path = os.environ.get("ABSENTIA_SKIPPED_TESTS")
    if path and report.skipped:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"SKIPPED {report.nodeid}: {why}\n")


def pytest_runtest_logreport(report):
    _note(report)


def pytest_collectreport(report):
    _note(report)
