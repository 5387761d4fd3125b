"""Copies of datasets from daemons, directories and object stores."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import legacy_writer
import numpy as np
import pytest
from certificates import make_certificate
from commands import run_graphzero
from contents import file_bytes, names
from graphzero.base.object_store import ObjectStore
from graphzero.transfer.directory_source import DirectorySource
from typed_dataset import write_typed_dataset
from waiting import wait_until

TOKEN = "a token of enough bytes"


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_typed_dataset(tmp_path_factory.mktemp("typed") / "films").path


@pytest.fixture(scope="module")
def legacy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of GraphZero 0.2, which have no checksums; three blocks of them."""
    place = tmp_path_factory.mktemp("legacy") / "old"
    place.mkdir()
    rows = [[(node + 1) % 300, (node + 7) % 300] for node in range(300)]
    (place / "graph.gl").write_bytes(legacy_writer.legacy_topology(rows))
    x = np.random.default_rng(1).random((300, 2000), dtype=np.float32)
    (place / "x.gd").write_bytes(legacy_writer.legacy_matrix(x))
    return place


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 40 MiB: several pieces of several blocks."""
    place = tmp_path_factory.mktemp("large") / "large"
    gz.generate(place, nodes=80_000, edges=200_000, dim=128, seed=3)
    return place


def fingerprint(path: Path) -> str:
    from graphzero.files.dataset import open_dataset

    return open_dataset(path).fingerprint.hex()


@pytest.mark.parametrize("kind", ["dataset", "typed", "legacy"])
@pytest.mark.parametrize("source", ["daemon", "directory", "memory", "http"])
def test_a_copy_has_the_same_bytes_and_fingerprint(
    kind: str,
    source: str,
    request: pytest.FixtureRequest,
    start_daemon: Callable[..., Any],
    tmp_path: Path,
) -> None:
    data: Path = request.getfixturevalue(kind)
    copy = tmp_path / "copy"
    if source == "daemon":
        place = str(start_daemon(data).socket)
    elif source == "directory":
        place = str(data)
    elif source == "memory":
        place = f"memory://{kind}/{os.getpid()}"
        assert gz.push(data, place) == sum(map(len, file_bytes(data).values()))
        assert gz.push(data, place) == 0  # it is there
    else:
        serve = request.getfixturevalue("web_server")
        published = tmp_path / "published"
        shutil.copytree(data, published)
        from graphzero.transfer.manifest import Manifest

        with DirectorySource(data) as files:
            found = tuple(files.files())
            old = {f.name: files.block_checksums(f) for f in found if not f.fingerprint}
            manifest = Manifest(files.fingerprint, found, old)
        (published / "graphzero.json").write_bytes(manifest.write())
        place = serve(published)
    report = gz.fetch(place, copy)
    assert file_bytes(copy) == file_bytes(data)
    assert fingerprint(copy) == fingerprint(data) == report.fingerprint
    assert report.kept_bytes == 0
    assert set(names(tmp_path)) <= {"copy", "published"}  # nothing is left beside it
    again = gz.fetch(place, copy)
    assert again.kept_bytes == again.byte_size == sum(map(len, file_bytes(data).values()))


@pytest.fixture
def web_server() -> Iterator[Callable[[Path], str]]:
    """web_server(folder) -> the URI of a web server that answers ranges."""
    started = []

    def serve(folder: Path) -> str:
        program = (
            "import sys; from aiohttp import web; app = web.Application();"
            "app.router.add_static('/', sys.argv[1]);"
            "web.run_app(app, host='127.0.0.1', port=int(sys.argv[2]), print=None)"
        )
        import socket

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen([sys.executable, "-c", program, str(folder), str(port)])
        started.append(process)

        def answers() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_until(answers, "a web server")
        return f"http://127.0.0.1:{port}"

    yield serve
    for process in started:
        process.kill()
        process.wait()


def test_token_and_tls_are_those_of_a_client(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    certificate, key = make_certificate(tmp_path)
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    options = ("--listen", "127.0.0.1:0", "--token-file", str(token))
    tls = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    address = start_daemon(dataset, *options, *tls).tcp_address
    with pytest.raises(gz.AccessDenied, match="a wrong token, or none"):
        gz.fetch(address, tmp_path / "copy", root_certificate=certificate)
    gz.fetch(address, tmp_path / "copy", root_certificate=certificate, token=TOKEN)
    assert file_bytes(tmp_path / "copy") == file_bytes(dataset)
    monkeypatch.setenv("GRAPHZERO_TOKEN", TOKEN)
    done = run_graphzero(
        "fetch", address, tmp_path / "second", "--root-certificate", certificate, check=True
    )
    assert "copied" in done.stdout


def test_one_of_several_datasets_is_named(
    start_daemon: Callable[..., Any], dataset: Path, typed: Path, tmp_path: Path
) -> None:
    both = tmp_path / "both"
    both.mkdir()
    shutil.copytree(dataset, both / "one")
    shutil.copytree(typed, both / "two")
    daemon = start_daemon(both)
    with pytest.raises(gz.NotFound, match="expected one of 'one', 'two'"):
        gz.fetch(daemon.socket, tmp_path / "copy")
    gz.fetch(daemon.socket, tmp_path / "copy", dataset="two")
    assert file_bytes(tmp_path / "copy") == file_bytes(typed)


def test_a_killed_copy_goes_on_where_it_was(
    start_daemon: Callable[..., Any], large: Path, tmp_path: Path
) -> None:
    daemon = start_daemon(large)
    copy, partial = tmp_path / "copy", tmp_path / ".copy.partial"
    program = (
        "import sys, time, graphzero.transfer.file_copy as f; real = f._write_all\n"
        "def slow(*a): time.sleep(0.05); real(*a)\n"
        "f._write_all = slow\n"
        "from graphzero.commands.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "fetch", str(daemon.socket), str(copy)]
    process = subprocess.Popen(command)

    def some_is_there() -> bool:
        found = sum(512 * f.stat().st_blocks for f in partial.rglob("*.gd"))
        return found > 8 << 20

    wait_until(some_is_there, "eight of forty megabytes")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not copy.exists()
    # What is there but wrong is not taken for right.
    with (partial / "filling/x.gd").open("r+b") as file:
        file.seek(5 << 20)
        file.write(b"damage")
    report = gz.fetch(daemon.socket, copy)
    assert 4 << 20 < report.kept_bytes < report.byte_size
    assert file_bytes(copy) == file_bytes(large)
    assert names(tmp_path) == ["copy"]


def test_a_dataset_that_is_replaced_meanwhile_is_never_a_mixture(
    start_daemon: Callable[..., Any], large: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """The second version differs in all files, and takes the place when one file is copied."""
    served, second = tmp_path / "served", tmp_path / "second"
    shutil.copytree(large, served)
    gz.generate(second, nodes=80_000, edges=200_000, dim=128, seed=4)
    daemon = start_daemon(served)
    from graphzero import _engine
    from graphzero.transfer import file_copy

    real, done = file_copy.FileCopy.run, []

    def replace_then_run(self: Any, executor: Any) -> None:
        real(self, executor)
        if not done:
            done.append(1)
            _engine.exchange_names(str(second), str(served))
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_for_output("reloaded 1 datasets")

    monkeypatch.setattr(file_copy.FileCopy, "run", replace_then_run)
    gz.fetch(daemon.socket, tmp_path / "copy")
    assert done
    assert file_bytes(tmp_path / "copy") == file_bytes(served) != file_bytes(second)


def test_a_copy_waits_until_the_daemon_has_noticed_a_replacement(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """The daemon is told after more attempts than versions are allowed."""
    served, second = tmp_path / "served", tmp_path / "second"
    shutil.copytree(dataset, served)
    gz.generate(second, nodes=2000, edges=5000, dim=8, seed=4)
    daemon = start_daemon(served)
    from graphzero import _engine
    from graphzero.transfer import fetch as fetching

    _engine.exchange_names(str(second), str(served))
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_for_output("reloaded 1 datasets")

    monkeypatch.setattr(fetching.time, "sleep", sleep)
    gz.fetch(daemon.socket, tmp_path / "copy")
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6]
    assert file_bytes(tmp_path / "copy") == file_bytes(served)


def test_a_dataset_that_is_replaced_again_and_again_is_given_up(tmp_path: Path) -> None:
    from graphzero.transfer.fetch import _Patience

    patience = _Patience(0.0)
    assert [patience.wait(version) for version in (b"1", b"2", b"3")] == [True, True, False]


def test_a_daemon_that_has_not_noticed_yet_says_so(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    served = tmp_path / "served"
    shutil.copytree(dataset, served)
    daemon = start_daemon(served)
    shutil.rmtree(served)
    shutil.copytree(dataset, served)
    with pytest.raises(gz.DatasetChanged, match="was replaced since it was opened; send the daem"):
        gz.fetch(daemon.socket, tmp_path / "copy", timeout=0.3)
    assert not (tmp_path / "copy").exists()


def test_a_damaged_source_is_named_to_the_block(dataset: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(dataset, damaged)
    with (damaged / "x.gd").open("r+b") as file:
        file.seek(4096 + 77)
        file.write(b"\xff\xff")
    with pytest.raises(gz.FormatError, match=r"x\.gd: bytes 4096 to \d+: their checksum is not"):
        gz.fetch(damaged, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    # Mended, it goes on with what was right.
    shutil.copy(dataset / "x.gd", damaged / "x.gd")
    assert gz.fetch(damaged, tmp_path / "copy").kept_bytes > 0


def test_a_daemon_gives_no_other_file(start_daemon: Callable[..., Any], dataset: Path) -> None:
    from graphzero.client.daemon.daemon_calls import open_calls

    daemon = start_daemon(dataset)
    with open_calls(daemon.socket) as calls:
        print_ = calls.files().fingerprint
        for name in ("../small/graph.gl", "/etc/passwd", "", "x", str(dataset / "x.gd")):
            with pytest.raises(gz.NotFound, match=r"expected 'graph\.gl'"):
                next(calls.read_file("", print_, name, 0, 1))
        for offset, size in ((2**63, 1), (0, 2**63), (1 << 20, 65 << 20)):
            with pytest.raises(gz.InvalidRequest, match="found"):
                next(calls.read_file("", print_, "x.gd", offset, size))
        with pytest.raises(gz.InvalidRequest, match="has changed: found fingerprint"):
            next(calls.read_file("", b"another", "x.gd", 0, 1))


def test_names_of_a_hostile_source_never_leave_the_directory(tmp_path: Path) -> None:
    from graphzero.transfer.source import checked_file_name

    for name in ("../x.gd", "a/../x.gd", "/x.gd", "a/b/x.gd", ".x.gd", "x", "a//x.gd", "a\n.gd"):
        with pytest.raises(gz.InputError, match=r"expected graph\.gl"):
            checked_file_name(name, "somewhere")
    for name in ("graph.gl", "x.gd", "user/x.gd", "a.b.c/x.gd", "city.categories.gd"):
        assert checked_file_name(name, "somewhere") == name


def test_what_is_there_is_replaced_on_request_only(
    dataset: Path, typed: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    gz.fetch(dataset, copy)
    with pytest.raises(FileExistsError, match="--overwrite"):
        gz.fetch(typed, copy)
    gz.fetch(typed, copy, overwrite=True)
    assert file_bytes(copy) == file_bytes(typed)
    assert names(tmp_path) == ["copy"]


@pytest.mark.parametrize("kind", ["dataset", "legacy"])
@pytest.mark.parametrize("source", ["daemon", "directory", "memory", "push to a directory"])
def test_a_damaged_copy_is_mended_with_overwrite(
    kind: str,
    source: str,
    request: pytest.FixtureRequest,
    start_daemon: Callable[..., Any],
    tmp_path: Path,
) -> None:
    data: Path = request.getfixturevalue(kind)
    copy, place = tmp_path / "copy", str(data)
    if source == "daemon":
        place = str(start_daemon(data).socket)
    elif source == "memory":
        place = f"memory:/{tmp_path}"
        gz.push(data, place)
    gz.fetch(place, copy)
    info = (copy / "x.gd").stat()
    flip_a_byte(copy / "x.gd")
    os.utime(copy / "x.gd", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert file_bytes(copy) != file_bytes(data)
    if source == "push to a directory":
        assert gz.push(data, str(copy), overwrite=True) > 0
    else:
        assert gz.fetch(place, copy, overwrite=True).kept_bytes == 0
    assert file_bytes(copy) == file_bytes(data)
    again = gz.fetch(place, copy, overwrite=True)
    assert again.kept_bytes == again.byte_size


def flip_a_byte(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-9, os.SEEK_END)
        byte = file.read(1)
        file.seek(-9, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize("name", ["x.gd", "graph.gl"])
def test_a_damaged_file_of_a_store_is_written_again_with_overwrite(
    dataset: Path, tmp_path: Path, name: str
) -> None:
    place = f"memory:/{tmp_path}"
    gz.push(dataset, place)
    whole = stored(place)
    damaged = bytearray(whole[name])
    damaged[-9] ^= 1
    put(place, {name: bytes(damaged)})
    assert gz.push(dataset, place) == 0  # headers are the same
    assert gz.push(dataset, place, overwrite=True) >= len(damaged)
    assert stored(place) == whole
    assert gz.push(dataset, place, overwrite=True) == 0


def test_a_disk_that_is_too_small_is_known_before(small_disk: Path, large: Path) -> None:
    with pytest.raises(OSError, match=r"needs 4\d\.\d MiB more, and the disk has"):
        gz.fetch(large, small_disk / "copy")


def test_sources_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such directory"):
        gz.fetch(tmp_path / "missing", tmp_path / "copy")
    (tmp_path / "file").touch()
    with pytest.raises(gz.InputError, match="found a file"):
        gz.fetch(tmp_path / "file", tmp_path / "copy")
    with pytest.raises(gz.InputError, match=r"found no graph\.gl"):
        gz.fetch("memory://nothing/here", tmp_path / "copy")
    with pytest.raises(gz.InputError, match="Protocol not known"):
        gz.fetch("strange://nothing/here", tmp_path / "copy")
    with pytest.raises(gz.ServerUnavailable):
        gz.fetch("127.0.0.1:1", tmp_path / "copy", timeout=0.2)
    assert not (tmp_path / "copy").exists()


def test_pushes_replace_on_request_only_and_remove_what_was_there(
    dataset: Path, typed: Path, tmp_path: Path
) -> None:
    place = f"memory://pushed/{os.getpid()}"
    gz.push(typed, place)
    with pytest.raises(gz.InputError, match="holds another dataset"):
        gz.push(dataset, place)
    gz.push(dataset, place, overwrite=True)
    gz.fetch(place, tmp_path / "copy")
    assert file_bytes(tmp_path / "copy") == file_bytes(dataset)
    import fsspec

    found = fsspec.filesystem("memory").find(f"/pushed/{os.getpid()}")
    assert len(found) == len(file_bytes(dataset)) + 1


def test_a_push_of_a_copy_with_other_times_finds_the_dataset_there(
    dataset: Path, tmp_path: Path
) -> None:
    place = f"memory:/{tmp_path}"
    gz.push(dataset, place)
    before = stored(place)
    for name, content in file_bytes(dataset).items():  # with the times of this moment
        (tmp_path / "copy").mkdir(exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(content)
    assert gz.push(tmp_path / "copy", place) == 0
    assert gz.push(tmp_path / "copy", place, overwrite=True) == 0
    assert stored(place) == before


def test_times_count_where_files_have_no_fingerprint(legacy: Path, tmp_path: Path) -> None:
    """They are what tells files of GraphZero 0.2 apart."""
    place = f"memory:/{tmp_path}"
    gz.push(legacy, place)
    copy = Path(shutil.copytree(legacy, tmp_path / "copy"))
    assert gz.push(copy, place) == 0  # copytree() keeps times
    os.utime(copy / "x.gd", ns=(1, 1))
    with pytest.raises(gz.InputError, match="holds another dataset"):
        gz.push(copy, place)


def test_web_servers_are_not_written_to(dataset: Path) -> None:
    done = run_graphzero("push", dataset, "https://me:SECRET@localhost:1/data?sig=SECRET")
    assert done.returncode == 1
    assert "https://localhost:1/data: web servers are read from" in done.stderr
    assert "push to a directory or an object store" in done.stderr
    assert "SECRET" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_store_that_can_only_be_read_is_said_to_be_one() -> None:
    """As every file system of fsspec that does not write."""
    with pytest.raises(gz.InputError, match="can only be read from; choose one that"):
        ObjectStore("http://localhost:1/folder").open_output("name")


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("strange://KEY:SECRET@bucket/folder", "strange://bucket/folder"),
        ("strange://KEY:SEC/RET@bucket/folder?SECRET=1", "strange://bucket/folder"),
        ("strange://bucket/a@b?password=SECRET", "strange://bucket/a@b"),
        ("strange://host:80/a@b", "strange://host:80/a@b"),
        ("file://KEY:SECRET@host/folder", "file://host/folder"),
    ],
)
def test_errors_show_no_credentials_of_a_uri(
    dataset: Path, tmp_path: Path, uri: str, shown: str
) -> None:
    for arguments in (("fetch", uri, tmp_path / "copy"), ("push", dataset, uri)):
        done = run_graphzero(*arguments)
        assert done.returncode == 1
        assert f"'{shown}'" in done.stderr
        assert "KEY" not in done.stderr
        assert "RET" not in done.stderr


def test_errors_of_a_file_system_show_no_credentials(
    dataset: Path, tmp_path: Path, web_server: Callable[[Path], str]
) -> None:
    """fsspec names the URI of a file that is not there as it was given."""
    gz.push(dataset, f"local://{tmp_path}/published")
    (tmp_path / "published/x.gd").unlink()
    place = web_server(tmp_path / "published")
    done = run_graphzero("fetch", place.replace("//", "//KEY:SECRET@"), tmp_path / "copy")
    assert done.returncode == 1
    assert f"{place}/x.gd" in done.stderr
    assert "SECRET" not in done.stderr


def test_a_push_that_is_under_way_is_no_dataset(dataset: Path, tmp_path: Path) -> None:
    from graphzero.transfer import push as pushing

    place = f"memory://half/{os.getpid()}"
    store = pushing.ObjectStore(place)
    with DirectorySource(dataset) as source:
        for file in source.files():
            if file.name != "graph.gl":
                with store.open_output(file.name) as stream:
                    stream.write(source.read(file, 0, file.byte_size))
    with pytest.raises(gz.InputError, match=r"found no graph\.gl"):
        gz.fetch(place, tmp_path / "copy")
    # The next push goes on: only the graph is missing.
    assert gz.push(dataset, place) == (dataset / "graph.gl").stat().st_size


def put(place: str, files: dict[str, bytes]) -> None:
    """Writes files into a folder of a store, as some other program may."""
    import fsspec

    for name, content in files.items():
        fsspec.filesystem("memory").pipe_file(f"{place.removeprefix('memory:/')}/{name}", content)


def stored(place: str) -> dict[str, bytes]:
    import fsspec

    folder = place.removeprefix("memory:/")
    memory = fsspec.filesystem("memory")
    return {p.removeprefix(f"{folder}/"): memory.cat_file(p) for p in memory.find(folder)}


@pytest.mark.parametrize(
    "name", ["x.gd", "embeddings/2024/users.gd", "user/x.gd", "old.gl", "graph.gl"]
)
def test_a_push_refuses_a_folder_with_foreign_files(
    dataset: Path, tmp_path: Path, name: str
) -> None:
    """Also one of the name and size of a file of the dataset."""
    size = (dataset / name).stat().st_size if (dataset / name).exists() else 8
    foreign = {name: b"precious" * (size // 8) + b"!" * (size % 8)}
    place = f"memory:/{tmp_path}"
    put(place, foreign)
    with pytest.raises(gz.InputError, match=f"{name}|holds another dataset"):
        gz.push(dataset, place)
    assert stored(place) == foreign


def test_a_replacement_removes_the_files_of_the_old_dataset_and_no_others(
    dataset: Path, typed: Path, tmp_path: Path
) -> None:
    place = f"memory:/{tmp_path}"
    gz.push(typed, place)
    foreign = {"embeddings/2024/users.gd": b"precious", "more.gd": b"too", "notes.txt": b"text"}
    put(place, foreign)
    gz.push(dataset, place, overwrite=True)
    expected = set(file_bytes(dataset)) | set(foreign) | {"graphzero.json"}
    assert set(stored(place)) == expected
    assert stored(place).items() >= foreign.items()
    gz.fetch(place, tmp_path / "copy")
    assert file_bytes(tmp_path / "copy") == file_bytes(dataset)


def test_names_of_a_hostile_manifest_are_not_removed(dataset: Path, tmp_path: Path) -> None:
    place = f"memory:/{tmp_path}/folder"
    gz.push(dataset, place)
    foreign = {"../x.gd": b"precious"}
    put(f"memory:/{tmp_path}", {"x.gd": b"precious"})
    listed = stored(place)["graphzero.json"].replace(b'"x.gd"', b'"../x.gd"')
    put(place, {"graphzero.json": listed})
    with pytest.raises(gz.InputError, match="found a file"):
        gz.push(dataset, place, overwrite=True)
    assert stored(f"memory:/{tmp_path}")["x.gd"] == foreign["../x.gd"]


def test_a_push_to_a_directory_is_a_copy(dataset: Path, tmp_path: Path) -> None:
    done = run_graphzero("push", dataset, tmp_path / "copy", check=True)
    assert "wrote" in done.stdout
    assert file_bytes(tmp_path / "copy") == file_bytes(dataset)
    gz.push(dataset, f"file://{tmp_path}/second")
    assert file_bytes(tmp_path / "second") == file_bytes(dataset)


def test_uris_of_files_name_the_same_place_for_pushes_and_copies(
    dataset: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(make_directory(tmp_path / "here"))
    for number, uri in enumerate(
        [
            f"file://{tmp_path}/sp%20ace",
            f"file://localhost{tmp_path}/local",
            f"FILE://{tmp_path}/upper",
            f"file://{tmp_path}/%23hash",
        ]
    ):
        gz.push(dataset, uri)
        gz.fetch(uri, tmp_path / "copies" / str(number))
    assert names(tmp_path) == ["#hash", "copies", "here", "local", "sp ace", "upper"]
    assert names(tmp_path / "here") == []
    for uri in (f"file://node-1{tmp_path}/x", f"file://{tmp_path}/x#y", "file://"):
        with pytest.raises(gz.InputError, match="expected file:///path"):
            gz.push(dataset, uri)
        with pytest.raises(gz.InputError, match="expected file:///path"):
            gz.fetch(uri, tmp_path / "copies" / "none")


def make_directory(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_push_that_is_interrupted_anywhere_leaves_no_mixture(
    dataset: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """The dataset before has a column that the new one has not. The push ends before its first
    change of the store, then before its second one, and so on."""
    before, copy = tmp_path / "before", tmp_path / "copy"
    gz.generate(before, nodes=gz.Graph(dataset).num_nodes, edges=3000, dim=16, seed=9)
    shutil.copy(before / "x.gd", before / "more.gd")
    whole = {fingerprint(before), fingerprint(dataset)}
    from graphzero.transfer.push import ObjectStore

    class Interrupted(Exception):
        pass

    for changes in range(100):
        place = f"memory://interrupted/{os.getpid()}/{changes}"
        gz.push(before, place)
        left = iter(range(changes))

        def counted(method: Any, left: Any = left) -> Any:
            def change(*arguments: Any) -> Any:
                if next(left, None) is None:
                    raise Interrupted
                return method(*arguments)

            return change

        with monkeypatch.context() as patch:
            for name in ("remove", "open_output"):
                patch.setattr(ObjectStore, name, counted(getattr(ObjectStore, name)))
            try:
                gz.push(dataset, place, overwrite=True)
                break
            except Interrupted:
                pass
        try:
            assert gz.fetch(place, copy, overwrite=True).fingerprint in whole, changes
        except gz.InputError as error:
            assert "found no graph.gl" in str(error)  # noqa: PT017 - both are right
        # The next push knows which files are left of the dataset before.
        gz.push(dataset, place, overwrite=True)
        assert set(stored(place)) == {*file_bytes(dataset), "graphzero.json"}, changes
    assert 8 < changes < 99
    assert gz.fetch(place, copy, overwrite=True).fingerprint == fingerprint(dataset)


@pytest.mark.parametrize("scheme", ["", "file://", "memory:/"])
def test_pushes_read_the_files_first_unless_told_otherwise(scheme: str, tmp_path: Path) -> None:
    """The file has no checksums, so only reading all of it shows an edge to no node."""
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "graph.gl").write_bytes(legacy_writer.legacy_topology([[1], [2], [999]]))
    place = f"{scheme}{tmp_path}/copy"
    with pytest.raises(gz.FormatError, match="999"):
        gz.push(damaged, place)
    assert names(tmp_path) == ["damaged"]
    gz.push(damaged, place, verify=False)
    gz.fetch(place, tmp_path / "second")
    assert file_bytes(tmp_path / "second") == file_bytes(damaged)


def test_a_push_of_damaged_files_leaves_the_dataset_that_is_there(
    dataset: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "graph.gl").write_bytes(legacy_writer.legacy_topology([[1], [2], [999]]))
    place = f"memory:/{tmp_path}/there"
    gz.push(dataset, place)
    with pytest.raises(gz.FormatError, match="999"):
        gz.push(damaged, place, overwrite=True)
    gz.fetch(place, tmp_path / "copy")
    assert file_bytes(tmp_path / "copy") == file_bytes(dataset)


def test_a_push_leaves_datasets_in_folders_below_alone(
    dataset: Path, typed: Path, tmp_path: Path
) -> None:
    place = f"memory:/{tmp_path}/all"
    gz.push(typed, f"{place}/below/typed")
    gz.push(dataset, place)
    gz.fetch(f"{place}/below/typed", tmp_path / "copy")
    assert file_bytes(tmp_path / "copy") == file_bytes(typed)


def test_columns_of_datasets_in_folders_below_are_not_copied(
    dataset: Path, typed: Path, tmp_path: Path
) -> None:
    """From a folder without a manifest, such as one that another program has filled."""
    place = f"memory:/{tmp_path}"
    put(place, file_bytes(dataset))
    put(f"{place}/second", file_bytes(dataset))
    put(f"{place}/typed", file_bytes(typed))
    gz.fetch(place, tmp_path / "copy")
    assert file_bytes(tmp_path / "copy") == file_bytes(dataset)
    put(f"{place}/whole", file_bytes(typed))
    gz.fetch(f"{place}/whole", tmp_path / "second")
    assert file_bytes(tmp_path / "second") == file_bytes(typed)


def test_trainers_go_on_beside_copies(
    start_daemon: Callable[..., Any], large: Path, tmp_path: Path
) -> None:
    """And clients that take nothing hold no place for ever: they end with their call."""
    from graphzero.client.daemon.daemon_calls import open_calls

    daemon = start_daemon(large)
    with open_calls(daemon.socket) as calls, gz.connect(daemon.address) as client:
        found = calls.files()
        stalled = [calls.read_file("", found.fingerprint, "x.gd", 0, 32 << 20) for _ in range(2)]
        for call in stalled:
            next(call)  # under way, and nothing more is taken
        assert client.sample(range(1000), [5, 5]).batch_size == 1000
        for call in stalled:
            call.close()
        gz.fetch(daemon.socket, tmp_path / "copy")
        assert client.sample(range(1000), [5, 5]).batch_size == 1000
    assert file_bytes(tmp_path / "copy") == file_bytes(large)
