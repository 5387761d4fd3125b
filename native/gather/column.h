// Reads rows of a column on the path that suits it: from the mapping, through the page cache, or
// around it. Every path gives the same bytes. README.md beside this file says which one is taken
// when.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "gather/gather.h"
#include "gather/row_cache.h"
#include "gather/warmth.h"
#include "io/disk_rates.h"
#include "io/io_counters.h"
#include "io/random_file.h"
#include "io/sweep.h"
#include "store/matrix/matrix_reader.h"

namespace graphzero::gather {

enum class ColumnPath {
  kMapped,    // copies from the mapping; a row that is not in memory is a page fault
  kCached,    // reads through the page cache, many at a time
  kDirect,    // reads around the page cache, many at a time, and keeps hot rows in a RowCache
  kAdaptive,  // kMapped while the rows that are asked for are in memory, else kCached
};

struct ColumnCounters {
  std::atomic<uint64_t> gathers = 0;
  std::atomic<uint64_t> rows = 0;
  std::atomic<uint64_t> mapped_rows = 0;  // part of `rows`: copied from the mapping
  std::atomic<uint64_t> cache_hits = 0;   // part of `rows`: found in the row cache
  io::IoCounters io;
};

// Decodes the stored rows that a query has found, which are all but those at the positions
// `missing`. The row of query.ids[i] goes to out + i * row_bytes, or to out + places[i] * row_bytes
// if `places` is not null.
void DecodeFound(const RowQuery& query, std::span<const uint32_t> missing,
                 const store::RowDecoder& decoder, size_t row_bytes, std::byte* out,
                 const uint64_t* places = nullptr);

// Thread-safe.
class Column {
 public:
  // Where the filesystem has no O_DIRECT, kDirect becomes kCached and fallback() says why. `cache`
  // may be null. `reason` tells people why this path was chosen. Throws IoError.
  static std::shared_ptr<Column> Open(store::MatrixReader matrix, ColumnPath path,
                                      std::shared_ptr<RowCache> cache, std::string reason);
  ~Column() { delete cold_file_.load(); }

  // Delivers row ids[i] to out + i * matrix().row_bytes(), without the file's row padding. The
  // codes of a quantised column are decoded to values, on every path. Throws std::out_of_range
  // naming the first bad id before anything is written, and IoError with file and offset when a row
  // cannot be read. At most `threads` threads copy, 0 means all that other calls leave
  // (base/threads.h); waiting for the disk takes none of them.
  void Gather(std::span<const int64_t> ids, std::byte* out, int threads);

  // The same, but rows as they are stored: the codes of a quantised column, each row of
  // stored_row_bytes().
  void GatherStored(std::span<const int64_t> ids, std::byte* out, int threads);

  // As Gather(), but row ids[i] goes to out + places[i] * row_bytes(). Returns false and does
  // nothing if the rows must be read instead of copied from the mapping: the caller then uses
  // Gather(), which reads many at a time.
  bool TryGatherTo(std::span<const int64_t> ids, const uint64_t* places, std::byte* out,
                   int threads);

  // Whether a few of these rows, and so probably all, lie in the page cache. Does not look into the
  // row cache, and does not wait for a disk. Ignores ids that the column does not have.
  bool RowsInMemory(std::span<const int64_t> ids) const;

  // Measures the disk on which this file lies. Returns nothing on other paths than kDirect, and for
  // files that are too short to measure. Takes a few tenths of a second. Throws IoError.
  std::optional<io::DiskRates> MeasureDisk() const;
  // On the path kDirect, rows with a gap of up to this many bytes between them share a read.
  uint64_t merge_gap() const { return merge_gap_.load(std::memory_order_relaxed); }
  void SetMergeGap(uint64_t bytes);

  ColumnPath path() const { return path_; }
  const std::string& reason() const { return reason_; }
  const std::string& fallback() const { return fallback_; }
  const store::MatrixReader& matrix() const { return matrix_; }
  // Makes values of stored rows; null if the column is not quantised.
  const store::RowDecoder* decoder() const { return decoder_ ? &*decoder_ : nullptr; }
  const ColumnCounters& counters() const { return counters_; }
  // Alignment of O_DIRECT reads in bytes; 0 on other paths.
  uint32_t direct_align() const { return path_ == ColumnPath::kDirect ? file_->offset_align() : 0; }

 private:
  Column(store::MatrixReader matrix, ColumnPath path);
  const io::RandomFile* FileFor(std::span<const int64_t> ids);
  const io::RandomFile* OpenWhenCold();
  // How rows leave the column: as values, or as they are stored.
  struct Delivery {
    const store::RowDecoder* decoder;  // null: as they are stored
    size_t row_bytes;
  };
  Delivery AsValues() const { return {decoder(), matrix_.row_bytes()}; }
  Delivery AsStored() const { return {nullptr, matrix_.stored_row_bytes()}; }
  void GatherByReading(const io::RandomFile& file, std::span<const int64_t> ids,
                       const Delivery& delivery, std::byte* out, int threads);
  void GatherAs(const Delivery& delivery, std::span<const int64_t> ids, std::byte* out,
                int threads);
  void CountCall(size_t rows, bool mapped);
  void ReadMissing(const io::RandomFile& file, const io::ItemLayout& layout,
                   base::WorkVector<io::WantedItem>& missing, io::ItemSink& sink);
  base::WorkVector<io::WantedItem> FindPassed(std::span<const io::WantedItem> passed,
                                              size_t stored_bytes, io::ItemSink& sink);
  base::WorkVector<io::WantedItem> FindMissing(std::span<const int64_t> ids,
                                               const Delivery& delivery, std::byte* out,
                                               int threads);

  store::MatrixReader matrix_;
  std::optional<store::RowDecoder> decoder_;  // of a quantised column
  ColumnPath path_;
  std::string reason_;
  std::string fallback_;
  std::optional<io::RandomFile> file_;  // on the paths kCached and kDirect
  // On the path kAdaptive: opened when rows are first missing from memory, because a process may
  // have many more files in memory than descriptors to spare. No lock guards it, because a forked
  // child could find the lock held.
  std::atomic<const io::RandomFile*> cold_file_ = nullptr;
  std::shared_ptr<RowCache> cache_;
  uint64_t cache_column_ = 0;
  io::Sweeps sweeps_;
  const io::DiskDraws* draws_;
  std::atomic<uint64_t> merge_gap_ = io::kDirectGap;
  std::optional<Warmth> warmth_;
  ColumnCounters counters_;
};

}  // namespace graphzero::gather
