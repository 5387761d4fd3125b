#include "gather/column.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/errors.h"
#include "base/threads.h"
#include "gather/gather.h"
#include "store/spread_looks.h"

namespace graphzero::gather {
namespace {

// Rows that a thread looks up in the cache at a time.
constexpr size_t kLookupGrain = 2048;
static_assert(kLookupGrain <= RowCache::kMostAtATime);
// Longer rows are worth a fault each, and would need too much memory for reads under way.
constexpr uint64_t kLongestReadRow = uint64_t{4} << 20;

// Of the rows of a small request.
constexpr size_t kFewLooks = 8;

void Add(std::atomic<uint64_t>& counter, uint64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

// Puts rows in their places, and into the cache if there is one.
class RowSink : public io::ItemSink {
 public:
  RowSink(std::byte* out, size_t row_bytes, RowCache* cache, uint64_t column)
      : out_(out), row_bytes_(row_bytes), cache_(cache), column_(column) {}

  void Take(const io::WantedItem& wanted, const std::byte* data) noexcept override {
    std::memcpy(Place(wanted), data, row_bytes_);
    if (cache_ == nullptr) return;
    try {
      cache_->Insert(column_, wanted.item, {data, row_bytes_});
    } catch (const std::bad_alloc&) {
      // The row is in its place; only the next caller will have to read it again.
    }
  }

  // Rows for the cache come from memory that nobody else can write to: the destination may be
  // shared with a trainer.
  std::byte* Destination(const io::WantedItem& wanted) noexcept override {
    return cache_ == nullptr ? Place(wanted) : nullptr;
  }

 private:
  std::byte* Place(const io::WantedItem& wanted) const { return out_ + wanted.place * row_bytes_; }

  std::byte* const out_;
  const size_t row_bytes_;
  RowCache* const cache_;
  const uint64_t column_;
};

}  // namespace

std::shared_ptr<Column> Column::Open(store::MatrixReader matrix, ColumnPath path,
                                     std::shared_ptr<RowCache> cache, std::string reason) {
  std::shared_ptr<Column> column(new Column(std::move(matrix), path));
  column->reason_ = std::move(reason);
  if (column->matrix_.row_bytes() > kLongestReadRow && path != ColumnPath::kMapped) {
    column->path_ = path = ColumnPath::kMapped;
    column->fallback_ = "its rows are too long to be read one by one";
  }
  const auto& file = column->matrix_.file();
  if (path == ColumnPath::kDirect) {
    column->file_ = io::RandomFile::OpenDirect(file, &column->fallback_);
    if (!column->file_) column->path_ = ColumnPath::kCached;
  }
  if (column->path_ == ColumnPath::kCached) column->file_ = io::RandomFile::OpenCached(file);
  if (path == ColumnPath::kAdaptive) column->warmth_.emplace(*file);
  if (column->path_ == ColumnPath::kDirect && cache &&
      column->matrix_.rows() <= RowCache::kMostRows) {
    column->cache_column_ = cache->NewColumn();
    column->cache_ = std::move(cache);
  }
  return column;
}

void Column::Gather(std::span<const int64_t> ids, std::byte* out, int threads) {
  CheckIds(matrix_, ids);
  if (const io::RandomFile* file = FileFor(ids)) {
    GatherByReading(*file, ids, out, threads);
  } else {
    GatherRows(matrix_, ids, out, threads);
    Add(counters_.mapped_rows, ids.size());
  }
  Add(counters_.gathers, 1);
  Add(counters_.rows, ids.size());
}

bool Column::RowsInMemory(std::span<const int64_t> ids) const {
  return store::SpreadLooks(ids.size(), kFewLooks, [&](size_t i) {
    const auto row = static_cast<uint64_t>(ids[i]);
    std::byte byte;
    return row >= matrix_.rows() ||
           matrix_.file()->TryRead(matrix_.data_offset() + row * matrix_.row_stride(), {&byte, 1});
  });
}

// What to read these rows from; null if they are copied from the mapping.
const io::RandomFile* Column::FileFor(std::span<const int64_t> ids) {
  if (path_ == ColumnPath::kMapped) return nullptr;
  if (path_ != ColumnPath::kAdaptive) return &*file_;
  const auto offset = [&](size_t i) {
    return matrix_.data_offset() + static_cast<uint64_t>(ids[i]) * matrix_.row_stride();
  };
  return warmth_->IsWarm(ids.size(), offset) ? nullptr : OpenWhenCold();
}

const io::RandomFile* Column::OpenWhenCold() {
  const io::RandomFile* file = cold_file_.load();
  if (file != nullptr) return file;
  try {
    auto opened = std::make_unique<io::RandomFile>(io::RandomFile::OpenCached(matrix_.file()));
    if (cold_file_.compare_exchange_strong(file, opened.get())) return opened.release();
    return file;  // of the thread that was faster
  } catch (const IoError& error) {
    if (error.code() != EMFILE && error.code() != ENFILE) throw;
    return nullptr;  // page faults are slower and need no descriptor
  }
}

void Column::GatherByReading(const io::RandomFile& file, std::span<const int64_t> ids,
                             std::byte* out, int threads) {
  const io::ItemLayout layout{.base = matrix_.data_offset(),
                              .stride = matrix_.row_stride(),
                              .bytes = static_cast<uint32_t>(matrix_.row_bytes())};
  base::WorkVector<io::WantedItem> missing = FindMissing(ids, out, threads);
  RowSink sink(out, matrix_.row_bytes(), cache_.get(), cache_column_);
  io::ReadItems(file, layout, missing, sink, counters_.io);
}

// All rows that the cache does not have; the others are copied from it.
base::WorkVector<io::WantedItem> Column::FindMissing(std::span<const int64_t> ids, std::byte* out,
                                                     int threads) {
  base::WorkVector<io::WantedItem> missing(ids.size());
  if (!cache_) {
    for (size_t i = 0; i < ids.size(); ++i) missing[i] = {static_cast<uint64_t>(ids[i]), i};
    return missing;
  }
  const size_t row_bytes = matrix_.row_bytes();
  std::atomic<size_t> count = 0;
  base::ThreadLease(threads).For(ids.size(), kLookupGrain, [&](int, size_t begin, size_t end) {
    const RowQuery query{.column = cache_column_,
                         .ids = ids.subspan(begin, end - begin),
                         .row_bytes = row_bytes,
                         .out = out + begin * row_bytes};
    std::array<uint32_t, kLookupGrain> positions;
    const size_t misses = cache_->Find(query, positions.data());
    const size_t at = count.fetch_add(misses, std::memory_order_relaxed);
    for (size_t i = 0; i < misses; ++i) {
      const size_t place = begin + positions[i];
      missing[at + i] = {static_cast<uint64_t>(ids[place]), place};
    }
  });
  missing.resize(count);
  Add(counters_.cache_hits, ids.size() - missing.size());
  return missing;
}

}  // namespace graphzero::gather
