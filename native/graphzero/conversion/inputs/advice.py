"""How messages phrase advice about columns: as the options or the keys that the user works with."""

from __future__ import annotations

from collections.abc import Sequence


class Advice:
    """Advice in terms of options of `graphzero convert`."""

    def with_type(self, column: str, asked: str) -> str:
        """How a column gets a type."""
        return f"{column}:{asked}"

    def alone(self, column: str, asked: str | None = None) -> str:
        """How a column becomes a matrix of its own."""
        return f"{column}={column}" + ("" if asked is None else f":{asked}")

    def filled(self, name: str, value: str) -> str:
        """How missing values of a matrix get a value."""
        return f"--fill {name}={value}"

    def as_floats(self, name: str, columns: Sequence[str]) -> str:
        """How a matrix of these columns gets a type that has NaN."""
        return f"{name}={','.join(columns)}:float32"


class TablesAdvice(Advice):
    """Advice in terms of keys of a description of tables."""

    def with_type(self, column: str, asked: str) -> str:
        return f'{{ column = "{column}", type = "{asked}" }}'

    def alone(self, column: str, asked: str | None = None) -> str:
        value = f'"{column}"' if asked is None else self.with_type(column, asked)
        return f"features = {{ {column} = {value} }}"

    def filled(self, name: str, value: str) -> str:
        return f"fill = {value}"

    def as_floats(self, name: str, columns: Sequence[str]) -> str:
        return 'type = "float32"'


OPTIONS = Advice()
DESCRIPTION = TablesAdvice()
