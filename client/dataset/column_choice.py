"""Which columns a batch has: turns names as users give them into keys of the dataset.

Of a graph without types a key is the name. With types a plain name stands for the column of every
type and relation that has one of that name, "user/x" for that of one type, and a mapping gives
names by type or relation. A view has the columns of its relation under keys of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from graphzero.base.errors import InputError
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.errors import InvalidRequest, NotFound
from graphzero.files.column_keys import column_key

Columns: TypeAlias = Sequence[str] | Mapping[Any, Sequence[str]]


def chosen_columns(
    dataset: DatasetInfo, columns: Columns | None, seed_columns: Columns | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keys of the columns for all nodes and edges, and of the columns for the seeds alone.

    Without `columns`, the former are all node columns that are not for the seeds alone. Raises
    NotFound for names that no column has.
    """
    for_seeds = _keys(dataset, seed_columns or (), "seed_columns", of_nodes=True)
    if columns is None:
        found = tuple(name for name in dataset.node_columns if name not in for_seeds)
    else:
        found = _keys(dataset, columns, "columns", of_nodes=False)
    both = sorted(set(found) & set(for_seeds))
    if both:
        raise ValueError(f"column {both[0]!r} is in columns and in seed_columns; choose one")
    return found, for_seeds


def _keys(dataset: DatasetInfo, names: Columns, what: str, *, of_nodes: bool) -> tuple[str, ...]:
    if isinstance(names, Mapping):
        return tuple(_keys_of_mapping(dataset, names, what))
    wanted = _list(names, what)
    if not dataset.schema.typed:
        require_columns(dataset, wanted)
        return wanted
    keys: list[str] = []
    for name in wanted:
        found = [name] if name in _known(dataset) else _with_name(dataset, name, of_nodes)
        if not found:
            require_columns(dataset, [name])
            raise InvalidRequest(f"column {name!r} is by edge, expected one by node for {what}")
        keys += found
    return tuple(dict.fromkeys(keys))


def _keys_of_mapping(
    dataset: DatasetInfo, names: Mapping[Any, Sequence[str]], what: str
) -> Iterable[str]:
    schema = dataset.schema
    if not schema.typed:
        raise InvalidRequest(
            f"{what} are by type, expected a list of names: the graph has one kind of nodes"
        )
    for owner, wanted in names.items():
        directory = _directory(dataset, owner, what)
        known = dataset.by_owner[directory]
        for name in _list(wanted, f"{what}[{owner!r}]"):
            if name not in known:
                raise NotFound(
                    f"{owner!r} of dataset {dataset.name!r} has no column {name!r}, it has "
                    f"{', '.join(known) or 'none'}"
                )
            yield column_key(directory, name)


def _directory(dataset: DatasetInfo, owner: Any, what: str) -> str:
    schema = dataset.schema
    if isinstance(owner, str) and owner in schema.type_names:
        return schema.types[schema.type_number(owner)].directory
    try:
        return schema.relations[schema.relation_number(owner)].directory
    except InputError:
        types = ", ".join(map(repr, schema.type_names[:10]))
        raise NotFound(
            f"{what} has {owner!r}, expected a type, such as {types}, or a relation: "
            f"{schema.relations_text()}"
        ) from None


def _with_name(dataset: DatasetInfo, name: str, of_nodes: bool) -> list[str]:
    """Keys of all columns of that name: those of nodes and, unless `of_nodes`, of edges."""
    roles = ("node",) if of_nodes else ("node", "edge")
    return [
        column_key(directory, name)
        for directory, columns in dataset.by_owner.items()
        if name in columns and columns[name].role in roles
    ]


def require_columns(dataset: DatasetInfo, names: Iterable[str]) -> None:
    """Raises NotFound for a name or key that no column has."""
    known = _known(dataset)
    plain = {key.rpartition("/")[2] for key in known}
    for name in names:
        if name not in known and name not in plain:
            listed = ", ".join(dataset.columns) or "none"
            raise NotFound(f"dataset {dataset.name!r} has no column {name!r}, it has {listed}")


def _known(dataset: DatasetInfo) -> set[str]:
    """Every key, those of views too."""
    return {
        column_key(directory, name)
        for directory, columns in dataset.by_owner.items()
        for name in columns
    }


def _list(names: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"{what} is the text {names!r}, expected a list of names")
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ValueError(f"{what} has {repeated[0]!r} twice")
    return tuple(names)
