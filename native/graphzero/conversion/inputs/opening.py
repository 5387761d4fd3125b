"""Opens files as tables, by their names and, for text, by the first lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.locations import is_table, text_files
from graphzero.conversion.inputs.names import EdgeColumns, EdgeNames
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.inputs.tables import Table
from graphzero.conversion.inputs.text_table import TextTable
from graphzero.conversion.inputs.texts import (
    TextInput,
    are_texts,
    is_edge_header,
    is_integer,
    is_number,
    is_usual_id,
    require_edge_order,
    require_one_column,
    sample_fields,
    text_input,
)
from graphzero.conversion.tables.description import TimeDescription
from graphzero.conversion.tables.times import FoundTimes, TimeColumn, TimeWords

_TIME_WORDS = TimeWords("; --on-error skip leaves out such lines of text", "--time-unit {}")


class EdgeTable(NamedTuple):
    """A table of edges, and which of its columns are what."""

    table: Table
    columns: EdgeColumns
    texts: bool | None = None  # whether ids are texts; None: the table knows
    first_line: str = ""  # is taken as an edge, but may be names of columns
    time: TimeColumn | None = None


def open_table(path: str, options: ReadOptions) -> Table:
    """A table whose columns have names: those of the first line, if it is text."""
    if is_table(path):
        from graphzero.conversion.inputs.arrow_table import open_arrow_table

        return open_arrow_table(path, options.missing)
    if files := text_files(path):
        from graphzero.conversion.inputs.text_folder import TextFolder

        return TextFolder(path, [_named_text(file, options) for file in files])
    _require_no_folder(path)
    return _named_text(path, options)


def _require_no_folder(path: str) -> None:
    if Path(path).is_dir():
        raise InputError(
            f"{path}: found a folder without a .parquet, .arrow, .csv or .tsv file in it, expected "
            "a file or such a folder; folders inside it are not looked into"
        )


def _named_text(path: str, options: ReadOptions) -> TextTable:
    text = text_input(path)
    return _text_table(text, sample_fields(text, 1)[0], True, options)


def edge_table(
    path: str, names: EdgeNames, options: ReadOptions, texts: bool | None = None
) -> EdgeTable:
    """Edges of a text, of a folder of texts, or of a table that pyarrow reads. `texts`: whether the
    ids of a text are texts; None: this is detected."""
    if is_table(path):
        table = open_table(path, options)
        edges = EdgeTable(table, names.choose(table.name, table.columns))
    elif files := text_files(path):
        edges = _edge_folder(path, files, names, options, texts)
    else:
        _require_no_folder(path)
        edges = _edge_text(path, names, options, texts)
    return edges._replace(time=_edge_times(edges.table, edges.columns.time, options))


def _edge_text(
    path: str,
    names: EdgeNames,
    options: ReadOptions,
    texts: bool | None,
    header: bool | None = None,
) -> EdgeTable:
    """Edges of one text. `header`: whether the first line names columns; None: this is detected.
    The caller adds their times, if they have any."""
    text = text_input(path)
    sample = sample_fields(text)
    if names.given:
        columns = names.choose(path, sample[0])
        table = _text_table(text, sample[0], True, options)
        if texts is None:
            places = [sample[0].index(columns.source), sample[0].index(columns.target)]
            texts = are_texts(sample, places)
        return EdgeTable(table, columns, texts)
    if texts is None:
        texts = are_texts(sample, (0, 1))
    if header is None:
        header = is_edge_header(sample[0], texts)
    if header:
        require_edge_order(path, sample[0])
    table = _positional_table(text, sample, header, options, least=2)
    width = len(table.columns)
    if width not in (2, 3):
        hint = " (--source and --target choose columns by name)" if width > 3 else ""
        raise InputError(f"{table.place(0)}: expected 2 or 3 columns, found {width}{hint}")
    source, target = table.columns[:2]
    own = EdgeColumns(source, target, table.columns[2] if width == 3 else None)
    return EdgeTable(table, own, texts, _doubtful_first_line(sample, header, texts))


def _edge_folder(
    path: str, files: Sequence[str], names: EdgeNames, options: ReadOptions, texts: bool | None
) -> EdgeTable:
    """Edges of texts one after the other, all with a first line of names or all without. The caller
    adds their times, if they have any."""
    from graphzero.conversion.inputs.text_folder import TextFolder

    # Programs that write in parallel leave empty files.
    files = [file for file in files if sample_fields(text_input(file), 1) != [[""]]] or files[:1]
    parts = [_edge_text(file, names, options, texts) for file in files]
    if texts is None and len({part.texts for part in parts}) > 1:
        parts = _of_one_kind(files, parts, names, options)
    first = parts[0]
    for file, part in zip(files, parts, strict=True):
        if part.columns != first.columns or part.table.has_names != first.table.has_names:
            raise InputError(
                f"{file}: found columns {_shown(part)}, expected {_shown(first)} as in {files[0]}: "
                "all files of a folder begin with the same names, or none does"
            )
    table = TextFolder(path, [part.table for part in parts if isinstance(part.table, TextTable)])
    doubtful = next((part.first_line for part in parts if part.first_line), "")
    return first._replace(table=table, first_line=doubtful)


def _of_one_kind(
    files: Sequence[str], parts: Sequence[EdgeTable], names: EdgeNames, options: ReadOptions
) -> list[EdgeTable]:
    """The same files again, where the ids of some were taken for integers and those of others for
    texts: one id that is no integer makes all ids texts."""
    samples = [sample_fields(text_input(file), 2) for file in files]
    # A file of one line says nothing, if there are others: that line may be names.
    longest = max(map(len, samples))
    texts = any(
        part.texts for part, lines in zip(parts, samples, strict=True) if len(lines) == longest
    )
    # Before integers, a line of names is found by what it is; before texts it looks like them.
    known = [part.table.columns for part in parts if part.table.has_names]
    headers = [True if lines[0] in known else None for lines in samples]
    return [
        _edge_text(file, names, options, texts, header)
        for file, header in zip(files, headers, strict=True)
    ]


def _shown(edges: EdgeTable) -> str:
    names = ", ".join(map(repr, edges.table.columns))
    return names if edges.table.has_names else f"{len(edges.table.columns)} without names"


def _edge_times(table: Table, column: str | None, options: ReadOptions) -> TimeColumn | None:
    """When the edges of a table came to be, in the unit that the user stated or that they have."""
    if column is None:
        return None
    found = FoundTimes(options.time_unit)
    found.look_at(table, TimeDescription(column))
    return TimeColumn(
        table, column, found.unit(), may_round=options.time_unit is not None, words=_TIME_WORDS
    )


def node_table(
    text: TextInput, texts: bool, options: ReadOptions, *, has_ids: bool = True
) -> TextTable:
    """Values of nodes in text, after their ids if they have any. `texts`: the ids are texts."""
    sample = sample_fields(text, 2)
    if has_ids and not texts:
        header = not is_integer(sample[0][0])
    else:  # ids that are texts look like names, so the values decide
        header = any(not is_number(field) for field in sample[0][has_ids:])
    return _positional_table(text, sample, header, options, least=1)


def split_table(path: str, texts: bool, options: ReadOptions) -> TextTable:
    """A node on each line of a text."""
    text = text_input(path)
    first = sample_fields(text, 1, whole_lines=True)[0]
    require_one_column(path, first)
    header = is_usual_id(first[0]) if texts else not is_integer(first[0])
    return _text_table(text, ["1"], header, options, named=False, whole_lines=True)


def _text_table(
    text: TextInput,
    columns: Sequence[str],
    header: bool,
    options: ReadOptions,
    *,
    named: bool = True,
    whole_lines: bool = False,
) -> TextTable:
    return TextTable(
        text,
        columns,
        header=header,
        named=named,
        whole_lines=whole_lines,
        missing=options.missing,
        skip=options.skip,
        threads=options.threads,
    )


def _positional_table(
    text: TextInput, sample: list[list[str]], header: bool, options: ReadOptions, *, least: int
) -> TextTable:
    """Columns that go by their position: with the names of the header, if it fits the lines."""
    width = len(sample[1] if header and len(sample) > 1 else sample[0])
    if sample == [[""]]:
        width = least
    named = header and len(set(sample[0])) == width == len(sample[0])
    columns = sample[0] if named else [str(place + 1) for place in range(width)]
    return _text_table(text, columns, header, options, named=named)


def _doubtful_first_line(sample: list[list[str]], header: bool, texts: bool) -> str:
    """The first line, if it is taken as an edge between nodes that no other line has."""
    if header or not texts or len(sample) < 2:
        return ""
    first, others = sample[0][:2], {field for line in sample[1:] for field in line[:2]}
    return ", ".join(map(repr, first)) if not others & set(first) else ""
