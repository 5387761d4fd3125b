// A column whose rows are dealt to several parts (store/matrix/shard.h), of which this process has
// one.
//
// A batch is gathered in three steps, so that the network works while this process does:
//   - Plan() delivers the rows of other parts that the row cache has, and tells which rows must be
//     requested from which part;
//   - GatherOwn() delivers the rows that lie here, while the answers are under way;
//   - Take() delivers rows as they arrive, and keeps them in the cache.
// Rows travel and are cached as they are stored. The destination is never read: a trainer may write
// to it at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "gather/column.h"
#include "gather/row_cache.h"

namespace graphzero::gather {

// Rows of one part, and where they go in the destination.
struct PlacedRows {
  base::WorkVector<int64_t> ids;
  base::WorkVector<uint64_t> places;
};

// What is left to do for one call.
struct RowPlan {
  PlacedRows own;                   // ids are rows of this part's file
  std::vector<PlacedRows> missing;  // by part; ids are rows of the whole matrix
};

struct ShardCounters {
  std::atomic<uint64_t> own_rows = 0;
  std::atomic<uint64_t> cache_hits = 0;  // rows of other parts that the cache had
  std::atomic<uint64_t> remote_rows = 0;
  std::atomic<uint64_t> remote_bytes = 0;
};

// Thread-safe.
class ShardedColumn {
 public:
  // `own` reads a matrix with a shard. `cache` may be null. Throws std::invalid_argument.
  ShardedColumn(std::shared_ptr<Column> own, std::shared_ptr<RowCache> cache);

  const store::Shard& shard() const { return *own_->matrix().shard(); }
  const Column& own() const { return *own_; }
  uint64_t row_bytes() const { return own_->matrix().row_bytes(); }
  uint64_t stored_row_bytes() const { return own_->matrix().stored_row_bytes(); }

  // Throws std::out_of_range naming the first id that the whole matrix does not have, before
  // anything is written.
  RowPlan Plan(std::span<const int64_t> ids, std::byte* out, int threads);
  void GatherOwn(const RowPlan& plan, std::byte* out, int threads);
  // `rows` are the stored rows of missing[part] from number `first` on. Throws std::out_of_range if
  // missing[part] does not have that many, or if `rows` are no whole rows: the sender is not
  // trusted.
  void Take(const RowPlan& plan, uint64_t part, uint64_t first, std::span<const std::byte> rows,
            std::byte* out);

  // Delivers rows of this part to the daemon of another part: `ids` are row numbers of the whole
  // matrix, and the stored rows go to `out` one behind the other. Throws std::out_of_range for a
  // row of another part.
  void GatherForPeer(std::span<const int64_t> ids, std::byte* out, int threads);

  const ShardCounters& counters() const { return counters_; }

 private:
  RowPlan Deal(std::span<const int64_t> ids) const;
  void TakeCached(PlacedRows& rows, std::byte* out, int threads);

  std::shared_ptr<Column> own_;
  std::shared_ptr<RowCache> cache_;
  uint64_t cache_column_ = 0;
  ShardCounters counters_;
};

}  // namespace graphzero::gather
