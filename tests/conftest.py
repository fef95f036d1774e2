# SPDX-License-Identifier: MIT
"""What the suite adds to pytest's summary: how many GPU tests were skipped, and why."""

from collections import Counter


def pytest_terminal_summary(terminalreporter):
    reasons = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        reasons[str(report.longrepr[2]).removeprefix("Skipped: ")] += 1
    gpu = {reason: n for reason, n in reasons.items() if reason.startswith("GPU: ")}
    for reason, n in sorted(gpu.items()):
        terminalreporter.write_line(f"{n} GPU tests skipped: {reason.removeprefix('GPU: ')}")
    for reason, n in sorted(reasons.items()):
        if reason not in gpu:
            terminalreporter.write_line(f"{n} other tests skipped: {reason}")
