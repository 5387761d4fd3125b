"""Ray Data prepares tables, on as many machines as it has, and graphzero convert takes them so.

    pip install "graphzero-server[arrow]" "ray[data]"
    python ray_data.py

Phone calls are cleaned and summed up for each caller. What Ray Data writes are folders of Parquet
files; their ids, whatever they are, their columns by name and their order need no further step.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

# Before Ray is imported: it reports its use to its makers otherwise, and looks for this machine at
# the address that it has for others.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

import graphzero as gz
import numpy as np
import ray
import ray.data
from ray.data.aggregate import Count, Mean

CALLS = 5000
PEOPLE = 300
CONVERT = """convert --edges calls --source caller --target callee --weight minutes --relabel
    --nodes people --id-column caller --columns x=mean,count --fill x=0 --out dataset --overwrite"""


def write_raw_calls(folder: Path) -> None:
    """Text files as a phone company might have them; a call of 0 seconds was not answered."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for day in range(4):
        callers, callees = rng.integers(0, PEOPLE, (2, CALLS // 4)) * 7919 + 10**9
        seconds = rng.integers(0, 600, CALLS // 4) * (rng.random(CALLS // 4) > 0.2)
        rows = zip(callers, callees, seconds, strict=True)
        lines = [f"{caller},{callee},{duration}" for caller, callee, duration in rows]
        (folder / f"day{day}.csv").write_text("\n".join(["caller,callee,seconds", *lines, ""]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("phone"), help="where all of it goes")
    folder = parser.parse_args().folder.absolute()
    write_raw_calls(folder / "raw")
    ray.init(
        num_cpus=2,
        object_store_memory=200 << 20,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
    )
    calls = (
        ray.data.read_csv(str(folder / "raw"))
        .filter(expr="seconds > 0")
        .map_batches(lambda batch: {**batch, "minutes": batch["seconds"] / 60})
    )
    calls.write_parquet(str(folder / "calls"))
    people = calls.groupby("caller").aggregate(
        Mean("minutes", alias_name="mean"), Count(alias_name="count")
    )
    people.write_parquet(str(folder / "people"))
    ray.shutdown()
    subprocess.run([sys.executable, "-m", "graphzero", *CONVERT.split()], cwd=folder, check=True)
    graph, x = gz.Graph(folder / "dataset"), gz.FeatureStore(folder / "dataset/x.gd")
    print(f"people            {graph.num_nodes}")
    print(f"calls             {graph.num_edges}")
    print(f"columns           {' '.join(x.columns)}")


if __name__ == "__main__":
    main()
