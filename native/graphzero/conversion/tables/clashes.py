"""Finds names in a description of tables that clash, or that no table has."""

from __future__ import annotations

from graphzero.base.errors import InputError
from graphzero.conversion.tables.description import (
    TIME,
    RelationName,
    TableDescription,
    TablesDescription,
)
from graphzero.files.column_keys import (
    check_directory,
    check_schema_name,
    relation_directory,
    type_directory,
)
from graphzero.files.column_names import check_column_name


def check_tables(description: TablesDescription) -> None:
    """Raises InputError for names that clash, or that no table has."""
    if not description.relations:
        raise InputError(
            f"{description.name}: found no references and no table of edges, expected one relation "
            "at least"
        )
    known = [table.name for table in description.nodes]
    of_edges = [table.name for table in description.edges]
    for relation in description.relations:
        for end in (relation.source, relation.target):
            if end in known:
                continue
            place = f"{description.name}: relation {relation.name!r}"
            if end in of_edges:
                raise InputError(
                    f"{place}: refers to table {end!r}, which has edges, expected one of nodes"
                )
            raise InputError(
                f"{place}: found no table {end!r}, expected one of {', '.join(map(repr, known))}; "
                f"[tables.{end}] without a file is one whose rows are only known by references"
            )
    _check_relations(description)
    referred = {relation.target for relation in description.relations}
    referred |= {relation.source for relation in description.relations}
    for table in description.nodes:
        if table.source is None and table.name not in referred:
            raise InputError(
                f"{description.name}: tables.{table.name}: found no file and no reference to it, "
                "expected one of them"
            )


def _check_relations(description: TablesDescription) -> None:
    taken: dict[RelationName, str] = {}
    triples = [(relation.triple, "relation") for relation in description.relations]
    for relation in description.relations:
        if relation.reverse is not None:
            view = (relation.target, relation.reverse, relation.source)
            triples.append((view, f"reverse of {relation.name!r}"))
    for triple, what in triples:
        for name in triple:
            check_schema_name(name, f"{description.name}: {what}")
        check_directory(relation_directory(*triple), triple)
        if triple in taken:
            raise InputError(
                f"{description.name}: found {' '.join(triple)} twice, as {taken[triple]} and as "
                f"{what}, expected different names; name = NAME gives a relation another, reverse "
                "= false leaves out its reverse"
            )
        taken[triple] = what
    for table in description.nodes:
        check_directory(type_directory(table.name), (table.name,))


def check_columns(table: TableDescription, place: str) -> None:
    """Raises InputError for two files of one name, or names that no column can have."""
    role = "node" if table.edges is None else "edge"
    names = [(matrix.name, role) for matrix in table.matrices]
    if table.time is not None and table.edges is None:
        names.append((TIME, role))
    if table.split is not None:
        names += [(name, "ids") for name in table.split.names]
    seen: set[str] = set()
    for name, own_role in names:
        try:
            check_column_name(name, own_role)
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        if name in seen:
            raise InputError(
                f"{place}: found two columns or splits that would be called {name!r}, expected "
                "one of a name"
            )
        seen.add(name)
