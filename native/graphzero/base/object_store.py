"""Files of object stores and other file systems, by URIs such as s3://bucket/folder.

pyarrow knows s3, gs, abfs, hdfs and file by itself; every other scheme, such as memory or https,
goes to fsspec, if that is installed. Both find credentials and end points themselves: in
environment variables, configuration files, or parameters of the URI
(s3://bucket/folder?endpoint_override=...).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra
from graphzero.base.text import quoted

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# KEY:SECRET@ of s3://KEY:SECRET@bucket/folder. Keys of S3 have slashes, which many do not write as
# %2F: then the secret reaches beyond what is the host by the rules. A port is no secret.
_USER = re.compile(r"(?<=://)(?:[^/?#]*@|[^/?#:@]*:(?!\d+(?:[/?#]|$))[^@]*@)")
_PARAMETERS = re.compile(r"\?.*", re.DOTALL)


def is_uri(text: str) -> bool:
    """Whether `text` is a URI of a file system; unix://, a daemon's address, is not."""
    found = _URI.match(text)
    return found is not None and found[1].lower() != "unix"


def is_web(text: str) -> bool:
    """Whether `text` is a URI of a web server, which is read from and not written to."""
    found = _URI.match(text)
    return found is not None and found[1].lower() in ("http", "https")


def shown_uri(uri: str) -> str:
    """The URI without user, password and parameters, any of which may be a secret: for messages,
    which end up in logs. Other texts stay as they are."""
    return _cleaned(uri, uri)


@contextmanager
def secrets_hidden(uri: str) -> Iterator[None]:
    """Takes what may be a secret of `uri` out of the texts of exceptions that the block raises:
    file systems name the whole URI in theirs."""
    try:
        yield
    except Exception as error:
        one: BaseException | None = error
        while one is not None:
            one.args = tuple(
                _cleaned(arg, uri) if isinstance(arg, str) else arg for arg in one.args
            )
            if isinstance(one, OSError) and isinstance(one.filename, str):
                one.filename = _cleaned(one.filename, uri)
            one = one.__cause__ or one.__context__
        raise


def _cleaned(text: str, uri: str) -> str:
    """`text` without what may be a secret of `uri`."""
    for pattern in (_USER, _PARAMETERS) if is_uri(uri) else ():
        found = pattern.search(uri)
        if found is not None:
            text = text.replace(found[0], "")
    return text


def local_path(uri: str) -> str | None:
    """The path that a URI file://... names; None for other schemes. Raises InputError if it is one
    of another machine: taken for a relative path it would name a place that nobody meant."""
    found = _URI.match(uri)
    if found is None or found[1].lower() != "file":
        return None
    parts = urlsplit(uri)
    host, shown = parts.netloc.rpartition("@")[2], _USER.sub("", uri, count=1)
    expected = "expected file:///path, with %23 for # and %3F for ?"
    if parts.netloc.lower() not in ("", "localhost"):
        raise InputError(f"{quoted(shown)}: found the host {quoted(host)}, {expected}")
    if parts.query or parts.fragment or not parts.path:
        raise InputError(f"{quoted(shown)}: is no path, {expected}")
    return os.fsdecode(unquote_to_bytes(parts.path))


class StoreFile(NamedTuple):
    """A file of a store."""

    path: str
    byte_size: int
    modified_ns: int
    """0 if the store does not tell."""


class ObjectStore:
    """A folder of a store, or a file in it. Thread-safe. Errors of the store are OSError."""

    def __init__(self, uri: str) -> None:
        self.uri = shown_uri(uri)
        """For messages: without what may be secret."""
        self._fs = import_extra(
            "pyarrow.fs", "arrow", f"{quoted(self.uri)}: reading from there needs pyarrow"
        )
        self.filesystem, path = self._open(uri)
        self.path = path.rstrip("/")

    def _open(self, uri: str) -> tuple[Any, str]:
        import pyarrow

        if (path := local_path(uri)) is not None:
            return self._fs.LocalFileSystem(), path
        try:
            filesystem, path = self._fs.FileSystem.from_uri(uri)
            return filesystem, str(path)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as refused:
            return self._open_by_fsspec(uri, refused)

    def _open_by_fsspec(self, uri: str, refused: Exception) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InputError(
                f"{quoted(self.uri)}: pyarrow does not open it ({self._reason(refused, uri)}), and "
                "fsspec, which may, is not installed; run: pip install fsspec"
            ) from None
        try:
            filesystem, path = url_to_fs(uri)
        except (ValueError, ImportError) as error:
            # `from None`: the text of the other error may have the URI as it was given.
            raise InputError(f"{quoted(self.uri)}: {self._reason(error, uri)}") from None
        return self._fs.PyFileSystem(self._fs.FSSpecHandler(filesystem)), str(path)

    def _reason(self, error: Exception, uri: str) -> str:
        """What an error says, in one line and without the secrets of the URI."""
        return " ".join(_cleaned(str(error), uri).split())

    def below(self, name: str) -> str:
        """The path of a file in this folder."""
        return f"{self.path}/{name}" if name else self.path

    def name_of(self, file: StoreFile) -> str:
        """The name of a file of this folder, as find() takes it."""
        return file.path.removeprefix(self.path).lstrip("/")

    def find(self, name: str = "") -> StoreFile | None:
        """The file `name` of this folder, or the file that the URI itself names; None if there is
        no such file."""
        info = self.filesystem.get_file_info(self.below(name))
        return self._found(info) if info.type == self._fs.FileType.File else None

    def files(self) -> list[StoreFile]:
        """All files in this folder and below, sorted by path; [] if there is no such folder."""
        selector = self._fs.FileSelector(self.path, allow_not_found=True, recursive=True)
        found = self.filesystem.get_file_info(selector)
        return sorted(self._found(info) for info in found if info.type == self._fs.FileType.File)

    def _found(self, info: Any) -> StoreFile:
        modified = info.mtime_ns
        return StoreFile(info.path, info.size or 0, modified if modified and modified > 0 else 0)

    def open_file(self, path: str) -> Any:
        """A pyarrow.NativeFile for reads at any offset."""
        return self.filesystem.open_input_file(path)

    def read_all(self, name: str, most: int) -> bytes:
        """A small file of this folder. Raises InputError if it has more than `most` bytes."""
        with self.filesystem.open_input_stream(self.below(name)) as stream:
            data = bytes(stream.read(most + 1))
        if len(data) > most:
            raise InputError(f"{self.uri}/{name}: found more than {most} bytes, expected less")
        return data

    def open_output(self, name: str) -> Any:
        """A stream that becomes a file of this folder when it is closed."""
        path = self.below(name)
        parent = path.rpartition("/")[0]
        try:
            if parent:
                self.filesystem.create_dir(parent, recursive=True)
            return self.filesystem.open_output_stream(path)
        except NotImplementedError:
            raise InputError(
                f"{self.uri}/{name}: this kind of store can only be read from; choose one that "
                "can be written to, such as s3://bucket/folder or a directory"
            ) from None

    def remove(self, name: str) -> None:
        """Removes a file of this folder, if there is one."""
        if self.find(name) is not None:
            self.filesystem.delete_file(self.below(name))
