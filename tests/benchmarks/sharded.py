"""Columns dealt to two daemons, beside one daemon of the whole dataset, on the same processors.

    python tests/benchmarks/sharded.py --directory DIR
    sudo python tests/benchmarks/sharded.py --directory DIR --rate 1gbit --rate 10gbit

Turns of the two alternate, and each prints batches/s, and of the dealt one the bytes that a batch
brought over the network and which rows came from this daemon's part, from its row cache, and from
the other daemon. With --rate the other daemon runs in a network namespace behind a link of that
rate and of 0.2 ms (tc, as root), with TLS and a token. deploy/scaling.md has a model of it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import graphzero as gz
from graphzero.base.quantities import parse_count, parse_size
from graphzero.client.daemon.daemon_calls import daemon_stats

NAMESPACE = "graphzero-peer"
NEAR, FAR = "10.77.31.1", "10.77.31.2"
PORT = 7431
TOKEN = "a token of enough bytes"


@dataclass(frozen=True)
class Turn:
    batches_per_s: float
    remote_bytes: float
    own: float
    cached: float
    remote: float
    rows: float


class Daemon:
    def __init__(self, data: Path, socket: Path, *options: str, prefix: tuple[str, ...] = ()):
        self.socket = socket
        command = [*prefix, sys.executable, "-m", "graphzero.server", "--data", str(data)]
        command += ["--socket", str(socket), "--log-level", "error", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(600):
            with contextlib.suppress(gz.ClientError):
                daemon_stats(socket)
                return
            time.sleep(0.1)
        raise SystemExit(f"the daemon for {data} does not answer")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def counts(socket: Path) -> tuple[int, int, int, int]:
    """Rows of its own, rows of others, those of them in the cache, bytes that came."""
    found = [c for c in daemon_stats(socket).columns if c.column == "x"]
    return tuple(  # type: ignore[return-value]
        sum(getattr(c, name) for c in found)
        for name in ("rows", "remote_rows", "remote_cache_hits", "remote_byte_size")
    )


def turn(socket: Path, batches: int, seed: int) -> Turn:
    with gz.connect(socket, timeout=600) as client:
        loader = client.loader(
            None, fanout=[15, 10, 5], batch_size=1024, shuffle=True, seed=seed, columns=["x"]
        )
        stream = iter(loader)
        next(stream)
        before, began = counts(socket), time.perf_counter()
        for _ in range(batches):
            next(stream)
        seconds = time.perf_counter() - began
        # Batches that were made ahead are counted on both sides, nearly as many.
        own, others, hits, received = (
            after - first for after, first in zip(counts(socket), before, strict=True)
        )
        del stream
    total = max(1, own + others)
    return Turn(
        batches / seconds,
        received / batches,
        own / total,
        hits / total,
        (others - hits) / total,
        total / batches,
    )


@contextlib.contextmanager
def shaped_link(rate: str) -> Iterator[str]:
    """A namespace behind a link of that rate, 0.1 ms each way, if the kernel can delay; says so."""
    delay = "0.2 ms"

    def run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)

    run("ip", "netns", "add", NAMESPACE)
    try:
        run("ip", "link", "add", "gz-near", "type", "veth", "peer", "name", "gz-far")
        run("ip", "link", "set", "gz-far", "netns", NAMESPACE)
        inside = ("ip", "netns", "exec", NAMESPACE)
        for prefix, device, address in (((), "gz-near", NEAR), (inside, "gz-far", FAR)):
            run(*prefix, "ip", "addr", "add", f"{address}/30", "dev", device)
            run(*prefix, "ip", "link", "set", device, "up")
            add = (*prefix, "tc", "qdisc", "add", "dev", device, "root")
            try:
                run(*add, "netem", "delay", "100us", "rate", rate, "limit", "20000")
            except subprocess.CalledProcessError:  # the kernel has no netem
                run(*add, "tbf", "rate", rate, "burst", "1mb", "latency", "20ms")
                delay = "no delay added"
        yield delay
    finally:
        run("ip", "netns", "del", NAMESPACE)


def secrets(directory: Path) -> tuple[str, ...]:
    """Options of a daemon with TLS and a token."""
    certificate, key, token = (directory / n for n in ("cert.pem", "key.pem", "token"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=peer",
         "-addext", f"subjectAltName=IP:{FAR},IP:{NEAR}"],
        check=True, capture_output=True,
    )  # fmt: skip
    token.write_text(TOKEN)
    token.chmod(0o600)
    return ("--tls-certificate", str(certificate), "--tls-key", str(key),
            "--token-file", str(token), "--peer-root-certificate", str(certificate))  # fmt: skip


def compare(args: argparse.Namespace, work: Path, rate: str | None, cache: str) -> None:
    whole, parts = args.directory / "whole", args.directory / "parts"
    link = "loopback"
    prefix: tuple[str, ...] = ()
    access: tuple[str, ...] = ()
    near, far = "127.0.0.1", "127.0.0.1"
    with contextlib.ExitStack() as stack:
        if rate is not None:
            link = f"{rate}, {stack.enter_context(shaped_link(rate))}, TLS"
            prefix, near, far = ("ip", "netns", "exec", NAMESPACE), NEAR, FAR
            access = secrets(work)
        threads = ("--threads", str(args.threads))

        def daemon(data: Path, name: str, *options: str, prefix: tuple[str, ...] = ()) -> Daemon:
            started = Daemon(data, work / name, *threads, *options, prefix=prefix)
            stack.callback(started.stop)
            return started

        one = daemon(whole, "one.sock")
        daemon(parts / "part-1", "far.sock", "--listen", f"{far}:{PORT}", *access, prefix=prefix)
        options = ("--peers", f"{far}:{PORT}", "--row-cache", cache, *access)
        listen = ("--listen", f"{near}:{PORT + 1}")
        dealt = daemon(parts / "part-0", "near.sock", *options, *listen)
        turns: dict[str, list[Turn]] = {"one": [], "dealt": []}
        for number in range(args.repeat + 1):
            for name, socket in (("one", one.socket), ("dealt", dealt.socket)):
                found = turn(socket, args.batches, seed=number)
                if number:  # the first one warms up
                    turns[name].append(found)
    report(turns, link, cache)


def report(turns: dict[str, list[Turn]], link: str, cache: str) -> None:
    ratios = [b.batches_per_s / a.batches_per_s for a, b in zip(*turns.values(), strict=True)]

    def middle(name: str, field: str) -> float:
        return statistics.median(getattr(t, field) for t in turns[name])

    print(
        f"{link}, row cache {cache}: one machine {middle('one', 'batches_per_s'):.1f} batches/s, "
        f"two parts {middle('dealt', 'batches_per_s'):.1f}; ratio "
        f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}); "
        f"{middle('dealt', 'rows'):.0f} rows a batch: own {middle('dealt', 'own'):.0%}, "
        f"cached {middle('dealt', 'cached'):.0%}, remote {middle('dealt', 'remote'):.0%}, "
        f"{middle('dealt', 'remote_bytes') / 1e6:.1f} MB a batch over the network",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="for datasets, kept")
    parser.add_argument("--nodes", type=parse_count, default=500_000)
    parser.add_argument("--edges", type=parse_count, default=10_000_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--batches", type=int, default=30, help="in a turn")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rate", action="append", default=[], help="of a shaped link; needs root")
    parser.add_argument("--row-cache", action="append", default=[], help="default 0 and 1G")
    args = parser.parse_args()
    whole = args.directory / "whole"
    if not whole.exists():
        gz.generate(whole, nodes=args.nodes, edges=args.edges, dim=args.dim, progress=True)
        gz.shard_dataset(whole, args.directory / "parts", 2, progress=True)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {args.threads} threads")
    work = Path(tempfile.mkdtemp(prefix="gz-sharded-"))
    try:
        for rate in [None, *args.rate]:
            for cache in args.row_cache or ["0", "1G"]:
                parse_size(cache)
                compare(args, work, rate, cache)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
