#include "gather/gather.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "gather/column.h"
#include "gather/row_cache.h"

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
      .def("stats", &Stats)
      .def("gather", &Gather, "ids"_a, "out"_a, nb::kw_only(), "threads"_a = 0);
}

}  // namespace graphzero::bindings
