"""Files that are cut or cannot be read while they are being opened: an error, not SIGBUS."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest

GOLDEN = Path(__file__).parents[1] / "golden"

# What happens to a file between two system calls of whoever opens it.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_victim(int fd) {
  const char* victim = getenv("VICTIM");
  char link[64], path[4096];
  if (victim == NULL) return 0;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strcmp(path, victim) == 0;
}

void* mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  static void* (*real)(void*, size_t, int, int, int, off_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "mmap");
  void* data = real(at, length, protection, flags, fd, offset);
  const int cuts = strcmp(getenv("EVENT"), "cut") == 0;
  if (fd >= 0 && cuts && is_victim(fd) && truncate(getenv("VICTIM"), 0) != 0) abort();
  return data;
}

ssize_t pread(int fd, void* to, size_t count, off_t offset) {
  static ssize_t (*real)(int, void*, size_t, off_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pread");
  if (strcmp(getenv("EVENT"), "bad sector") == 0 && is_victim(fd)) {
    errno = EIO;
    return -1;
  }
  return real(fd, to, count, offset);
}

void* mmap64(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap(at, length, protection, flags, fd, offset);
}
ssize_t pread64(int fd, void* to, size_t count, off_t offset) {
  return pread(fd, to, count, offset);
}
"""

OPEN = """
import sys
import graphzero as gz
path, kind = sys.argv[1:]
try:
    gz.Graph(path) if kind == "gl" else gz.FeatureStore(path)
except OSError as error:
    print(error.filename, error)
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the library that cuts files under the reader")
    directory = tmp_path_factory.mktemp("shim")
    (directory / "shim.c").write_text(SHIM)
    library = directory / "shim.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(directory / "shim.c"), "-ldl"]
    subprocess.run(command, check=True)
    return library


def write_graph(path: Path) -> None:
    gz.write_graph(path, np.arange(100), np.arange(100)[::-1])


def write_features(path: Path) -> None:
    gz.write_features(path, np.ones((100, 4), np.float32))


FILES: dict[str, Callable[[Path], None]] = {
    "graph.gl": write_graph,
    "x.gd": write_features,
    "old.gl": lambda path: path.write_bytes((GOLDEN / "graphzero02.gl").read_bytes()),
    "old.gd": lambda path: path.write_bytes((GOLDEN / "graphzero02.gd").read_bytes()),
}


@pytest.mark.parametrize("event", ["cut", "bad sector"])
@pytest.mark.parametrize("name", FILES)
def test_opening_fails_with_file_and_offset(
    shim: Path, tmp_path: Path, name: str, event: str
) -> None:
    path = tmp_path / name
    FILES[name](path)
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(path), path.suffix[1:]],
        env={"LD_PRELOAD": str(shim), "VICTIM": str(path), "EVENT": event},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path} ")
    assert "cannot read at byte 0" in done.stdout
    assert ("cut short" in done.stdout) == (event == "cut")


def test_rows_of_a_cut_graph_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "graph.gl"
    rng = np.random.default_rng(0)
    gz.write_graph(path, *rng.integers(0, 50_000, (2, 500_000)), num_nodes=50_000)
    graph = gz.Graph(path, io="mapped")
    with path.open("r+b") as file:
        file.truncate(8192)
    for read in (graph.get_degree, graph.get_neighbours):
        with pytest.raises(OSError, match=r"cannot read at byte \d+.*cut short") as caught:
            read(49_000)
        assert caught.value.filename == str(path)
