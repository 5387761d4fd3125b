"""Calls share one budget of threads, and forked children sample without one."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import graphzero as gz
import numpy as np
import pytest
import torch
from graphzero import _engine
from sampling_graphs import random_edges, write_graph

SEEDS = np.arange(4_000)
FORK_TIMEOUT_S = 60


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "g.gl"
    return gz.Graph(write_graph(path, random_edges(20_000, 300_000, seed=4)))


@pytest.fixture
def four_threads(limit_threads):
    limit_threads(4)


def draw(graph, seed):
    return graph.sample(SEEDS, [5, 5], seed=seed).n_id.tobytes()


def test_one_call_alone_may_use_all_threads(graph, four_threads):
    draw(graph, 0)
    assert _engine.thread_usage().peak == 4


def test_a_call_may_ask_for_fewer(graph, four_threads):
    graph.sample(SEEDS, [5, 5], threads=2)
    assert _engine.thread_usage().peak == 2


def test_threads_left_by_ended_calls_do_not_stay_free_for_ever(graph, limit_threads):
    """A thread stays free for the next call for a moment, not for as long as calls follow."""
    limit_threads(2)
    other = threading.Thread(target=lambda: graph.sample(np.arange(20_000), [10, 5], threads=1))
    other.start()
    while other.is_alive():
        graph.sample([0], [1])
    helped = 0
    for seed in range(400):  # without a rest in between
        _engine.set_thread_limit(2)  # the peak counts from here
        draw(graph, seed)
        helped += seed >= 200 and _engine.thread_usage().peak == 2
    assert helped > 150


@pytest.mark.parametrize("callers", [3, 4, 16])
def test_concurrent_calls_stay_within_the_budget(graph, four_threads, callers):
    started = threading.Barrier(callers)

    def call(seed):
        started.wait()
        for round_ in range(5):
            draw(graph, seed + round_)

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(call, range(callers)))
    assert _engine.thread_usage().peak <= 4


def test_an_error_leaves_the_budget_whole(graph, four_threads):
    for _ in range(10):
        with pytest.raises(ValueError, match="limit of 10"):
            graph.sample(SEEDS, [5], max_edges=10)
    draw(graph, 0)
    assert _engine.thread_usage().peak == 4


class SampleSizes(torch.utils.data.Dataset):
    def __init__(self, graph):
        self.graph = graph

    def __len__(self):
        return 8

    def __getitem__(self, seed):
        sample = self.graph.sample(SEEDS, [5, 5], seed=seed)
        walks = self.graph.random_walk(SEEDS, 5, p=0.5, seed=seed)
        return torch.from_numpy(sample.n_id).sum() + torch.from_numpy(walks.nodes).sum()


def test_data_loader_workers_sample_after_the_parent_did(graph, four_threads):
    dataset = SampleSizes(graph)
    expected = [int(dataset[seed]) for seed in range(len(dataset))]  # parallel regions ran here
    loader = torch.utils.data.DataLoader(
        dataset,
        batch_size=1,
        num_workers=2,
        multiprocessing_context="fork",
        timeout=FORK_TIMEOUT_S,
    )
    assert [int(batch) for batch in loader] == expected


def test_a_fork_in_the_middle_of_other_calls_works(graph, four_threads):
    expected = draw(graph, 1)
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            draw(graph, 7)

    busy = [threading.Thread(target=keep_busy) for _ in range(6)]
    for thread in busy:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                ok = False
                try:
                    ok = draw(graph, 1) == expected
                finally:
                    os._exit(0 if ok else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in busy:
            thread.join()


SAMPLES_TO_THE_END = """
import sys, threading
import graphzero as gz

graph = gz.Graph(sys.argv[1])
begun = threading.Event()

def sample_for_ever():
    while True:
        graph.sample(range(4_000), [5, 5])
        begun.set()

for _ in range(2):
    threading.Thread(target=sample_for_ever, daemon=True).start()
begun.wait()
"""


def test_a_program_may_end_while_a_daemon_thread_samples(graph):
    # Python ends such a thread where it comes back from native code, which must not abort.
    command = [sys.executable, "-c", SAMPLES_TO_THE_END, str(graph.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FORK_TIMEOUT_S)
    assert (done.returncode, done.stderr) == (0, "")
