"""The rooms of the Python package, as native/graphzero/README.md maps them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "native/graphzero"
MAP = (PACKAGE / "README.md").read_text()
ROOMS = [room.partition("/")[0] for room in re.findall(r"^\| `([a-z/]+)/` \|", MAP, re.MULTILINE)]
MODULES = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE]


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
