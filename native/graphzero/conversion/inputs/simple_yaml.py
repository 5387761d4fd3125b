"""The part of YAML that programs write into manifests: mappings by indentation, and scalars.

This saves a dependency for one file. It reads nested mappings, plain and quoted scalars, block
scalars, `{}` and `[]`, and lists of scalars. PyYAML reads all other YAML, if it is installed.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from graphzero.base.errors import InputError

_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"\[\]{},&*!|>%@`-][^#]*?|-[^\s#:][^#]*?)\s*:(?=\s|$)"""
)
_NOTHING = ("", "~", "null", "Null", "NULL")
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


class _Unknown(Exception):
    """Something that is not of this part of YAML."""


class _Line(NamedTuple):
    indent: int
    text: str
    number: int


def parse_yaml(name: str, text: str) -> Any:
    """Raises InputError, with `name`, for what cannot be read."""
    try:
        return _Reader(text).document()
    except _Unknown as problem:
        try:
            import yaml  # type: ignore[import-untyped]
        except ImportError:
            raise InputError(
                f"{name} {problem}: found YAML that only PyYAML reads; install it with: pip "
                "install pyyaml"
            ) from None
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InputError(f"{name}: not readable as YAML: {error}") from error


class _Reader:
    def __init__(self, text: str) -> None:
        self._raw = text.splitlines()
        self._at = 0  # of _raw

    def document(self) -> Any:
        line = self._peek()
        if line is not None and line.text == "---":
            self._at = line.number + 1
            line = self._peek()
        if line is None:
            return None
        value = self._mapping(line.indent)
        rest = self._peek()
        if rest is not None:
            raise _Unknown(f"line {rest.number + 1}")
        return value

    def _peek(self) -> _Line | None:
        """The next line that is neither empty nor a comment."""
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            text = raw.strip()
            if text and not text.startswith("#"):
                if raw[: len(raw) - len(raw.lstrip())].count("\t"):
                    raise _Unknown(f"line {self._at + 1}")
                return _Line(len(raw) - len(raw.lstrip(" ")), text, self._at)
            self._at += 1
        return None

    def _mapping(self, indent: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._peek()) is not None and line.indent == indent:
            match = _KEY.match(line.text)
            if match is None:
                raise _Unknown(f"line {line.number + 1}")
            key = self._scalar(match["key"], line)
            if not isinstance(key, str) or key in found:
                raise _Unknown(f"line {line.number + 1}")
            self._at += 1
            found[key] = self._value(line.text[match.end() :].strip(), line)
        if line is not None and line.indent > indent:
            raise _Unknown(f"line {line.number + 1}")
        return found

    def _value(self, text: str, line: _Line) -> Any:
        """The value of the key that `line` begins with."""
        if text.startswith("#"):
            text = ""
        if re.fullmatch(r"[|>][-+]?", text):
            return self._block(line.indent, folded=text[0] == ">", keep=text[1:])
        if text:
            return self._scalar(self._continued(text, line), line)
        below = self._peek()
        if below is not None and below.text.startswith("- ") and below.indent >= line.indent:
            return self._list(below.indent)
        if below is not None and below.indent > line.indent:
            return self._mapping(below.indent)
        return None

    def _continued(self, text: str, line: _Line) -> str:
        """A scalar that goes on in lines that are indented more: those are joined by a blank."""
        while (below := self._peek()) is not None and below.indent > line.indent:
            text = f"{text} {below.text}"
            self._at += 1
        return text

    def _list(self, indent: int) -> list[Any]:
        found = []
        while (line := self._peek()) is not None and line.indent == indent:
            if not line.text.startswith("- "):
                break
            self._at += 1
            text = line.text[2:].strip()
            if _KEY.match(text) or text.startswith("-"):
                raise _Unknown(f"line {line.number + 1}")
            found.append(self._scalar(self._continued(text, line), line))
        return found

    def _block(self, indent: int, *, folded: bool, keep: str) -> str:
        lines = []
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            if raw.strip() and len(raw) - len(raw.lstrip(" ")) <= indent:
                break
            lines.append(raw)
            self._at += 1
        margin = min((len(raw) - len(raw.lstrip(" ")) for raw in lines if raw.strip()), default=0)
        text = (" " if folded else "\n").join(raw[margin:] for raw in lines).rstrip("\n ")
        return text if keep == "-" else f"{text}\n"

    def _scalar(self, text: str, line: _Line) -> Any:
        if text.startswith('"'):
            match = re.match(r'"(?:[^"\\]|\\.)*"', text)
            if match is None or not _is_end(text[match.end() :]):
                raise _Unknown(f"line {line.number + 1}")
            try:
                return json.loads(match[0])
            except ValueError:
                raise _Unknown(f"line {line.number + 1}") from None
        if text.startswith("'"):
            match = re.match(r"'(?:[^']|'')*'", text)
            if match is None or not _is_end(text[match.end() :]):
                raise _Unknown(f"line {line.number + 1}")
            return match[0][1:-1].replace("''", "'")
        text = re.split(r"\s#", text, maxsplit=1)[0].strip()
        if text in ("{}", "[]"):
            return {} if text == "{}" else []
        if text and text[0] in "[]{},&*!|>%@`\"'#":
            raise _Unknown(f"line {line.number + 1}")
        if ": " in text or text.endswith(":"):
            raise _Unknown(f"line {line.number + 1}")
        return _plain(text)


def _is_end(rest: str) -> bool:
    return not rest.strip() or rest.strip().startswith("#")


def _plain(text: str) -> Any:
    if text in _NOTHING:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
