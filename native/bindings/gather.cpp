#include "gather/gather.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "gather/column.h"
#include "gather/row_cache.h"
#include "gather/sharded_column.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using gather::Column;
using gather::ColumnPath;
using gather::RowCache;
using OutputBytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void Gather(Column& column, const IdArray& ids, const OutputBytes& out, int threads) {
  const size_t expected = ids.size() * column.matrix().row_bytes();
  if (out.size() != expected) {
    throw std::invalid_argument("out has " + std::to_string(out.size()) + " bytes, expected " +
                                std::to_string(expected));
  }
  GilRelease release;
  column.Gather({ids.data(), ids.size()}, reinterpret_cast<std::byte*>(out.data()), threads);
}

using gather::RowPlan;
using gather::ShardedColumn;
using ByteView = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::byte* Destination(size_t row_bytes, size_t rows, const OutputBytes& out) {
  const size_t expected = rows * row_bytes;
  if (out.size() != expected) {
    throw std::invalid_argument("out has " + std::to_string(out.size()) + " bytes, expected " +
                                std::to_string(expected));
  }
  return reinterpret_cast<std::byte*>(out.data());
}

// A plan with its destination, whose size has been checked against the number of rows.
struct PlannedGather {
  RowPlan plan;
  std::byte* out;
};

PlannedGather PlanRows(ShardedColumn& column, const IdArray& ids, const OutputBytes& out) {
  std::byte* const to = Destination(column.row_bytes(), ids.size(), out);
  GilRelease release;
  return {column.Plan({ids.data(), ids.size()}, to, 0), to};
}

nb::bytes MissingIds(const PlannedGather& planned, uint64_t part) {
  const auto& ids = planned.plan.missing.at(part).ids;
  return nb::bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int64_t));
}

// The counters at one moment.
struct ColumnStats {
  uint64_t gathers;
  uint64_t rows;
  uint64_t mapped_rows;
  uint64_t cache_hits;
  uint64_t reads;
  uint64_t read_bytes;
  uint64_t read_nanoseconds;
  std::array<uint64_t, io::kLatencyBuckets> latency;
};

ColumnStats Stats(const Column& column) {
  const gather::ColumnCounters& counters = column.counters();
  ColumnStats stats{
      counters.gathers,  counters.rows,          counters.mapped_rows,         counters.cache_hits,
      counters.io.reads, counters.io.read_bytes, counters.io.read_nanoseconds, {}};
  std::copy(counters.io.latency.begin(), counters.io.latency.end(), stats.latency.begin());
  return stats;
}

}  // namespace

void BindGather(nb::module_& m) {
  nb::enum_<ColumnPath>(m, "ColumnPath")
      .value("MAPPED", ColumnPath::kMapped)
      .value("CACHED", ColumnPath::kCached)
      .value("DIRECT", ColumnPath::kDirect)
      .value("ADAPTIVE", ColumnPath::kAdaptive);

  nb::class_<gather::RowCacheUsage>(m, "RowCacheUsage")
      .def_ro("capacity_bytes", &gather::RowCacheUsage::capacity_bytes)
      .def_ro("used_bytes", &gather::RowCacheUsage::used_bytes)
      .def_ro("index_bytes", &gather::RowCacheUsage::index_bytes)
      .def_ro("rows", &gather::RowCacheUsage::rows);

  nb::class_<RowCache>(m, "RowCache")
      .def(nb::init<uint64_t>(), "capacity_bytes"_a)
      .def("usage", &RowCache::usage, nb::call_guard<GilRelease>());

  nb::class_<ColumnStats>(m, "ColumnStats")
      .def_ro("gathers", &ColumnStats::gathers)
      .def_ro("rows", &ColumnStats::rows)
      .def_ro("mapped_rows", &ColumnStats::mapped_rows)
      .def_ro("cache_hits", &ColumnStats::cache_hits)
      .def_ro("reads", &ColumnStats::reads)
      .def_ro("read_bytes", &ColumnStats::read_bytes)
      .def_ro("read_nanoseconds", &ColumnStats::read_nanoseconds)
      .def_ro("latency", &ColumnStats::latency);

  nb::class_<io::DiskRates>(m, "DiskRates")
      .def_ro("reads_per_second", &io::DiskRates::reads_per_second)
      .def_ro("bytes_per_second", &io::DiskRates::bytes_per_second)
      .def_prop_ro("merge_gap", &io::DiskRates::MergeGap);

  nb::class_<Column>(m, "Column")
      .def_static("open", &Column::Open, "matrix"_a, "path"_a, "cache"_a.none(), "reason"_a,
                  nb::call_guard<GilRelease>())
      .def_prop_ro("path", &Column::path)
      .def_prop_ro("reason", &Column::reason)
      .def_prop_ro("fallback", &Column::fallback)
      .def(
          "rows_in_memory",
          [](const Column& column, const IdArray& ids) {
            return column.RowsInMemory({ids.data(), ids.size()});
          },
          "ids"_a)
      .def_prop_ro("direct_align", &Column::direct_align)
      .def("measure_disk", &Column::MeasureDisk, nb::call_guard<GilRelease>())
      .def_prop_rw("merge_gap", &Column::merge_gap, &Column::SetMergeGap)
      .def("stats", &Stats)
      .def("gather", &Gather, "ids"_a, "out"_a, nb::kw_only(), "threads"_a = 0);

  nb::class_<PlannedGather>(m, "PlannedGather")
      .def("missing_ids", &MissingIds, "part"_a, "Little-endian int64, of rows to be asked for.");
  nb::class_<ShardedColumn>(m, "ShardedColumn")
      .def(nb::init<std::shared_ptr<Column>, std::shared_ptr<RowCache>>(), "own"_a,
           "cache"_a.none())
      .def_prop_ro("stored_row_bytes", &ShardedColumn::stored_row_bytes)
      .def("plan", &PlanRows, "ids"_a, "out"_a, nb::keep_alive<0, 3>(),
           "Delivers what the cache has of other parts' rows; `out` must live as long as this.")
      .def(
          "gather_own",
          [](ShardedColumn& column, const PlannedGather& planned) {
            column.GatherOwn(planned.plan, planned.out, 0);
          },
          "planned"_a, nb::call_guard<GilRelease>())
      .def(
          "take",
          [](ShardedColumn& column, const PlannedGather& planned, uint64_t part, uint64_t first,
             const ByteView& rows) {
            GilRelease release;
            column.Take(planned.plan, part, first,
                        std::as_bytes(std::span(rows.data(), rows.size())), planned.out);
          },
          "planned"_a, "part"_a, "first"_a, "rows"_a)
      .def(
          "gather_for_peer",
          [](ShardedColumn& column, const IdArray& ids, const OutputBytes& out) {
            std::byte* const to = Destination(column.stored_row_bytes(), ids.size(), out);
            GilRelease release;
            column.GatherForPeer({ids.data(), ids.size()}, to, 0);
          },
          "ids"_a, "out"_a)
      .def(
          "counts",
          [](const ShardedColumn& column) {
            const gather::ShardCounters& c = column.counters();
            return std::array<uint64_t, 4>{c.own_rows, c.cache_hits, c.remote_rows, c.remote_bytes};
          },
          "Own rows, cached rows of others, remote rows, remote bytes.");
}

}  // namespace graphzero::bindings
