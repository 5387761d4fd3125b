"""Mistakes on the command line, and what `--help` says."""

from __future__ import annotations

import pytest
from graphzero.commands.cli import main
from graphzero.server.settings.config import parse_command_line


def mistake(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """What `graphzero` says about a wrong command line."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    return capsys.readouterr().err


def help_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as exit_:
        main([*arguments, "--help"])
    assert exit_.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--overwite"], "unknown option --overwite; did you mean --overwrite?"),
        (["--weigth=cost"], "unknown option --weigth; did you mean --weight?"),
        (["--zzz", "7"], "unknown option --zzz"),
        (["--direction"], "argument --direction: expected one argument"),
    ],
)
def test_a_command_itself_names_its_mistake_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    found = mistake(capsys, ["convert", "--edges", "a", "--out", "b", *arguments])
    assert found == f"graphzero convert: error: {message} (graphzero convert --help lists all)\n"


def test_an_argument_too_many_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = mistake(capsys, ["info", "a", "b"])
    assert found.startswith("graphzero info: error: unexpected argument 'b' ")


def test_the_daemon_names_a_mistake_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        parse_command_line(["--data", "d", "--lsten", "7171"], {})
    assert exit_.value.code == 2
    assert capsys.readouterr().err == (
        "graphzero-server: error: unknown option --lsten; did you mean --listen? (graphzero-server "
        "--help lists all)\n"
    )


def test_the_daemon_takes_its_data_without_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    given = parse_command_line(["--data", "d"], {})
    assert parse_command_line(["d"], {"GRAPHZERO_DATA": "e"}).data == given.data
    with pytest.raises(SystemExit):
        parse_command_line(["d", "--data", "e"], {})
    assert "found 'd' and --data 'e', expected one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("serve", "; the daemon is started with: graphzero-server --data DIR"),
        ("server", "; the daemon is started with: graphzero-server --data DIR"),
        ("convrt", "; did you mean 'convert'?"),
        ("zzz", "; graphzero --help lists all"),
    ],
)
def test_a_command_that_does_not_exist_is_answered_with_what_may_be_meant(
    capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    expected = f"graphzero: error: there is no command '{command}'{message}\n"
    assert mistake(capsys, [command, "--data", "x"]) == expected


def test_the_help_lists_commands_by_name_and_says_how_to_serve(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = help_of(capsys)
    assert text.endswith("The daemon is a command of its own: graphzero-server --data DIR\n")
    listed = text.partition("COMMAND\n")[2].partition("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines()]
    assert "convert" in names
    assert names == sorted(names)


@pytest.mark.parametrize("command", ["bench", "export", "generate", "quantise"])
def test_descriptions_are_wrapped_and_keep_names_as_they_are(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    text = help_of(capsys, command)
    assert max(map(len, text.splitlines())) <= 90
    assert "parquet or .npy" not in text
