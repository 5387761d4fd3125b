"""Ways to break the engine on purpose, each with the tests that ought to notice.

`old` stands exactly once in `file`; `new` takes its place while the mutant is switched on. Both are
expressions, or both are statements: those that end with ";" in C++, and those that begin a line in
Python. What is empty does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    at: str = ""  # a longer text that stands once, where `old` alone does not


_SAMPLE = "native/sample/"
_DRAWS = ("tests/sample/test_invariants.py", "tests/sample/test_reference.py")
_CHANCES = ("tests/sample/test_distribution.py",)
_TYPED = ("tests/sample/test_typed.py",)
_LINKS = ("tests/sample/test_typed_links.py", "tests/client/test_links.py")

SAMPLER = (
    Mutant(
        "a taken slot is drawn again",
        _SAMPLE + "pick/uniform_pick.cpp",
        "if (taken) slot = row.begin + last;",
        "",
        _DRAWS,
    ),
    Mutant(
        "the last slot of a long row is never drawn",
        _SAMPLE + "pick/uniform_pick.cpp",
        "row.begin + draws.Below(last + 1)",
        "row.begin + draws.Below(last)",
        _CHANCES,
    ),
    Mutant(
        "with replacement the last slot is never drawn",
        _SAMPLE + "pick/uniform_pick.cpp",
        "row.begin + draws.Below(degree)",
        "row.begin + draws.Below(degree > 1 ? degree - 1 : 1)",
        _CHANCES,
    ),
    Mutant(
        "weights decide nothing within a block",
        _SAMPLE + "pick/weighted_pick.cpp",
        "sum > rest",
        "true",
        _CHANCES,
    ),
    Mutant(
        "weights of a block count for the next one, too",
        _SAMPLE + "pick/weighted_pick.cpp",
        "weights + 2 * size + i",
        "weights + size + i",
        (*_CHANCES, *_DRAWS),
    ),
    Mutant(
        "a weighted edge is drawn twice",
        _SAMPLE + "pick/weighted_pick.cpp",
        "if (i + 1 < wanted) Remove(positions[i]);",
        "",
        _DRAWS,
    ),
    Mutant(
        "a repeated seed draws what the first draws",
        _SAMPLE + "neighbours/hop.cpp",
        "!repeated",
        "true",
        _DRAWS,
    ),
    Mutant(
        "the hops of a tree draw alike",
        _SAMPLE + "neighbours/hop.cpp",
        "hop_.tree_draws_.Child(tree).Child(spec.number)",
        "hop_.tree_draws_.Child(tree).Child(0)",
        _TYPED,
    ),
    Mutant(
        "a node that was found twice is two nodes",
        _SAMPLE + "neighbours/discovery.cpp",
        "table.FindOrInsert(ids[e], next)",
        "(table.FindOrInsert(ids[e], next), next)",
        _DRAWS,
    ),
    Mutant(
        "walks come back as likely as they go on",
        _SAMPLE + "walks/node2vec.h",
        "weight(at) * step.bias.back()",
        "weight(at) * step.bias.near()",
        ("tests/sample/test_walk_distribution.py",),
    ),
    Mutant(
        "parallel edges share a number",
        _SAMPLE + "pick/labor_pick.cpp",
        "if (run > 0) upper_[i] = numbers.Upper(ids[i], run);",
        "",
        ("tests/sample/test_labor.py", "tests/sample/test_labor_distribution.py"),
    ),
    Mutant(
        "windows of LABOR do not drift",
        _SAMPLE + "pick/labor_window.cpp",
        "periods_.IsLater(node) ? later_place_ : first_place_",
        "first_place_",
        ("tests/sample/test_labor.py",),
    ),
    Mutant(
        "pieces of a window are not spread over the row",
        _SAMPLE + "pick/labor_window.cpp",
        "static_cast<unsigned __int128>(j) * slots / kLaborPieces",
        "j * piece_size_",
        ("tests/sample/test_labor.py",),
    ),
    Mutant(
        "LABOR takes the largest numbers",
        _SAMPLE + "pick/labor_scan.cpp",
        "smaller[lane] += numbers[j] < numbers[begin + lane] ? 1 : 0;",
        "smaller[lane] += numbers[j] > numbers[begin + lane] ? 1 : 0;",
        ("tests/sample/test_labor.py",),
    ),
    Mutant(
        "an edge is a negative",
        _SAMPLE + "negatives/negative_pairs.h",
        "!request_.reject",
        "true",
        _LINKS,
    ),
    Mutant(
        "a node with itself is a negative",
        _SAMPLE + "negatives/negative_pairs.h",
        "context_.one_type && n.source == n.target",
        "false",
        _LINKS,
    ),
    Mutant(
        "the edge beside an excluded one is left out",
        _SAMPLE + "neighbours/excluded_edges.cpp",
        "slots[middle] - middle <= wanted",
        "slots[middle] - middle < wanted",
        _LINKS,
    ),
    Mutant(
        "an order has a position twice",
        _SAMPLE + "permutation.cpp",
        "while (value >= n_) value = Encrypt(value);",
        "value %= n_;",
        ("tests/client/test_permutation.py",),
    ),
    Mutant(
        "all epochs have one order",
        _SAMPLE + "permutation.cpp",
        "RequestDraws(seed, Domain::kShuffles).Child(epoch)",
        "RequestDraws(seed, Domain::kShuffles).Child(0)",
        ("tests/client/test_permutation.py", "tests/client/test_order.py"),
    ),
)

TIMES = (
    Mutant(
        "strictly before is not after",
        _SAMPLE + "times/seed_times.h",
        "strict ? seed_time - 1 : seed_time",
        "seed_time",
        _TYPED,
    ),
    Mutant(
        "a window is one longer",
        _SAMPLE + "times/seed_times.h",
        "strict ? window : window - 1",
        "window",
        _TYPED,
    ),
    Mutant(
        "a short row shows its future",
        _SAMPLE + "times/seed_times.cpp",
        "upto += time <= eligible.latest;",
        "upto += time <= eligible.latest || e + 1 == degree;",
        _TYPED,
    ),
    Mutant(
        "a row that begins in time is eligible as a whole",
        _SAMPLE + "times/seed_times.cpp",
        "eligible.Contains(first) && eligible.Contains(last)",
        "eligible.Contains(first)",
        _TYPED,
    ),
    Mutant(
        "a long row loses its latest eligible edge",
        _SAMPLE + "times/seed_times.cpp",
        "SearchKey(time) + 1",
        "SearchKey(time)",
        _TYPED,
    ),
    Mutant(
        "the latest edges are the earliest",
        _SAMPLE + "neighbours/hop.cpp",
        "row.end - count + e",
        "row.begin + e",
        _TYPED,
    ),
    Mutant(
        "a link's own edge is history",
        _SAMPLE + "neighbours/excluded_edges.cpp",
        "own[i] >= seeds->times[trees[i]]",
        "own[i] > seeds->times[trees[i]]",
        ("tests/sample/test_typed_links.py", "tests/client/test_typed_links.py"),
    ),
    Mutant(
        "zones go the other way",
        "native/compile/text/time_text.h",
        "behind ? 1 : -1",
        "behind ? -1 : 1",
        ("tests/inputs/test_dates.py",),
    ),
    Mutant(
        "every fourth year is a leap year",
        "native/compile/text/time_text.h",
        "year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)",
        "year % 4 == 0",
        ("tests/inputs/test_dates.py",),
    ),
)

_CACHE = ("tests/gather/test_row_cache.py", "tests/gather/test_paths.py")
ROWS = (
    Mutant(
        "columns share the rows of a cache",
        "native/gather/row_cache.cpp",
        "column << 44 | row",
        "row",
        _CACHE,
    ),
    Mutant(
        "a row that moved in the cache is looked for where it was",
        "native/gather/row_cache.cpp",
        "index_.Move(base::Mix64(header.key), place, now);",
        "",
        _CACHE,
    ),
    Mutant(
        "rows enter the cache under another's number",
        "native/gather/column.cpp",
        "cache_->Insert(column_, wanted.item, {data, stored_bytes_});",
        "cache_->Insert(column_, wanted.place, {data, stored_bytes_});",
        _CACHE,
    ),
    Mutant(
        "a forked child uses its parent's cache",
        "native/gather/row_cache.cpp",
        "forks_ == base::ForkCount()",
        "true",
        ("tests/gather/test_row_cache.py",),
    ),
    Mutant(
        "values of quantised rows begin at zero",
        "native/store/matrix/quantisation.h",
        "return offset + scale * static_cast<float>(code);",
        "return scale * static_cast<float>(code) + 0 * offset;",
        ("tests/store/test_quantised.py",),
    ),
    Mutant(
        "quantised rows that the cache does not have are made of what lies there",
        "native/gather/column.cpp",
        "is_missing[i]",
        "!is_missing[i]",
        ("tests/store/test_quantised.py",),
        at="if (is_missing[i]) continue;",
    ),
    Mutant(
        "the padding of rows is not skipped",
        "native/gather/gather.cpp",
        "static_cast<uint64_t>(id) * stride",
        "static_cast<uint64_t>(id) * row_bytes",
        ("tests/store/test_gather_rows.py", "tests/gather/test_paths.py"),
    ),
    Mutant(
        "the id after the last is a row",
        "native/gather/gather.cpp",
        "ids[i] < 0 || ids[i] >= rows",
        "ids[i] < 0 || ids[i] > rows",
        ("tests/gather/test_row_cache.py",),
    ),
)

_MEMORY = ("tests/server/test_shared_memory.py",)
BUDGET = (
    Mutant(
        "ranges that do not touch are joined",
        "native/shm/free_ranges.cpp",
        "previous->second.punched == punched && previous_end == offset",
        "previous->second.punched == punched",
        _MEMORY,
    ),
    Mutant(
        "what was punched counts as warm",
        "native/shm/free_ranges.cpp",
        "punched_bytes_ -= it->second.size;",
        "",
        _MEMORY,
    ),
    Mutant(
        "one session is lent all there is",
        "native/shm/budget.cpp",
        "half / std::max<size_t>(1, open_sessions_)",
        "half",
        _MEMORY,
    ),
    Mutant(
        "what is freed stays counted",
        "native/shm/budget.cpp",
        "account.resident - std::min(account.resident, bytes)",
        "account.resident",
        _MEMORY,
    ),
    Mutant(
        "sessions are opened beyond the limit",
        "native/shm/budget.cpp",
        "limit_ - std::min(limit_, promised_ - account.promise)",
        "limit_",
        _MEMORY,
    ),
    Mutant(
        "a forked child returns its parent's blocks",
        "native/shm/lease.cpp",
        "::getpid() == owner_",
        "true",
        _MEMORY,
    ),
    Mutant(
        "blocks are never returned",
        "native/shm/lease.cpp",
        "queue_->Push(block_id_);",
        ";",
        ("tests/server/test_memory_turns.py",),
    ),
)

_DAMAGE = ("tests/store/test_damage.py", "tests/store/test_typed_topology.py")
FORMATS = (
    Mutant(
        "a header's checksum is not looked at",
        "native/store/container/container_reader.cpp",
        "checksum != h.header_checksum",
        "false",
        ("tests/store/test_damage.py",),
    ),
    Mutant(
        "sections may lie over each other",
        "native/store/container/container_reader.cpp",
        "s.offset < free",
        "false",
        _DAMAGE,
    ),
    Mutant(
        "what must be understood is ignored",
        "native/store/container/container_reader.cpp",
        "s.flags & kMustUnderstand",
        "false",
        ("tests/store/test_compatibility.py",),
    ),
    Mutant(
        "a neighbour that is no node is followed",
        _SAMPLE + "rows/rows.h",
        "id >= adjacency.neighbour_bound",
        "false",
        ("tests/sample/test_safety.py",),
    ),
    Mutant(
        "a row may end beyond all edges",
        _SAMPLE + "rows/rows.h",
        "row.begin > row.end || row.end > adjacency.edges",
        "row.begin > row.end",
        ("tests/sample/test_safety.py",),
    ),
    Mutant(
        "two types have one name",
        "native/store/topology/schema.cpp",
        "!is_new",
        "false",
        ("tests/store/test_schema.py", "tests/store/test_typed_topology.py"),
        at="seen.emplace(type.name, t);\n    if (!is_new)",
    ),
    Mutant(
        "verify takes any order of equal times",
        "native/store/verify/verify_values.cpp",
        "before != here || !adjacency_.edge_ids.present()",
        "true",
        ("tests/store/test_typed_verify.py",),
    ),
    Mutant(
        "a file of GraphZero 0.2 may be longer than it says",
        "native/store/container/legacy_format.cpp",
        "end != file.size()",
        "end > file.size()",
        ("tests/store/test_compatibility.py",),
    ),
    Mutant(
        "repeats are dropped in a leaf only",
        "native/compile/edges/edge_dedup.h",
        "last && last->row == row.row && last->rest.SameEdge(*slot)",
        "false",
        ("tests/compile/test_edges_options.py", "tests/compile/test_edges_limits.py"),
    ),
)

_SESSION = ("tests/server/test_session.py", "tests/server/test_limits.py")
PROTOCOL = (
    Mutant(
        "a request id may be used twice",
        "server/sessions/session.py",
        "message.request_id == 0 or message.request_id in self._open",
        "message.request_id == 0",
        _SESSION,
    ),
    Mutant(
        "any number of requests is under way",
        "server/sessions/request_ids.py",
        "in_flight > most",
        "False",
        _SESSION,
    ),
    Mutant(
        "ids may end in the middle of one",
        "server/sessions/request_ids.py",
        "len(piece) % 8",
        "False",
        _SESSION,
    ),
    Mutant(
        "requests may have any number of ids",
        "server/sessions/request_ids.py",
        "len(self.bytes) + len(piece) > 8 * most",
        "False",
        _SESSION,
    ),
    Mutant(
        "ids that are kept are not counted",
        "server/sessions/request_ids.py",
        "not budget.take(more, held=held)",
        "False",
        _SESSION,
    ),
    Mutant(
        "what is cancelled goes on",
        "server/sessions/session.py",
        'request.fail(RequestCancelled("cancelled by the client"))',
        "pass",
        _SESSION,
    ),
    Mutant(
        "a session waits until a worker is free",
        "server/sessions/scheduler.py",
        "self._running < self._usual or lane.running == 0",
        "self._running < self._usual",
        ("tests/server/test_scheduler.py",),
    ),
    Mutant(
        "nobody looks for a job that may run after another ended",
        "server/sessions/scheduler.py",
        "self._one_may_run()",
        "False",
        ("tests/server/test_scheduler.py",),
        at="if self._one_may_run():\n                        self._call_worker()",
    ),
    Mutant(
        "what a session had queued runs after its end",
        "server/sessions/scheduler.py",
        "lane is not None",
        "False",
        ("tests/server/test_scheduler.py",),
        at="if lane is not None:\n                self._queued -= len(lane.jobs)",
    ),
)

_ORDER = ("tests/client/test_order.py",)
LOADER = (
    Mutant(
        "all ranks have the batches of the first",
        "client/loader/order.py",
        "(step * self.world_size + self.rank) * self.batch_size",
        "(step * self.world_size) * self.batch_size",
        _ORDER,
    ),
    Mutant(
        "ranks share seeds of the last batch",
        "client/loader/order.py",
        "min(self.rank, more)",
        "0",
        _ORDER,
    ),
    Mutant(
        "batches of all ranks draw alike",
        "client/loader/order.py",
        "step * world_size + rank",
        "step",
        _ORDER,
    ),
    Mutant(
        "a loader goes on with other data",
        "client/loader/state.py",
        "state[key] != own[key]",
        "False",
        ("tests/client/test_loader.py",),
        at="if state[key] != own[key]:\n            raise DatasetChanged(",
    ),
    Mutant(
        "time passes while a trainer is stopped",
        "client/process/deadline.py",
        "self._stopped_s += now - self._looked",
        "self._stopped_s += 0.0",
        ("tests/client/test_deadline.py",),
    ),
)

MUTANTS = (*SAMPLER, *TIMES, *ROWS, *BUDGET, *FORMATS, *PROTOCOL, *LOADER)
