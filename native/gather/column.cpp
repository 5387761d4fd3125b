#include "gather/column.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/errors.h"
#include "base/threads.h"
#include "gather/gather.h"
#include "store/files/mapped_file.h"

namespace graphzero::gather {
namespace {

// Rows that a thread looks up in the cache at a time.
constexpr size_t kLookupGrain = 2048;
static_assert(kLookupGrain <= RowCache::kMostAtATime);
// Longer rows are always copied from the mapping: each is worth a page fault, and reading them
// would need too much memory for reads under way.
constexpr uint64_t kLongestReadRow = uint64_t{4} << 20;

// Bytes that are taken from the cache at a time, of rows that another call has read.
constexpr size_t kPassedAtATime = size_t{256} << 10;

// Bytes of codes of a quantised column that a thread takes from the cache at a time and then
// decodes.
constexpr size_t kCodesAtATime = size_t{256} << 10;

// How many rows of a small request RowsInMemory() checks.
constexpr size_t kFewLooks = 8;

void Add(std::atomic<uint64_t>& counter, uint64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

// Puts rows in their places, and the stored rows into the cache, if there is one. `decoder` makes
// values of the rows that go to their places; null leaves them as they are stored.
class RowSink : public io::ItemSink {
 public:
  RowSink(std::byte* out, size_t row_bytes, size_t stored_bytes, const store::RowDecoder* decoder,
          RowCache* cache, uint64_t column)
      : out_(out),
        row_bytes_(row_bytes),
        stored_bytes_(stored_bytes),
        decoder_(decoder),
        cache_(cache),
        column_(column) {}

  void Take(const io::WantedItem& wanted, const std::byte* data) noexcept override {
    if (decoder_ != nullptr) {
      decoder_->Decode(data, Place(wanted));
    } else {
      std::memcpy(Place(wanted), data, stored_bytes_);
    }
    if (cache_ == nullptr) return;
    try {
      cache_->Insert(column_, wanted.item, {data, stored_bytes_});
    } catch (const std::bad_alloc&) {
      // The row is in its place; only the next caller will have to read it again.
    }
  }

  // Rows for the cache come from memory that nobody else can write to: the destination may be
  // shared with a trainer.
  std::byte* Destination(const io::WantedItem& wanted) noexcept override {
    return cache_ == nullptr && decoder_ == nullptr ? Place(wanted) : nullptr;
  }

 private:
  std::byte* Place(const io::WantedItem& wanted) const { return out_ + wanted.place * row_bytes_; }

  std::byte* const out_;
  const size_t row_bytes_;  // as delivered
  const size_t stored_bytes_;
  const store::RowDecoder* const decoder_;
  RowCache* const cache_;
  const uint64_t column_;
};

}  // namespace

Column::Column(store::MatrixReader matrix, ColumnPath path)
    : matrix_(std::move(matrix)),
      path_(path),
      draws_(io::DiskDraws::OfFile(matrix_.file()->fd().get())) {}

std::shared_ptr<Column> Column::Open(store::MatrixReader matrix, ColumnPath path,
                                     std::shared_ptr<RowCache> cache, std::string reason) {
  std::shared_ptr<Column> column(new Column(std::move(matrix), path));
  column->reason_ = std::move(reason);
  if (const store::Quantisation* quantisation = column->matrix_.quantisation()) {
    column->decoder_.emplace(*quantisation, store::RowDecoder::Best());
  }
  if (column->matrix_.stored_row_bytes() > kLongestReadRow && path != ColumnPath::kMapped) {
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
  GatherAs(AsValues(), ids, out, threads);
}

void Column::GatherStored(std::span<const int64_t> ids, std::byte* out, int threads) {
  GatherAs(AsStored(), ids, out, threads);
}

void Column::GatherAs(const Delivery& delivery, std::span<const int64_t> ids, std::byte* out,
                      int threads) {
  CheckIds(matrix_, ids);
  const io::RandomFile* const file = FileFor(ids);
  if (file != nullptr) {
    GatherByReading(*file, ids, delivery, out, threads);
  } else if (delivery.decoder != nullptr) {
    GatherRows(matrix_, ids, out, threads);
  } else {
    GatherStoredRows(matrix_, ids, out, threads);
  }
  CountCall(ids.size(), file == nullptr);
}

void Column::CountCall(size_t rows, bool mapped) {
  Add(counters_.gathers, 1);
  Add(counters_.rows, rows);
  if (mapped) Add(counters_.mapped_rows, rows);
}

bool Column::TryGatherTo(std::span<const int64_t> ids, const uint64_t* places, std::byte* out,
                         int threads) {
  CheckIds(matrix_, ids);
  if (FileFor(ids) != nullptr) return false;
  GatherRowsTo(matrix_, ids, places, out, threads);
  CountCall(ids.size(), true);
  return true;
}

bool Column::RowsInMemory(std::span<const int64_t> ids) const {
  return store::SpreadLooks(ids.size(), kFewLooks, [&](size_t i) {
    const auto row = static_cast<uint64_t>(ids[i]);
    std::byte byte;
    return row >= matrix_.rows() ||
           matrix_.file()->TryRead(matrix_.data_offset() + row * matrix_.row_stride(), {&byte, 1});
  });
}

// The file to read these rows from; null if they are to be copied from the mapping.
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
    return file;  // opened by another thread, which was faster
  } catch (const IoError& error) {
    if (error.code() != EMFILE && error.code() != ENFILE) throw;
    return nullptr;  // page faults are slower and need no descriptor
  }
}

void Column::GatherByReading(const io::RandomFile& file, std::span<const int64_t> ids,
                             const Delivery& delivery, std::byte* out, int threads) {
  const io::ItemLayout layout{.base = matrix_.data_offset(),
                              .stride = matrix_.row_stride(),
                              .bytes = static_cast<uint32_t>(matrix_.stored_row_bytes())};
  base::WorkVector<io::WantedItem> missing = FindMissing(ids, delivery, out, threads);
  RowSink sink(out, delivery.row_bytes, layout.bytes, delivery.decoder, cache_.get(),
               cache_column_);
  ReadMissing(file, layout, missing, sink);
}

// Reads rows together with other calls (io/sweep.h). Rows that the sweep of others had passed are
// in the cache when that sweep has ended, if others wanted them, too.
void Column::ReadMissing(const io::RandomFile& file, const io::ItemLayout& layout,
                         base::WorkVector<io::WantedItem>& missing, io::ItemSink& sink) {
  const io::SweepFile from{.file = file, .direct = nullptr, .gap = merge_gap(), .draws = draws_};
  if (!cache_ || !cache_->Usable()) {
    sweeps_.ReadAll(from, layout, missing, sink, counters_.io);
    return;
  }
  io::SortItems(missing);
  missing.resize(sweeps_.ReadSome(from, layout, missing, sink, counters_.io));
  if (missing.empty()) return;
  missing = FindPassed(missing, layout.bytes, sink);
  missing.resize(sweeps_.ReadSome(from, layout, missing, sink, counters_.io));
  io::Sweeps::ReadAlone(from, layout, missing, sink, counters_.io);
}

// Delivers the passed rows that are in the cache by now; returns the others, in the same order.
base::WorkVector<io::WantedItem> Column::FindPassed(std::span<const io::WantedItem> passed,
                                                    size_t stored_bytes, io::ItemSink& sink) {
  const size_t step =
      std::clamp<size_t>(kPassedAtATime / std::max<size_t>(stored_bytes, 1), 1, kLookupGrain);
  base::WorkVector<std::byte> rows(std::min(step, passed.size()) * stored_bytes);
  base::WorkVector<io::WantedItem> left;
  std::array<int64_t, kLookupGrain> ids;
  std::array<uint32_t, kLookupGrain> missing;
  for (size_t begin = 0; begin < passed.size(); begin += step) {
    base::CheckStopped();
    const auto some = passed.subspan(begin, std::min(step, passed.size() - begin));
    for (size_t i = 0; i < some.size(); ++i) ids[i] = static_cast<int64_t>(some[i].item);
    const RowQuery query{.column = cache_column_,
                         .ids = std::span(ids).first(some.size()),
                         .row_bytes = stored_bytes,
                         .out = rows.data()};
    const auto absent = std::span(missing).first(cache_->Find(query, missing.data()));
    std::sort(absent.begin(), absent.end());
    auto next = absent.begin();
    for (uint32_t i = 0; i < some.size(); ++i) {
      if (next != absent.end() && *next == i) {
        left.push_back(some[i]);
        ++next;
      } else {
        sink.Take(some[i], rows.data() + i * stored_bytes);
      }
    }
  }
  Add(counters_.cache_hits, passed.size() - left.size());
  return left;
}

std::optional<io::DiskRates> Column::MeasureDisk() const {
  if (path_ != ColumnPath::kDirect || matrix_.file()->size() < io::kLeastMeasured) return {};
  return io::MeasureDisk(*file_);
}

void Column::SetMergeGap(uint64_t bytes) { merge_gap_ = io::ClampGap(bytes); }

// Delivers the rows that the cache has; returns the others.
base::WorkVector<io::WantedItem> Column::FindMissing(std::span<const int64_t> ids,
                                                     const Delivery& delivery, std::byte* out,
                                                     int threads) {
  base::WorkVector<io::WantedItem> missing(ids.size());
  if (!cache_) {
    for (size_t i = 0; i < ids.size(); ++i) missing[i] = {static_cast<uint64_t>(ids[i]), i};
    return missing;
  }
  const size_t stored_bytes = matrix_.stored_row_bytes();
  const store::RowDecoder* const decoder = delivery.decoder;
  const size_t grain = decoder != nullptr
                           ? std::clamp<size_t>(kCodesAtATime / stored_bytes, 1, kLookupGrain)
                           : kLookupGrain;
  std::atomic<size_t> count = 0;
  base::ThreadLease(threads).For(ids.size(), grain, [&](int, size_t begin, size_t end) {
    std::byte* const places = out + begin * delivery.row_bytes;
    std::unique_ptr<std::byte[]> codes;
    if (decoder != nullptr) {
      codes = std::make_unique_for_overwrite<std::byte[]>((end - begin) * stored_bytes);
    }
    const RowQuery query{.column = cache_column_,
                         .ids = ids.subspan(begin, end - begin),
                         .row_bytes = stored_bytes,
                         .out = decoder != nullptr ? codes.get() : places};
    std::array<uint32_t, kLookupGrain> positions;
    const size_t misses = cache_->Find(query, positions.data());
    if (decoder != nullptr) {
      DecodeFound(query, std::span(positions).first(misses), *decoder, delivery.row_bytes, places);
    }
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

void DecodeFound(const RowQuery& query, std::span<const uint32_t> missing,
                 const store::RowDecoder& decoder, size_t row_bytes, std::byte* out,
                 const uint64_t* places) {
  std::array<bool, RowCache::kMostAtATime> is_missing{};
  for (const uint32_t i : missing) is_missing[i] = true;
  for (size_t i = 0; i < query.ids.size(); ++i) {
    if (is_missing[i]) continue;
    const size_t place = places == nullptr ? i : places[i];
    decoder.Decode(query.PlaceOf(i), out + place * row_bytes);
  }
}

}  // namespace graphzero::gather
