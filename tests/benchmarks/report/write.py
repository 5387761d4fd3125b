"""Writes a report into a folder: report.json, report.md, and plots.

python tests/benchmarks/report/write.py build/bench/report    # anew from its report.json
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from report.document import Report
from report.markdown import markdown
from report.plots import draw


def write_report(report: Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    report.write(folder / "report.json")
    (folder / "report.md").write_text(markdown(report, draw(report, folder)))


if __name__ == "__main__":
    write_report(Report.read(Path(sys.argv[1]) / "report.json"), Path(sys.argv[1]))
