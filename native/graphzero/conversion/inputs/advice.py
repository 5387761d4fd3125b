"""How users say things about columns: messages that advise something speak their language."""

from __future__ import annotations


class Advice:
    """In options of `graphzero convert`."""

    def with_type(self, column: str, asked: str) -> str:
        """How a column gets a type."""
        return f"{column}:{asked}"

    def alone(self, column: str, asked: str | None = None) -> str:
        """How a column becomes a matrix of its own."""
        return f"{column}={column}" + ("" if asked is None else f":{asked}")

    def filled(self, name: str) -> str:
        """How what is missing in a matrix gets a value."""
        return f"--fill {name}=VALUE"


class TablesAdvice(Advice):
    """In a description of tables."""

    def with_type(self, column: str, asked: str) -> str:
        return f'{{ column = "{column}", type = "{asked}" }}'

    def alone(self, column: str, asked: str | None = None) -> str:
        value = f'"{column}"' if asked is None else self.with_type(column, asked)
        return f"features = {{ {column} = {value} }}"

    def filled(self, name: str) -> str:
        return "fill = VALUE"


OPTIONS = Advice()
DESCRIPTION = TablesAdvice()
