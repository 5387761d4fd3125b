"""Each room's README maps its files. Rooms of the Python package, sub-packages of the client, and
folders of the sampler and of the file format import one way only."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "native/graphzero"
MAP = (PACKAGE / "README.md").read_text()
ROOMS = [room.partition("/")[0] for room in re.findall(r"^\| `([a-z/]+)/` \|", MAP, re.MULTILINE)]
MODULES = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE]
# Every other room, whose map is what its README has before the first section.
OTHER_ROOMS = [
    path
    for path in [*PROJECT.glob("native/*"), PROJECT / "server", PROJECT / "client"]
    if path.is_dir() and path.name not in ("graphzero", "third_party", "__pycache__")
]
CLIENT = PROJECT / "client"
CLIENT_MAP = (CLIENT / "README.md").read_text()
CLIENT_ROOMS = list(dict.fromkeys(re.findall(r"^\| (\w+)/", CLIENT_MAP, re.MULTILINE)))
CLIENT_MODULES = [path for path in CLIENT.rglob("*.py") if path.parent != CLIENT]
ADAPTERS = ("pyg", "ray")  # sub-packages that use a client as their users do


def imported(tree: ast.AST) -> Iterator[str]:
    """Modules that are imported when the code runs, also inside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
        yield from imported(node)


def test_the_map_names_every_room() -> None:
    assert set(ROOMS) == {path.relative_to(PACKAGE).parts[0] for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_from_rooms_above_it_only(path: Path) -> None:
    own = ROOMS.index(path.relative_to(PACKAGE).parts[0])
    tree = ast.parse(path.read_text())
    found = {name.split(".")[1] for name in imported(tree) if name.startswith("graphzero.")}
    assert found & set(ROOMS) <= set(ROOMS[: own + 1])
    assert "server" not in found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_map_names_every_module(path: Path) -> None:
    assert path.stem == "__init__" or f"`{path.stem}`" in MAP


def room_of(path: Path) -> str:
    return path.relative_to(CLIENT).parts[0]


def test_the_map_of_the_client_names_every_sub_package() -> None:
    assert set(CLIENT_ROOMS) == {room_of(path) for path in CLIENT_MODULES}


@pytest.mark.parametrize(
    "path",
    [path for path in CLIENT_MODULES if room_of(path) not in ADAPTERS],
    ids=lambda path: str(path.relative_to(CLIENT)),
)
def test_a_sub_package_of_the_client_imports_from_those_below_it_only(path: Path) -> None:
    below = CLIENT_ROOMS[CLIENT_ROOMS.index(room_of(path)) :]
    names = set(imported(ast.parse(path.read_text())))
    if room_of(path) == "batches":
        names.discard("graphzero.client.pyg.data")  # to_pyg() imports it, for users who have PyG
    found = {name.split(".")[2] for name in names if name.startswith("graphzero.client.")}
    assert found <= {*below, "errors"}
    assert not any(name.startswith("graphzero.server") for name in names)


def map_of_files(document: str) -> str:
    """The text before the first section, and a section called Files."""
    first, *sections = re.split(r"^##+ ", document, flags=re.MULTILINE)
    return "".join([first, *(text for text in sections if text.startswith("Files\n"))])


@pytest.mark.parametrize("room", OTHER_ROOMS, ids=lambda room: str(room.relative_to(PROJECT)))
def test_the_map_of_a_room_names_every_file(room: Path) -> None:
    told = map_of_files((room / "README.md").read_text())
    files = {path.stem for path in room.rglob("*") if path.suffix in (".h", ".cpp", ".py")}
    unnamed = files - set(re.findall(r"\w+", told)) - {"__init__", "__main__"}
    assert not unnamed, f"{room.name}/README.md does not say where these are: {sorted(unnamed)}"
    assert sum(line.startswith("|") for line in told.splitlines()) <= 2 + 20


@pytest.mark.parametrize("room", ["sample", "store"])
def test_a_folder_includes_folders_below_it_in_the_map_only(room: str) -> None:
    place = PROJECT / "native" / room
    told = map_of_files((place / "README.md").read_text())
    # Files that lie in the room itself come below all folders.
    order = [*re.findall(r"^\| ([a-z]+)/ \|", told, re.MULTILINE), ""]
    assert set(order[:-1]) == {path.name for path in place.iterdir() if path.is_dir()}
    for path in place.rglob("*"):
        if path.suffix not in (".h", ".cpp"):
            continue
        own = "" if path.parent == place else path.parent.name
        for found in re.findall(rf'#include "{room}/(?:(\w+)/)?\w+\.h"', path.read_text()):
            assert order.index(found) >= order.index(own), f"{path} includes from {room}/{found}"
