"""
The C++ engine. Private: use the classes and functions of the graphzero package.
"""

from collections.abc import Callable, Sequence
import datetime
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def instructions() -> str:
    """
    The vector instructions that loops use which have versions for several processors.
    """

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

def calls_at_disk() -> int: ...

def work_ids(count: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

def result_bytes(count: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

def result_memory_kept() -> int: ...

def check_stopped() -> None: ...

def return_freed_memory() -> None:
    """
    Lets large blocks go back to the system when they are freed, in this whole process.
    """

class SectionInfo:
    @property
    def name(self) -> str: ...

    @property
    def relation(self) -> int: ...

    @property
    def dtype(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def stored_bytes(self) -> int: ...

def is_topology(path: str) -> bool: ...

class NodeType:
    @property
    def name(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def has_times(self) -> bool: ...

class Relation:
    @property
    def name(self) -> str: ...

    @property
    def source(self) -> int: ...

    @property
    def target(self) -> int: ...

    @property
    def base(self) -> int: ...

    @property
    def inverse(self) -> int | None: ...

    @property
    def is_view(self) -> bool: ...

    @property
    def num_edges(self) -> int: ...

    @property
    def edge_id_bound(self) -> int: ...

    @property
    def symmetric(self) -> bool: ...

    @property
    def multi_edges_dropped(self) -> bool: ...

    @property
    def weight_name(self) -> str: ...

    @property
    def has_weights(self) -> bool: ...

    @property
    def has_edge_ids(self) -> bool: ...

    @property
    def has_edge_times(self) -> bool: ...

    @property
    def has_times(self) -> bool: ...

    @property
    def time_ordered(self) -> bool: ...

    @property
    def has_out(self) -> bool: ...

    @property
    def has_in(self) -> bool: ...

class Topology:
    def throw_if_damaged(self) -> None: ...

    def resident_bytes(self) -> int: ...

    def resident_parts(self, parts: int) -> list[int]: ...

    def warm(self, offset: int, length: int) -> None: ...

    def expect_random_access(self) -> None: ...

    @staticmethod
    def open(path: str) -> Topology: ...

    @property
    def version(self) -> int: ...

    @property
    def typed(self) -> bool: ...

    @property
    def types(self) -> list[NodeType]: ...

    @property
    def relations(self) -> list[Relation]: ...

    @property
    def time_unit(self) -> str: ...

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

    def rows_in_memory(self, nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], direction: str, relation: int = 0) -> bool: ...

    def degree(self, node: int, direction: str, relation: int = 0) -> int: ...

    def neighbours(self, node: int, direction: str, relation: int = 0) -> NDArray: ...

    def weights(self, node: int, direction: str, relation: int = 0) -> NDArray: ...

    def edge_ids(self, node: int, direction: str, relation: int = 0) -> NDArray: ...

    def times(self, node: int, direction: str, relation: int = 0) -> NDArray:
        """The times of the edges themselves."""

    def slot_times(self, node: int, direction: str, relation: int = 0) -> NDArray:
        """The later of each edge's time and its neighbour's."""

    def node_times(self, type: int = 0) -> NDArray:
        """The times of a type's nodes; empty: none."""

class Quantisation:
    def __init__(self, *, delivered: str, scales: Sequence[float], offsets: Sequence[float], largest_error: float, mean_error: float, clipped: int) -> None: ...

    @property
    def delivered(self) -> str: ...

    @property
    def scales(self) -> list[float]: ...

    @property
    def offsets(self) -> list[float]: ...

    @property
    def largest_error(self) -> float: ...

    @property
    def mean_error(self) -> float: ...

    @property
    def clipped(self) -> int: ...

class Shard:
    @property
    def part(self) -> int: ...

    @property
    def parts(self) -> int: ...

    @property
    def block_rows(self) -> int: ...

    @property
    def total_rows(self) -> int: ...

    @property
    def whole_fingerprint(self) -> bytes: ...

class Matrix:
    def throw_if_damaged(self) -> None: ...

    def resident_bytes(self) -> int: ...

    def resident_parts(self, parts: int) -> list[int]: ...

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
    def stored_row_bytes(self) -> int: ...

    @property
    def dtype(self) -> str: ...

    @property
    def stored_dtype(self) -> str: ...

    @property
    def quantisation(self) -> Quantisation | None: ...

    @property
    def role(self) -> int: ...

    @property
    def has_rows_by_id(self) -> bool: ...

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def file_bytes(self) -> int: ...

    @property
    def sections(self) -> list[SectionInfo]: ...

    @property
    def shard(self) -> Shard | None: ...

    @property
    def description(self) -> bytes: ...

    def tensor(self) -> NDArray: ...

    def read_rows(self, first: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Fills `out` with the bytes of consecutive rows, read from the file."""

    def decode_rows(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], *, baseline: bool) -> None:
        """Values of rows of codes, for tests of the instructions."""

def write_shard(whole: Matrix, path: str, *, part: int, parts: int, block_rows: int, report: object | None = None) -> None: ...

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

def summarize_degrees(graph: Topology, direction: str, relation: int = 0) -> DegreeSummary: ...

def edge_time_range(graph: Topology, relation: int = 0) -> tuple[int, int] | None:
    """
    The times of the earliest and the latest edge; None without times or edges.
    """

def node_time_range(graph: Topology, type: int = 0) -> tuple[int, int] | None:
    """
    The times of the earliest and the latest node; None without times or nodes.
    """

def count_isolated(graph: Topology) -> int: ...

CHECKSUM_BLOCK: int = 1048576

MOST_HEAD_BYTES: int = 393472

def checksum(bytes: memoryview) -> int:
    """XXH3 in 64 bits, as files have it for each block."""

class BlockList:
    @staticmethod
    def open(path: str) -> BlockList | None:
        """None for a file of GraphZero 0.2, which has no checksums."""

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def head_bytes(self) -> int: ...

    @property
    def checksum_table(self) -> tuple[int, int, int]: ...

    def data_blocks(self) -> tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.uint64]]:
        """
        Offsets, sizes and checksums of the blocks of all sections but the table of checksums.
        """

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

class DiskRates:
    @property
    def reads_per_second(self) -> float: ...

    @property
    def bytes_per_second(self) -> float: ...

    @property
    def merge_gap(self) -> int: ...

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

    def measure_disk(self) -> DiskRates | None: ...

    @property
    def merge_gap(self) -> int: ...

    @merge_gap.setter
    def merge_gap(self, arg: int, /) -> None: ...

    def stats(self) -> ColumnStats: ...

    def gather(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], *, threads: int = 0) -> None: ...

class PlannedGather:
    def missing_ids(self, part: int) -> bytes:
        """Little-endian int64, of rows to be asked for."""

class ShardedColumn:
    def __init__(self, own: Column, cache: RowCache | None) -> None: ...

    @property
    def stored_row_bytes(self) -> int: ...

    def plan(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> PlannedGather:
        """
        Delivers what the cache has of other parts' rows; `out` must live as long as this.
        """

    def gather_own(self, planned: PlannedGather) -> None: ...

    def take(self, planned: PlannedGather, part: int, first: int, rows: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def gather_for_peer(self, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def counts(self) -> list[int]:
        """Own rows, cached rows of others, remote rows, remote bytes."""

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

class QuantiseReport:
    @property
    def quantisation(self) -> Quantisation: ...

    @property
    def not_finite(self) -> tuple[int, int] | None: ...

    @property
    def too_wide(self) -> int | None: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def kept_lost(self) -> bool: ...

def quantise_matrix(source: Matrix, target: str, *, delivered: str, low: Sequence[float], high: Sequence[float], kept: Quantisation | None = None, row_align: int = 0, resources: Resources, report: object | None = None) -> QuantiseReport: ...

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

class LaborRequest:
    def __init__(self, *, run_seed: int, batch: int = 0, dependency: int = 1, one_for_all_hops: bool = False) -> None: ...

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

    @property
    def temporal(self) -> bool: ...

    @property
    def has_scales(self) -> bool: ...

    @property
    def num_types(self) -> int: ...

    @property
    def num_relations(self) -> int: ...

    @property
    def seed_times(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    def batch_size_of(self, type: int) -> int: ...

    def num_nodes_of(self, type: int) -> int: ...

    def nodes_of(self, type: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    def num_sampled_nodes_of(self, type: int) -> list[int]: ...

    def num_edges_of(self, relation: int) -> int: ...

    def has_edge_ids_of(self, relation: int) -> bool: ...

    def has_weights_of(self, relation: int) -> bool: ...

    def num_sampled_edges_of(self, relation: int) -> list[int]: ...

    def copy_nodes(self, type: int, *, n_id: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None = None, batch: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None = None, threads: int = 0) -> None: ...

    def copy_edges(self, relation: int, *, edge_index: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None = None, e_id: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None = None, edge_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None = None, edge_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None = None, threads: int = 0) -> None: ...

    def copy_to(self, *, n_id: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], edge_index: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], e_id: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None = None, edge_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None = None, batch: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None = None, edge_scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None = None, threads: int = 0) -> None: ...

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

    @property
    def row_starts_bytes(self) -> int: ...

class DiskTopology:
    @staticmethod
    def open(graph: Topology) -> DiskTopology: ...

    def stats(self) -> ReadStats: ...

    def measure_disk(self) -> DiskRates | None: ...

    @property
    def merge_gap(self) -> int: ...

    @merge_gap.setter
    def merge_gap(self, arg: int, /) -> None: ...

    def known_degrees(self, graph: Topology, relation: int, adjacency: str, begin: int, degrees: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> bool: ...

class RowStartsReading:
    def __init__(self, graph: Topology, disk: DiskTopology) -> None: ...

    def step(self) -> bool: ...

    @property
    def damage(self) -> str: ...

def most_row_starts_bytes(graph: Topology) -> int: ...

def sample_neighbours(graph: Topology, seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fanout: Sequence[int], *, adjacency: str, expand_targets: bool, replace: bool, weighted: bool, seed: int, max_edges: int, threads: int, disjoint: bool = False, subgraph: Subgraph = Subgraph.DRAWN, exclude_sources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, exclude_targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, labor: LaborRequest | None = None, disk: DiskTopology | None = None, forced_set: SetKind | None = None) -> NeighbourSample: ...

def sample_typed(graph: Topology, seeds: Sequence[tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]]], fanout: Sequence[Sequence[int]], *, expand_targets: bool, symmetric: bool = False, replace: bool, weighted: bool, seed: int, max_edges: int, threads: int, disjoint: bool = False, subgraph: Subgraph = Subgraph.DRAWN, exclude: Sequence[tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]]] = [], times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, own_times: bool = False, last: bool = False, strict: bool = False, window: int = 0, exclude_in_trees: Sequence[tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None]] = [], spare_history: bool = False, labor: LaborRequest | None = None, disk: DiskTopology | None = None) -> NeighbourSample: ...

def draw_negatives(graph: Topology, *, relation: int = 0, symmetric: bool = False, given_sources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: NegativeWeights, reject: bool, seed: int, threads: int, sources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], target_candidates: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, source_candidates: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, links: int = 0, disk: DiskTopology | None = None) -> None: ...

def number_ends(ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

def random_walk(graph: Topology, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, adjacency: str, p: float, q: float, restart: float, weighted: bool, seed: int, threads: int, nodes: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], disk: DiskTopology | None = None) -> None: ...

def metapath_walk(graph: Topology, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], metapath: Sequence[int], *, weighted: bool, seed: int, threads: int, nodes: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], disk: DiskTopology | None = None) -> None: ...

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

    @property
    def held_by_age(self) -> list[int]: ...

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

    def has_promised(self, size: int, more: int) -> bool: ...

    def may_hold(self, blocks: int) -> bool: ...

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

    @property
    def promised(self) -> int: ...

class RegionView:
    @staticmethod
    def open(name: str, size: int) -> RegionView: ...

    @property
    def address(self) -> int: ...

    @property
    def size(self) -> int: ...

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
    def make(*, undirected: bool, symmetric_source: bool, out: bool, in_: bool, dedup: bool, distinct_source: bool = False, edge_ids: bool, num_nodes: int | None, weight_name: str = '', node_times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, time_unit: str = '') -> TopologyOptions: ...

class RelationReport:
    @property
    def num_edges(self) -> int: ...

    @property
    def input_rows(self) -> int: ...

    @property
    def dropped(self) -> int: ...

    @property
    def first_time(self) -> int | None: ...

    @property
    def last_time(self) -> int | None: ...

class TopologyReport(RelationReport):
    @property
    def num_nodes(self) -> int: ...

    @property
    def spilled_bytes(self) -> int: ...

class TypedTopologyReport:
    @property
    def relations(self) -> list[RelationReport]: ...

    @property
    def spilled_bytes(self) -> int: ...

class EdgeReader:
    def __init__(self, graph: Topology, relation: int = 0) -> None: ...

    def next(self) -> object:
        """
        (sources, targets, weights or None, edge ids or slots, times or None) of the next edges in the order of the file; None at the end.
        """

class EdgeInput:
    @staticmethod
    def text(source: str, *, open_stream: object | None = None, stored_bytes: int = 0, skip_errors: bool = False, timed: bool = False) -> EdgeInput:
        """
        Lines of source, target and perhaps weight; `timed`: then time, an integer.
        """

    @staticmethod
    def arrays(name: str, src: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], dst: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)] | None = None, times: Annotated[NDArray[numpy.int64], dict(shape=(None,), device='cpu', writable=False)] | None = None) -> EdgeInput: ...

    @staticmethod
    def chunks(name: str, open_chunks: Callable, *, place: object | None = None, weighted: bool = False, timed: bool = False, count: int = 0, bytes: int = 0) -> EdgeInput:
        """
        open_chunks() gives an iterator of (src, dst, weights or None, row numbers or None, rows so far or None, bytes that it was read from, times or None), which is read by a thread of its own; it is called again if ids turn out to need 64 bits. place(row) is what messages call a row.
        """

    @staticmethod
    def graph(graph: Topology, relation: int = 0, *, order: NodeOrder | None = None) -> EdgeInput:
        """`order`, one of this graph, gives the ends of its edges new numbers."""

    @property
    def skipped(self) -> int:
        """Lines of a text that were left out when it was read."""

    @property
    def messages(self) -> list[str]:
        """What was wrong with the first of them."""

class TypeSpec:
    @staticmethod
    def make(name: str, count: int, times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> TypeSpec: ...

class RelationSpec:
    @staticmethod
    def make(source: int, name: str, target: int, edges: EdgeInput, *, undirected: bool = False, symmetric_source: bool = False, out: bool = True, in_: bool = True, dedup: bool = False, distinct_source: bool = False, edge_ids: bool = False, weight_name: str = '') -> RelationSpec:
        """`source` and `target` are numbers of types; `edges` is an EdgeInput."""

def compile_topology(edges: EdgeInput, path: str, *, options: TopologyOptions, resources: Resources, report: object | None = None) -> TopologyReport:
    """Writes a graph without types. `path` must not exist."""

def compile_typed_topology(path: str, *, types: Sequence[TypeSpec], relations: Sequence[RelationSpec], views: Sequence[tuple[str, int]] = [], inverses: Sequence[tuple[int, int]] = [], time_unit: str = '', resources: Resources, report: object | None = None) -> TypedTopologyReport:
    """
    Writes a typed graph. `views` are (name, number of a relation), `inverses` pairs of relations. `path` must not exist.
    """

class BlockEstimate:
    @property
    def nodes(self) -> int: ...

    @property
    def blocks(self) -> int: ...

    @property
    def cold_blocks(self) -> int: ...

class NodeOrder:
    @staticmethod
    def make(graph: Topology, *, communities: bool, resources: Resources, report: object | None = None) -> NodeOrder:
        """An order by communities, or by how often rows name a node."""

    def numbers(self, type: int = 0) -> Annotated[NDArray[numpy.uint32], dict(writable=False)]:
        """The new number of each node of a type."""

    @property
    def before(self) -> BlockEstimate: ...

    @property
    def after(self) -> BlockEstimate: ...

    @property
    def communities(self) -> int: ...

    @property
    def helps(self) -> bool:
        """Whether batches would touch fewer blocks of a disk than before."""

    @property
    def byte_size(self) -> int: ...

    def reorder_rows(self, type: int, column: Matrix, path: str, *, resources: Resources, report: object | None = None) -> None:
        """Writes a column of nodes in the new order. `path` must not exist."""

    def renumber_ids(self, type: int, column: Matrix, path: str, *, report: object | None = None) -> None:
        """
        Writes a list of nodes with their new numbers, in the order that it has.
        """

    def reorder_original_ids(self, type: int, ids: Matrix | None, path: str, *, description: str, resources: Resources, report: object | None = None) -> None:
        """
        Writes original ids in the new order; None: the old numbers are the original ids.
        """

def index_original_ids(ids: Matrix, path: str, *, resources: Resources, report: object | None = None) -> None:
    """
    Writes original ids that do not ascend with the order in which they do.
    """

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

    def add(self, src: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """Appends a chunk of edges, by the numbers of their ends."""

    def finish(self, ids: object, target_ids: object | None = None) -> None:
        """
        After the last chunk and after ids.write(), which decides on the new ids. `ids` is the collector that numbered both ends, or the sources if `target_ids` did the targets.
        """

    def read(self, chunk: int) -> tuple:
        """
        (sources, targets, weights or None, row numbers or None, times or None) of a chunk, with new ids.
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
    def __init__(self, kind: FieldKind, *, columns: Sequence[int], labels: Sequence[str], unit: TimeUnit, may_be_missing: bool, missing_hint: str, text_hint: str, truths: Sequence[int]) -> None: ...

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

class NodeTimes(enum.Enum):
    NONE = 0

    RANDOM = 1

    ASCENDING = 2

class TypedNodes:
    def __init__(self, *, nodes: int, dim: int, times: NodeTimes) -> None: ...

class TypedEdges:
    def __init__(self, *, source: int, target: int, edges: int, each: bool, source_skew: int, target_skew: int, homophily: float, timed: bool) -> None: ...

class TypedModel:
    def __init__(self, *, seed: int, classes: int, first_time: int, last_time: int, types: Sequence[TypedNodes], relations: Sequence[TypedEdges]) -> None: ...

    def num_edges(self, relation: int) -> int: ...

    def features(self, type: int, first: int, count: int, *, threads: int) -> object: ...

    def labels(self, type: int, first: int, count: int, *, threads: int) -> NDArray[numpy.int64]: ...

    def times(self, type: int, first: int, count: int, *, threads: int) -> NDArray[numpy.int64]: ...

    def split_numbers(self, type: int, first: int, count: int, *, threads: int) -> NDArray[numpy.uint32]: ...

    def edges(self, relation: int, first: int, count: int, *, threads: int) -> tuple:
        """(sources, targets, times or None) of consecutive edges."""
