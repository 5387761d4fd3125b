"""Builds the engine with GCC's sanitizers and runs it: `python run.py [address] [thread]`.

address: memory and undefined behaviour, under the tests of files, gathers, samples, text parsers
and shared memory. (tests/fuzz has both sanitizers over readers and parsers, too.)
thread: data races, under threads that call the same objects at once (callers.py), conversions by
several threads (converters.py) and a daemon with trainers that come and are killed (trainers.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "sanitize"
FLAGS = {
    "address": "-fsanitize=address,undefined -fno-sanitize-recover=undefined",
    "thread": "-fsanitize=thread -Wno-tsan",
}
LIBRARIES = {"address": ["libasan.so", "libubsan.so"], "thread": ["libtsan.so"]}
ENVIRONMENT = {
    "address": {"ASAN_OPTIONS": "detect_leaks=0"},  # Python's own are many
    "thread": {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1"},
}


# The address sanitizer takes the signal that one expects, the address space of another, and more
# memory than the last ones allow. In the third, Python ends threads by unwinding them,
# with an exception that is no C++ object: the undefined-behaviour sanitizer takes it for a broken
# one. The fourth forks while other threads allocate: the child hangs at a lock of the address
# sanitizer's allocator, which nobody releases.
NOT_UNDER_ADDRESS = (
    "tests/store/test_unreadable.py::test_views_of_a_cut_file_are_not_filled_with_zeros",
    "tests/gather/test_row_cache.py::test_a_cache_that_gets_no_memory_keeps_what_it_has",
    "tests/sample/test_threads.py::test_a_program_may_end_while_a_daemon_thread_samples",
    "tests/base/test_fork.py::test_a_child_forked_in_the_middle_of_calls_makes_them_all",
    "tests/compile/test_bounded_memory.py",
    "tests/compile/test_generate.py::test_memory_stays_far_below_the_size_of_the_dataset",
)


def build(name: str) -> Path:
    print(f"==> Building with -fsanitize={name}", flush=True)
    target = BUILD / name
    settings = {
        "build-dir": f"{BUILD / name}-objects",
        "install.strip": "false",
        "cmake.define.CMAKE_BUILD_TYPE": "RelWithDebInfo",
    }
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps"]
    command += ["--upgrade", "--target", str(target), str(ROOT)]
    command += [f"--config-settings={key}={value}" for key, value in settings.items()]
    flags = {"CXXFLAGS": f"{FLAGS[name]} -g1", "LDFLAGS": FLAGS[name]}
    subprocess.run(command, env=os.environ | flags, check=True)
    return target


def run(name: str, package: Path, *command: str, **more: str) -> None:
    found = [
        subprocess.check_output(["gcc", f"-print-file-name={library}"], text=True).strip()
        for library in LIBRARIES[name]
    ]
    environment = ENVIRONMENT[name] | {
        "LD_PRELOAD": " ".join(found),
        "PYTHONPATH": str(package),
        **more,
    }
    print("==>", *(f"{key}={value}" for key, value in more.items()), *command, flush=True)
    subprocess.run([sys.executable, *command], env=os.environ | environment, cwd=ROOT, check=True)


def main() -> None:
    for name in sys.argv[1:] or FLAGS:
        package = build(name)
        if name == "address":
            tests = ("tests/base", "tests/store", "tests/gather", "tests/sample", "tests/compile")
            tests += ("tests/inputs/test_text_table.py", "tests/inputs/test_dates.py")
            tests += ("tests/server/test_shared_memory.py",)
            without = [f"--deselect={test}" for test in NOT_UNDER_ADDRESS]
            options = ["-q", "-x", "-p", "no:cacheprovider", *without]
            run(name, package, "-m", "pytest", *options, *tests)
            continue
        for engine in ("io_uring", "pread"):
            run(name, package, str(HERE / "callers.py"), GRAPHZERO_IO_ENGINE=engine)
        run(name, package, str(HERE / "converters.py"))
        for features, graphs in (("direct", "staged"), ("auto", "auto")):
            run(name, package, str(HERE / "trainers.py"), features, graphs)


main()
