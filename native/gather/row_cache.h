// The hot rows of columns that are read around the page cache.
//
// The page cache keeps 4096 bytes for every row of 512 that somebody wanted; this keeps the row.
// One cache serves all columns and all callers. Rows of any length lie in circular logs, so that no
// memory is lost to size classes or to fragmentation.
//
// S3-FIFO decides which rows stay ("FIFO queues are all you need for cache eviction", SOSP
// 2023): new rows enter a small log; those that are asked for again before they fall out of it move
// to the main log, the others leave a fingerprint behind, by which they enter the main log directly
// if they come back soon. Rows at the end of the main log that were asked for since they came in
// go around once more. An epoch that touches every row once therefore passes through the small log
// and leaves the main one alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace graphzero::gather {

struct RowCacheUsage {
  uint64_t capacity_bytes;
  uint64_t used_bytes;   // rows with their headers
  uint64_t index_bytes;  // in addition to the capacity
  uint64_t rows;
};

// A query for rows of one column. They go to `out` one behind the other, in the order of `ids`, or
// to the places in `out` that `places` names.
struct RowQuery {
  uint64_t column;  // from NewColumn()
  std::span<const int64_t> ids;
  size_t row_bytes;
  std::byte* out;
  const uint64_t* places = nullptr;  // one for each id, counted in rows

  std::byte* PlaceOf(size_t i) const {
    return out + (places == nullptr ? i : places[i]) * row_bytes;
  }
};

// Thread-safe. In a forked child it is empty and stays so: another thread of the parent may have
// been in the middle of a change.
class RowCache {
 public:
  // Memory is taken as the cache fills. Rows longer than a twentieth of a shard (half of its small
  // log) are not kept. Throws std::bad_alloc.
  explicit RowCache(uint64_t capacity_bytes);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  // A number for the keys of one open column, never given twice.
  uint64_t NewColumn() { return next_column_.fetch_add(1, std::memory_order_relaxed); }

  static constexpr uint64_t kMostRows = uint64_t{1} << 44;

  // Copies the rows that are there to their places and writes the positions in `ids` of the others
  // to `missing`, which has room for all; returns how many are missing. At most kMostAtATime ids.
  size_t Find(const RowQuery& query, uint32_t* missing);
  static constexpr size_t kMostAtATime = 4096;
  void Insert(uint64_t column, uint64_t row, std::span<const std::byte> data);

  RowCacheUsage usage() const;
  // False in a forked child.
  bool Usable() const;

 private:
  class Shard;
  size_t ShardOf(uint64_t hash) const;

  struct Unmap {
    size_t bytes;
    void operator()(std::byte* memory) const;
  };
  const uint64_t capacity_;
  const uint64_t forks_;  // ForkCount() when the cache was made
  std::unique_ptr<std::byte, Unmap> memory_;
  mutable std::vector<Shard> shards_;
  std::atomic<uint64_t> next_column_ = 0;
};

}  // namespace graphzero::gather
