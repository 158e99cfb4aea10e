"""Lists tests that are skipped, for ``cargo xtask test`` to count."""

import os


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
