"""
The C++ engine. Private: use the classes and functions of the graphzero package.
"""

from collections.abc import Callable, Sequence
import datetime
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Share:
    def __init__(self) -> None: ...

    @property
    def seconds(self) -> float: ...

def newcomers_seconds() -> float: ...

class Call:
    def __init__(self, share: Share) -> None: ...

    def stop(self) -> None: ...

    @property
    def stopped(self) -> bool: ...

    @property
    def needed(self) -> int: ...

    def reserve(self, byte_size: int) -> bool: ...

    def let_go(self) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object | None, error: object | None, traceback: object | None) -> None: ...

class WorkMemoryUsage:
    @property
    def limit(self) -> int: ...

    @property
    def used(self) -> int: ...

    @property
    def idle(self) -> int: ...

def set_work_limit(byte_size: int) -> None: ...

def set_work_claim(byte_size: int) -> None: ...

def work_memory() -> WorkMemoryUsage: ...

def work_ids(count: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

def check_stopped() -> None: ...

def return_freed_memory() -> None:
    """
    Lets large blocks go back to the system when they are freed, in this whole process.
    """

class SectionInfo:
    @property
    def name(self) -> str: ...

    @property
    def dtype(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def stored_bytes(self) -> int: ...

def is_topology(path: str) -> bool: ...

class Topology:
    def throw_if_damaged(self) -> None: ...

    def resident_bytes(self) -> int: ...

    def warm(self, offset: int, length: int) -> None: ...

    def expect_random_access(self) -> None: ...

    @staticmethod
    def open(path: str) -> Topology: ...

    @property
    def version(self) -> int: ...

    @property
    def num_src(self) -> int: ...

    @property
    def num_dst(self) -> int: ...

    @property
    def num_nodes(self) -> int: ...

    @property
    def num_edges(self) -> int: ...

    @property
    def edge_id_bound(self) -> int: ...

    @property
    def symmetric(self) -> bool: ...

    @property
    def sorted(self) -> bool: ...

    @property
    def multi_edges_dropped(self) -> bool: ...

    @property
    def has_weights(self) -> bool: ...

    @property
    def weight_name(self) -> str: ...

    @property
    def has_edge_ids(self) -> bool: ...

    @property
    def has_times(self) -> bool: ...

    @property
    def has_out(self) -> bool: ...

    @property
    def has_in(self) -> bool: ...

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def file_bytes(self) -> int: ...

    @property
    def sections(self) -> list[SectionInfo]: ...

    def rows_in_memory(self, nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], direction: str) -> bool: ...

    def degree(self, node: int, direction: str) -> int: ...

    def neighbours(self, node: int, direction: str) -> NDArray: ...

    def weights(self, node: int, direction: str) -> NDArray: ...

    def edge_ids(self, node: int, direction: str) -> NDArray: ...

class Matrix:
    def throw_if_damaged(self) -> None: ...

    def resident_bytes(self) -> int: ...

    def warm(self, offset: int, length: int) -> None: ...

    def expect_random_access(self) -> None: ...

    @staticmethod
    def open(path: str) -> Matrix: ...

    @property
    def version(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def cols(self) -> int: ...

    @property
    def ndim(self) -> int: ...

    @property
    def row_shape(self) -> list[int]: ...

    @property
    def row_stride(self) -> int: ...

    @property
    def row_bytes(self) -> int: ...

    @property
    def dtype(self) -> str: ...

    @property
    def role(self) -> int: ...

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def file_bytes(self) -> int: ...

    @property
    def sections(self) -> list[SectionInfo]: ...

    @property
    def description(self) -> bytes: ...

    def tensor(self) -> NDArray: ...

    def read_rows(self, first: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Fills `out` with the bytes of consecutive rows, read from the file."""

class ReadingContext:
    def __enter__(self) -> None: ...

    def __exit__(self, kind: object | None, error: object | None, traceback: object | None) -> None: ...

class ForeignFile:
    @staticmethod
    def open(path: str) -> ForeignFile: ...

    def bytes(self) -> NDArray:
        """A view of all of it."""

    def reading(self) -> ReadingContext:
        """
        A block in which this thread may read views of it: what cannot be read is zero there, and the block then ends with an OSError.
        """

def rename_to_new(source: str, target: str) -> None: ...

def exchange_names(first: str, second: str) -> None: ...

@overload
def verify(file: Topology, *, threads: int, report: object | None = None) -> list[str]: ...

@overload
def verify(file: Matrix, *, threads: int, report: object | None = None) -> list[str]: ...

class DegreeSummary:
    @property
    def min(self) -> int: ...

    @property
    def median(self) -> int: ...

    @property
    def p99(self) -> int: ...

    @property
    def max(self) -> int: ...

    @property
    def mean(self) -> float: ...

    @property
    def empty_rows(self) -> int: ...

    @property
    def histogram(self) -> list[int]: ...

def summarize_degrees(graph: Topology, direction: str) -> DegreeSummary: ...

def count_isolated(graph: Topology) -> int: ...

class IoEngine:
    @property
    def name(self) -> str: ...

    @property
    def reason(self) -> str: ...

def io_engine() -> IoEngine: ...

def disk_waits() -> int: ...

def set_read_fault(path_suffix: str, result: int, *, begin: int = 0, end: int = 18446744073709551615, times: int = 18446744073709551615) -> None: ...

def clear_read_faults() -> None: ...

class ColumnPath(enum.Enum):
    MAPPED = 0

    CACHED = 1

    DIRECT = 2

    ADAPTIVE = 3

class RowCacheUsage:
    @property
    def capacity_bytes(self) -> int: ...

    @property
    def used_bytes(self) -> int: ...

    @property
    def index_bytes(self) -> int: ...

    @property
    def rows(self) -> int: ...

class RowCache:
    def __init__(self, capacity_bytes: int) -> None: ...

    def usage(self) -> RowCacheUsage: ...

class ColumnStats:
    @property
    def gathers(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def mapped_rows(self) -> int: ...

    @property
    def cache_hits(self) -> int: ...

    @property
    def reads(self) -> int: ...

    @property
    def read_bytes(self) -> int: ...

    @property
    def read_nanoseconds(self) -> int: ...

    @property
    def latency(self) -> list[int]: ...

class Column:
    @staticmethod
    def open(matrix: Matrix, path: ColumnPath, cache: RowCache | None, reason: str) -> Column: ...

    @property
    def path(self) -> ColumnPath: ...

    @property
    def reason(self) -> str: ...

    @property
    def fallback(self) -> str: ...

    def rows_in_memory(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool: ...

    @property
    def direct_align(self) -> int: ...

    def stats(self) -> ColumnStats: ...

    def gather(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], *, threads: int = 0) -> None: ...

class MatrixTextReport:
    @property
    def rows(self) -> int: ...

    @property
    def cols(self) -> int: ...

    @property
    def ndim(self) -> int: ...

    @property
    def filled(self) -> int: ...

    @property
    def nans(self) -> int: ...

    @property
    def missing(self) -> int: ...

    @property
    def skipped(self) -> int: ...

    @property
    def messages(self) -> list[str]: ...

    @property
    def spilled_bytes(self) -> int: ...

def compile_matrix_text(source: str, target: str, *, open_stream: object | None = None, stored_bytes: int = 0, dtype: str, role: str, num_rows: int | None, has_ids: bool = True, always_2d: bool, row_align: int, description: str = '', nan: str | None, fill: str | None, skip_bad_lines: bool, memory: int, threads: int, temp_dir: str, report: object | None) -> MatrixTextReport: ...

class MatrixWriter:
    def __init__(self, path: str, *, rows: int | None, cols: int, ndim: int, dtype: str, role: str, row_stride: int, row_shape: Sequence[int] = [], description: str = '') -> None: ...

    def append(self, rows: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def rows_written(self) -> int: ...

    def finish(self) -> None: ...

class CollectedRows:
    @property
    def rows(self) -> int: ...

    @property
    def filled(self) -> int: ...

    @property
    def repeated(self) -> int: ...

    @property
    def message(self) -> str: ...

class RowCollector:
    def __init__(self, path: str, *, name: str, place: object | None, name_node: object | None, rows: int | None, expected_rows: int, cols: int, ndim: int, dtype: str, role: str, row_stride: int, skip_repeated: bool, memory: int, temp_dir: str, row_shape: Sequence[int] = [], description: str = '') -> None: ...

    def add(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def finish(self, fill: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, report: object | None = None) -> CollectedRows: ...

def to_bfloat16(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.uint16]: ...

SAMPLER_VERSION: int = 1

DEFAULT_MAX_EDGES: int = 268435456

class SetKind(enum.Enum):
    SCAN = 0

    BITMAP = 1

    HASH = 2

class Subgraph(enum.Enum):
    DRAWN = 0

    BIDIRECTIONAL = 1

    INDUCED = 2

class NegativeWeights(enum.Enum):
    UNIFORM = 0

    DEGREE = 1

class NeighbourSample:
    @property
    def batch_size(self) -> int: ...

    @property
    def num_nodes(self) -> int: ...

    @property
    def num_edges(self) -> int: ...

    @property
    def has_edge_ids(self) -> bool: ...

    @property
    def has_weights(self) -> bool: ...

    @property
    def disjoint(self) -> bool: ...

    @property
    def num_sampled_nodes(self) -> list[int]: ...

    @property
    def num_sampled_edges(self) -> list[int]: ...

    @property
    def nodes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    def copy_to(self, *, n_id: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], edge_index: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], e_id: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None = None, edge_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None = None, batch: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None = None, threads: int = 0) -> None: ...

class ReadStats:
    @property
    def calls(self) -> int: ...

    @property
    def items(self) -> int: ...

    @property
    def reads(self) -> int: ...

    @property
    def read_bytes(self) -> int: ...

    @property
    def read_nanoseconds(self) -> int: ...

    @property
    def latency(self) -> list[int]: ...

class DiskTopology:
    @staticmethod
    def open(graph: Topology) -> DiskTopology: ...

    def stats(self) -> ReadStats: ...

def sample_neighbours(graph: Topology, seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fanout: Sequence[int], *, adjacency: str, expand_targets: bool, replace: bool, weighted: bool, seed: int, max_edges: int, threads: int, disjoint: bool = False, subgraph: Subgraph = Subgraph.DRAWN, exclude_sources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, exclude_targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, disk: DiskTopology | None = None, forced_set: SetKind | None = None) -> NeighbourSample: ...

def draw_negatives(graph: Topology, *, adjacency: str, rows_are_sources: bool, given_sources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: NegativeWeights, reject: bool, seed: int, threads: int, sources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], target_candidates: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, source_candidates: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, disk: DiskTopology | None = None) -> None: ...

def number_ends(ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

def random_walk(graph: Topology, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, adjacency: str, p: float, q: float, restart: float, weighted: bool, seed: int, threads: int, nodes: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], disk: DiskTopology | None = None) -> None: ...

def random_fanout(graph: Topology, nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, adjacency: str, seed: int, threads: int, neighbours: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], disk: DiskTopology | None = None) -> None: ...

def permute_range(n: int, *, seed: int, epoch: int, first: int, count: int) -> NDArray[numpy.int64]: ...

def batch_seed(loader_seed: int, epoch: int, batch: int) -> int: ...

def draw_below(seed: int, bound: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

class ThreadUsage:
    @property
    def limit(self) -> int: ...

    @property
    def peak(self) -> int: ...

def set_thread_limit(limit: int) -> None: ...

def thread_usage() -> ThreadUsage: ...

class WorkspaceUsage:
    @property
    def kept(self) -> int: ...

    @property
    def bytes(self) -> int: ...

def set_workspace_limit(byte_size: int) -> None: ...

def workspace_usage() -> WorkspaceUsage: ...

def has_idle_thread() -> bool: ...

def never_wait_on_this_thread() -> None: ...

class SharedBlock:
    @property
    def id(self) -> int: ...

    @property
    def region_id(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def size(self) -> int: ...

    def array(self, offset: int, shape: Sequence[int], dtype: str) -> NDArray: ...

    def damage(self) -> str: ...

class RegionOffer:
    @property
    def region_id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

class RegionNews:
    @property
    def offers(self) -> list[RegionOffer]: ...

    @property
    def drops(self) -> list[int]: ...

class SessionUsage:
    @property
    def regions(self) -> int: ...

    @property
    def region_bytes(self) -> int: ...

    @property
    def blocks(self) -> int: ...

    @property
    def block_bytes(self) -> int: ...

    @property
    def oldest_block_ms(self) -> int: ...

    @property
    def guarantee_bytes(self) -> int: ...

class MemoryCounters:
    @property
    def failed_attempts(self) -> int: ...

    @property
    def regions_made(self) -> int: ...

    @property
    def regions_dropped(self) -> int: ...

    @property
    def reclaims(self) -> int: ...

    @property
    def reclaimed_bytes(self) -> int: ...

class SessionMemory:
    @property
    def number(self) -> int: ...

    def try_allocate(self, size: int) -> SharedBlock: ...

    def has_warm(self, size: int) -> bool: ...

    def release(self, block_ids: Sequence[int]) -> None: ...

    def take_news(self) -> RegionNews: ...

    def mapped(self, region_id: int) -> None: ...

    def usage(self) -> SessionUsage: ...

    def close(self) -> None: ...

class MemoryBudget:
    def __init__(self, limit: int, name_prefix: str, *, group: int | None = None) -> None: ...

    def set_outside(self, byte_size: int) -> bool: ...

    def open_session(self, window: int) -> SessionMemory: ...

    @property
    def room_may_come(self) -> bool: ...

    def take_ready(self) -> list[int]: ...

    @property
    def ready_descriptor(self) -> int: ...

    def trim(self, *, idle: datetime.timedelta, forget: datetime.timedelta) -> None: ...

    def counters(self) -> MemoryCounters: ...

    @property
    def limit(self) -> int: ...

    @property
    def used(self) -> int: ...

class RegionView:
    @staticmethod
    def open(name: str, size: int) -> RegionView: ...

class ReleaseQueue:
    def __init__(self) -> None: ...

    def take(self) -> list[int]: ...

    def take_left_over(self, timeout: float, linger: float) -> list[int]: ...

    def close(self) -> None: ...

class BlockLease:
    @staticmethod
    def make(region: RegionView, queue: ReleaseQueue, *, block_id: int, offset: int, size: int) -> BlockLease: ...

    def array(self, offset: int, shape: Sequence[int], dtype: str) -> NDArray: ...

class Resources:
    @staticmethod
    def make(*, memory: int, threads: int, temp_dir: str) -> Resources: ...

    @staticmethod
    def make_for_tests(*, memory: int, threads: int, temp_dir: str, wide_records: bool = False) -> Resources:
        """
        Limits as they are given, below the minimum too: makes small inputs spill.
        """

    @property
    def memory(self) -> int: ...

    @property
    def threads(self) -> int: ...

    @property
    def temp_dir(self) -> str: ...

class TopologyOptions:
    @staticmethod
    def make(*, undirected: bool, symmetric_source: bool, out: bool, in_: bool, dedup: bool, edge_ids: bool, num_nodes: int | None, weight_name: str = '') -> TopologyOptions: ...

class TopologyReport:
    @property
    def num_nodes(self) -> int: ...

    @property
    def num_edges(self) -> int: ...

    @property
    def input_rows(self) -> int: ...

    @property
    def dropped(self) -> int: ...

    @property
    def spilled_bytes(self) -> int: ...

class EdgeReader:
    def __init__(self, graph: Topology) -> None: ...

    def next(self) -> object:
        """
        (sources, targets, weights or None, edge ids or slots) of the next edges in the order of the file; None at the end.
        """

class TextEdgeReport:
    @property
    def topology(self) -> TopologyReport: ...

    @property
    def skipped(self) -> int: ...

    @property
    def messages(self) -> list[str]: ...

def compile_edges_text(source: str, path: str, *, open_stream: object | None = None, stored_bytes: int = 0, skip_errors: bool, options: TopologyOptions, resources: Resources, report: object | None = None) -> TextEdgeReport: ...

def compile_edges_arrays(name: str, src: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], dst: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)] | None, path: str, *, options: TopologyOptions, resources: Resources, report: object | None = None) -> TopologyReport: ...

def compile_edges_chunks(name: str, open_chunks: Callable, *, place: object | None, weighted: bool, count: int, bytes: int = 0, path: str, options: TopologyOptions, resources: Resources, report: object | None = None) -> TopologyReport:
    """
    open_chunks() gives an iterator of (src, dst, weights or None, row numbers or None, rows so far or None, bytes that it was read from), which is read by a thread of its own; it is called again if ids turn out to need 64 bits. place(row) is what messages call a row.
    """

def compile_edges_graph(graph: Topology, path: str, *, options: TopologyOptions, resources: Resources, report: object | None = None) -> TopologyReport: ...

class IdCounts:
    @property
    def total(self) -> int: ...

    def with_sides(self, sides: int) -> int:
        """How many ids have exactly these sides."""

def prefix_integers(ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], prefix: str) -> tuple:
    """(offsets, bytes) of texts: the prefix and the integer in decimal."""

def prefix_texts(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], prefix: str) -> tuple:
    """(offsets, bytes) of texts: the prefix and the text."""

class IntegerIdCollector:
    def __init__(self, resources: Resources) -> None: ...

    def add(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, sides: int = 0) -> None: ...

    def number(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, sides: int) -> NDArray[numpy.uint32] | None:
        """
        Adds ids and gives their numbers, by the order in which they were first met; None from the moment on when memory did not hold all ids, which is also the end of the numbers given before.
        """

    @property
    def numbered(self) -> bool:
        """Whether the numbers that number() gave still hold."""

    def write(self, path: str, *, categories: bool = False, report: object | None = None) -> IdCounts: ...

class TextIdCollector:
    def __init__(self, resources: Resources) -> None: ...

    def add(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, name: str = '', place: object | None = None, first_row: int, what: str = 'id', sides: int = 0) -> None: ...

    def number(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, place: object, first_row: int, sides: int) -> NDArray[numpy.uint32] | None:
        """
        Adds ids and gives their numbers, by the order in which they were first met; None from the moment on when memory did not hold all ids, which is also the end of the numbers given before.
        """

    @property
    def numbered(self) -> bool:
        """Whether the numbers that number() gave still hold."""

    def write(self, path: str, *, categories: bool = False, report: object | None = None) -> IdCounts: ...

class EdgeSpool:
    def __init__(self, resources: Resources) -> None: ...

    def add(self, src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """Appends a chunk of edges, by the numbers of their ends."""

    @overload
    def finish(self, ids: IntegerIdCollector) -> None:
        """
        After the last chunk and after ids.write(), which decides on the new ids.
        """

    @overload
    def finish(self, ids: TextIdCollector) -> None: ...

    def read(self, chunk: int) -> tuple:
        """
        (sources, targets, weights or None, row numbers or None) of a chunk, with new ids.
        """

class IdIndex:
    def __init__(self, ids: Matrix, *, memory: int, threads: int) -> None: ...

    @property
    def holds_texts(self) -> bool: ...

    def find_integers(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """The row of each id, -1 for one that is not there."""

    def find_texts(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """The row of each text, -1 for one that is not there."""

def sample_fields(path: str, open_stream: object | None, stored_bytes: int, *, lines: int, whole_lines: bool) -> list:
    """Fields of the first lines of a text, as bytes."""

def line_of_row(path: str, open_stream: object | None, stored_bytes: int, format: TextTableFormat, row: int) -> int:
    """
    The number of the line on which a row begins; reads the text up to there.
    """

def parse_times(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, unit: TimeUnit) -> tuple:
    """
    (int64 times, a status of each): 0 exact, 1 rounded down, 2 no time, 3 out of range.
    """

class FieldKind(enum.Enum):
    INTEGER_ID = 0

    TEXT_ID = 1

    NODE_ID = 2

    WEIGHT = 3

    NUMBER = 4

    INTEGER = 5

    BOOL = 6

    TIME = 7

    TEXT = 8

    SURVEY = 9

class TimeUnit(enum.Enum):
    DAY = 0

    SECOND = 1

    MILLISECOND = 2

    MICROSECOND = 3

    NANOSECOND = 4

class FieldGroup:
    def __init__(self, kind: FieldKind, *, columns: Sequence[int], labels: Sequence[str], unit: TimeUnit, may_be_missing: bool, missing_hint: str, text_hint: str) -> None: ...

class TextTableFormat:
    def __init__(self, *, header: bool, whole_lines: bool, columns: int, groups: Sequence[FieldGroup], missing: Sequence[str], id_limit: int, skip_bad_lines: bool) -> None: ...

class TextTableReader:
    def __init__(self, path: str, open_stream: object | None, stored_bytes: int, format: TextTableFormat, *, threads: int) -> None: ...

    def next(self) -> object:
        """
        (row numbers, groups) of the next lines, None at the end. A group is (values, missing or None, how many times were rounded down); values are an array, (offsets, bytes) of texts, or what a survey found.
        """

    @property
    def rows_seen(self) -> int: ...

    @property
    def stored_position(self) -> int: ...

    @property
    def skipped(self) -> int: ...

    @property
    def messages(self) -> list[str]: ...

def generate(directory: str, *, nodes: int, edges: int, dim: int, classes: int, seed: int, dtype: str, resources: Resources, report: object | None = None) -> None: ...
