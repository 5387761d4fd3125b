"""The files of deploy/: that they load, and that what they name exists."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from graphzero.server.settings.config import Config, make_config, parse_command_line
from graphzero.server.settings.options import OPTIONS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "deploy"
UNIT = DEPLOY / "graphzero-server.service"
EXAMPLE = DEPLOY / "graphzero.toml"

# An option that is commented out, and not a sentence.
COMMENTED_OPTION = re.compile(r"^# (?=[a-z-]+ = )", re.MULTILINE)


def unit_keys() -> dict[str, list[str]]:
    """Values by "Section.Key"."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in UNIT.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(f"{section}.{key}", []).append(value)
    return found


ANY_TEXT = ("PATH", "NAME", "HOST:PORT")  # options that take one, until the daemon looks it up


def every_option() -> dict[str, Any]:
    return tomllib.loads(COMMENTED_OPTION.sub("", EXAMPLE.read_text()))


def test_the_example_loads_as_it_is() -> None:
    config = parse_command_line(["--config", str(EXAMPLE)])
    assert config.data == Path("/var/lib/graphzero")


def test_the_example_loads_with_every_option_uncommented(tmp_path: Path) -> None:
    path = tmp_path / "graphzero.toml"
    path.write_text(COMMENTED_OPTION.sub("", EXAMPLE.read_text()))
    config = parse_command_line(["--config", str(path)])
    assert config.listen.group == "gnn"
    assert config.listen.tcp is not None
    assert str(config.listen.tcp.address) == "127.0.0.1:7171"
    assert config.limits.shm_limit == 8 << 30
    assert config.life.idle_exit_s == 60


def test_the_example_has_exactly_the_options_that_there_are() -> None:
    assert set(every_option()) == set(OPTIONS)


@pytest.mark.parametrize(
    "name",
    ["max-sessions", "max-edges", "max-ids", "max-in-flight", "request-timeout", "drain-timeout"],
)
def test_the_example_shows_the_default(name: str) -> None:
    def limits_and_life(config: Config) -> tuple[Any, Any]:
        return config.limits, config.life

    # Else a share of the memory that is available, which changes from one moment to the next.
    fixed = {"data": "/data", "threads": 1, "shm-limit": "1G", "work-memory": "1G"}
    shown = make_config(fixed | {name: every_option()[name]})
    assert limits_and_life(shown) == limits_and_life(make_config(fixed))


def test_an_option_that_is_misspelt_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "graphzero.toml"
    path.write_text('data = "/data"\nthread = 2\n')
    with pytest.raises(ValueError, match="thread: unknown option"):
        parse_command_line(["--config", str(path)])


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "graphzero.toml"
    # The first three, because they would else depend on what is free at the moment.
    fixed = 'threads = 1\nshm-limit = "1G"\nwork-memory = "1G"\n'
    file.write_text(f'{fixed}data = "/file"\nmax-ids = 1\nmax-edges = 1\nmax-sessions = 1\n')
    environment = {"GRAPHZERO_MAX_IDS": "2", "GRAPHZERO_MAX_EDGES": "2", "GRAPHZERO_DATA": ""}
    config = parse_command_line(["--config", str(file), "--max-ids", "3"], environment)
    limits = config.limits
    assert (limits.max_ids, limits.max_edges, limits.max_sessions) == (3, 2, 1)
    assert config.data == Path("/file")  # an empty variable is none
    assert parse_command_line([], environment | {"GRAPHZERO_CONFIG": str(file)}).limits == (
        parse_command_line(["--config", str(file)], environment).limits
    )


@pytest.mark.parametrize("name", [n for n in OPTIONS if OPTIONS[n].metavar not in ANY_TEXT])
def test_a_variable_that_makes_no_sense_is_named(name: str) -> None:
    variable = "GRAPHZERO_" + name.upper().replace("-", "_")
    with pytest.raises(gz.InputError, match=f"^{variable}: found 'nonsense', expected"):
        parse_command_line([], {"GRAPHZERO_DATA": "/data", variable: "nonsense"})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("threads = 2.5", "threads: found 2.5, expected a whole number"),
        ("threads = true", "threads: found True, expected a whole number"),
        ("threads = 0", "threads: found 0, expected a positive number"),
        ("shm-limit = 1.5", "shm-limit: found 1.5, expected a size"),
        ("idle-exit = true", "idle-exit: found True, expected seconds"),
        ("drain-timeout = -1", "drain-timeout: found -1, expected seconds"),
        ("request-timeout = 0", "request-timeout: found 0, expected a positive number"),
        ("group = 7", "group: found 7, expected a text"),
        ("socket = 7", "socket: found 7, expected a text"),
        ('warm = "some"', "warm: found 'some', expected one of none, topology, all"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_place(
    tmp_path: Path, line: str, expected: str
) -> None:
    file = tmp_path / "graphzero.toml"
    file.write_text(f'data = "/data"\n{line}\n')
    with pytest.raises(gz.InputError) as caught:
        parse_command_line(["--config", str(file)], {})
    assert str(caught.value).startswith(f"{file}: {expected}")


def test_the_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_command_line(["--help"])
    text = capsys.readouterr().out
    assert all(f"--{name}" in text for name in OPTIONS)


def test_the_unit_starts_an_installed_program_with_options_that_it_has() -> None:
    command = unit_keys()["Service.ExecStart"][0].split()
    assert Path(command[0]).name == "graphzero-server"
    config = parse_command_line(
        [str(EXAMPLE) if word.endswith(".toml") else word for word in command[1:]]
    )
    runtime = Path("/run", unit_keys()["Service.RuntimeDirectory"][0])
    assert config.listen.socket.parent == runtime


def test_the_unit_waits_for_readiness_and_lets_the_daemon_drain() -> None:
    keys = unit_keys()
    assert keys["Service.Type"] == ["notify", "notify-reload"]  # the second since systemd 253
    assert keys["Service.KillSignal"] == ["SIGTERM"]
    drain = make_config({"data": "/data"}).life.drain_timeout_s
    assert float(keys["Service.TimeoutStopSec"][0]) > drain


def test_the_unit_leaves_the_daemon_its_shared_memory() -> None:
    keys = unit_keys()
    assert "/dev/shm" in keys["Service.ReadWritePaths"]
    # A private IPC namespace would also hide the daemon's regions from trainers.
    assert keys.get("Service.PrivateIPC", ["no"]) == ["no"]
    assert "AF_UNIX" in keys["Service.RestrictAddressFamilies"][0]


@pytest.fixture
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        pytest.skip("there is no systemd-analyze here (Debian: apt-get install systemd)")
    return found


def test_the_sandbox_leaves_little_open(analyze: str) -> None:
    """At most 2.1 of 10, where 10 is no sandbox at all and 2.1 is what deploy/README.md says."""
    limit = ["--offline=true", "--threshold=21", str(UNIT)]
    done = subprocess.run([analyze, "security", *limit], capture_output=True, text=True)
    if "Unknown" in done.stderr or "unrecognized option" in done.stderr:
        pytest.skip("systemd-analyze is older than 250")
    assert done.returncode == 0, done.stdout + done.stderr


def test_systemd_accepts_the_unit(analyze: str, tmp_path: Path) -> None:
    # The program must exist for the verdict; where it is installed is the administrator's choice.
    unit = tmp_path / UNIT.name
    text = UNIT.read_text()
    unit.write_text(text.replace("/opt/graphzero/bin/graphzero-server", sys.executable))
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True)
    if "Failed to initialize manager" in done.stderr:
        pytest.skip(f"systemd-analyze does not work here: {done.stderr.strip()}")
    too_new = "Failed to parse service type, ignoring: notify-reload"  # before systemd 253
    lines = [line for line in done.stderr.splitlines() if not line.endswith(too_new)]
    complaints = [line for line in lines if UNIT.name in line]
    assert not complaints, done.stderr
    assert done.returncode == 0, done.stderr


def test_the_build_of_the_image_gets_what_it_needs_and_nothing_else() -> None:
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*"  # everything is left out but for what follows
    let_in = {line.removeprefix("!") for line in patterns if line.startswith("!")}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    needed = {Path(folder).parts[0] for folder in packages_of(project).values()}
    needed |= {Path(name).parts[0] for name in project["project"]["license-files"]}
    assert let_in == needed | {"CMakeLists.txt", "pyproject.toml", project["project"]["readme"]}
    sources = re.findall(r"^ +([a-z_/]+\.cpp)$", (REPOSITORY / "CMakeLists.txt").read_text(), re.M)
    assert sources
    assert {Path(source).parts[0] for source in sources} <= let_in


def packages_of(project: dict[str, Any]) -> dict[str, str]:
    packages: dict[str, str] = project["tool"]["scikit-build"]["wheel"]["packages"]
    return packages


def test_the_guide_maps_every_file() -> None:
    guide = (DEPLOY / "README.md").read_text().partition("\n## ")[0]
    files = [
        path for path in DEPLOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    names = {path.relative_to(DEPLOY).parts[0] for path in files} - {"README.md"}
    unnamed = [name for name in names if name not in guide]
    assert not unnamed


def test_the_image_and_the_compose_file_agree() -> None:
    image, compose = (DEPLOY / "Dockerfile").read_text(), (DEPLOY / "compose.yaml").read_text()
    found = re.search(r"--uid (\d+)", image)
    assert found is not None
    assert f'user: "{found[1]}"' in compose
    socket = "/run/graphzero/server.sock"
    assert f'"--socket", "{socket}"' in image
    assert compose.count(f"unix:{socket}") == 2
    assert compose.count("ipc: service:server") == 1  # the other trainer inherits it
    assert "ipc: shareable" in compose
