#include "gather/sharded_column.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/threads.h"

namespace graphzero::gather {
namespace {

using base::Number;

// Rows that a thread looks up in the cache at a time.
constexpr size_t kLookupRows = 2048;
static_assert(kLookupRows <= RowCache::kMostAtATime);
// Own rows that are read from a disk are gathered in pieces of this size and then copied to their
// places. A piece is large enough to keep many reads under way.
constexpr size_t kPieceBytes = size_t{1} << 20;
// Bytes of codes of a quantised column that a thread takes from the cache at a time and then
// decodes.
constexpr size_t kCodesAtATime = size_t{256} << 10;

void Add(std::atomic<uint64_t>& counter, uint64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace

ShardedColumn::ShardedColumn(std::shared_ptr<Column> own, std::shared_ptr<RowCache> cache)
    : own_(std::move(own)), cache_(std::move(cache)) {
  if (own_->matrix().shard() == nullptr) throw std::invalid_argument("not a part of a matrix");
  if (shard().total_rows > RowCache::kMostRows) cache_.reset();
  if (cache_) cache_column_ = cache_->NewColumn();
}

RowPlan ShardedColumn::Plan(std::span<const int64_t> ids, std::byte* out, int threads) {
  RowPlan plan = Deal(ids);
  Add(counters_.own_rows, plan.own.ids.size());
  for (PlacedRows& rows : plan.missing) {
    const size_t asked = rows.ids.size();
    if (cache_ && asked > 0) TakeCached(rows, out, threads);
    Add(counters_.cache_hits, asked - rows.ids.size());
  }
  return plan;
}

// Divides the ids by part. Counts them first, so that no list grows: if working memory is refused,
// it is refused at once.
RowPlan ShardedColumn::Deal(std::span<const int64_t> ids) const {
  const store::Shard& s = shard();
  std::vector<size_t> counts(s.parts);
  base::ForEach(ids.size(), [&](size_t i) {
    if (ids[i] < 0 || static_cast<uint64_t>(ids[i]) >= s.total_rows) {
      throw std::out_of_range("id " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                              " is outside " + own_->matrix().file()->path() +
                              ": valid ids are 0 to " + Number(s.total_rows) + " (exclusive)");
    }
    ++counts[s.OwnerOf(static_cast<uint64_t>(ids[i]))];
  });
  RowPlan plan;
  plan.missing.resize(s.parts);
  std::vector<PlacedRows*> lists(s.parts);
  for (uint64_t part = 0; part < s.parts; ++part) {
    lists[part] = part == s.part ? &plan.own : &plan.missing[part];
    lists[part]->ids.resize(counts[part]);
    lists[part]->places.resize(counts[part]);
    counts[part] = 0;
  }
  base::ForEach(ids.size(), [&](size_t i) {
    const auto row = static_cast<uint64_t>(ids[i]);
    const uint64_t part = s.OwnerOf(row);
    const size_t at = counts[part]++;
    lists[part]->ids[at] = part == s.part ? static_cast<int64_t>(s.LocalRow(row)) : ids[i];
    lists[part]->places[at] = i;
  });
  return plan;
}

// Delivers the rows that the cache has, and leaves the others in `rows`.
void ShardedColumn::TakeCached(PlacedRows& rows, std::byte* out, int threads) {
  const size_t stored_bytes = stored_row_bytes();
  const store::RowDecoder* const decoder = own_->decoder();
  const size_t grain = decoder == nullptr
                           ? kLookupRows
                           : std::clamp<size_t>(kCodesAtATime / stored_bytes, 1, kLookupRows);
  const size_t pieces = (rows.ids.size() + grain - 1) / grain;
  std::vector<size_t> left(pieces);
  base::ThreadLease(threads).For(rows.ids.size(), grain, [&](int, size_t begin, size_t end) {
    const uint64_t* const places = rows.places.data() + begin;
    std::unique_ptr<std::byte[]> codes;
    if (decoder != nullptr) {
      codes = std::make_unique_for_overwrite<std::byte[]>((end - begin) * stored_bytes);
    }
    const RowQuery query{.column = cache_column_,
                         .ids = std::span(rows.ids).subspan(begin, end - begin),
                         .row_bytes = stored_bytes,
                         .out = decoder == nullptr ? out : codes.get(),
                         .places = decoder == nullptr ? places : nullptr};
    std::array<uint32_t, kLookupRows> missing;
    const size_t misses = cache_->Find(query, missing.data());
    if (decoder != nullptr) {
      DecodeFound(query, std::span(missing).first(misses), *decoder, row_bytes(), out, places);
    }
    std::sort(missing.begin(),
              missing.begin() + static_cast<std::ptrdiff_t>(misses));  // were ordered by shard
    // Missing rows move to the front of their piece, so that pieces are independent of each other.
    for (size_t i = 0; i < misses; ++i) {
      rows.ids[begin + i] = rows.ids[begin + missing[i]];
      rows.places[begin + i] = rows.places[begin + missing[i]];
    }
    left[begin / grain] = misses;
  });
  size_t count = 0;
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t from = piece * grain;
    std::copy_n(rows.ids.begin() + static_cast<std::ptrdiff_t>(from), left[piece],
                rows.ids.begin() + static_cast<std::ptrdiff_t>(count));
    std::copy_n(rows.places.begin() + static_cast<std::ptrdiff_t>(from), left[piece],
                rows.places.begin() + static_cast<std::ptrdiff_t>(count));
    count += left[piece];
  }
  rows.ids.resize(count);
  rows.places.resize(count);
}

void ShardedColumn::GatherOwn(const RowPlan& plan, std::byte* out, int threads) {
  const size_t row_bytes = this->row_bytes();
  const size_t step = std::max<size_t>(1, kPieceBytes / row_bytes);
  const std::span<const int64_t> ids = plan.own.ids;
  if (own_->TryGatherTo(ids, plan.own.places.data(), out, threads)) return;
  base::WorkVector<std::byte> piece(std::min(step, ids.size()) * row_bytes);
  for (size_t begin = 0; begin < ids.size(); begin += step) {
    const auto rows = ids.subspan(begin, std::min(step, ids.size() - begin));
    own_->Gather(rows, piece.data(), threads);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(out + plan.own.places[begin + i] * row_bytes, piece.data() + i * row_bytes,
                  row_bytes);
    }
  }
}

void ShardedColumn::Take(const RowPlan& plan, uint64_t part, uint64_t first,
                         std::span<const std::byte> rows, std::byte* out) {
  const size_t row_bytes = this->row_bytes();
  const size_t stored_bytes = stored_row_bytes();
  const store::RowDecoder* const decoder = own_->decoder();
  const size_t count = rows.size() / stored_bytes;
  const PlacedRows* wanted = part < plan.missing.size() ? &plan.missing[part] : nullptr;
  if (wanted == nullptr || rows.size() % stored_bytes != 0 || first > wanted->ids.size() ||
      count > wanted->ids.size() - first) {
    throw std::out_of_range(Number(rows.size()) + " bytes of rows from row " + Number(first) +
                            " on, expected whole rows of " + Number(stored_bytes) + " bytes, " +
                            Number(wanted == nullptr ? 0 : wanted->ids.size()) + " in all");
  }
  for (size_t i = 0; i < count; ++i) {
    const std::byte* const row = rows.data() + i * stored_bytes;
    std::byte* const place = out + wanted->places[first + i] * row_bytes;
    if (decoder != nullptr) {
      decoder->Decode(row, place);
    } else {
      std::memcpy(place, row, stored_bytes);
    }
    if (!cache_) continue;
    try {
      cache_->Insert(cache_column_, static_cast<uint64_t>(wanted->ids[first + i]),
                     {row, stored_bytes});
    } catch (const std::bad_alloc&) {
      // The row is in its place; only the next caller will have to ask for it again.
    }
  }
  Add(counters_.remote_rows, count);
  Add(counters_.remote_bytes, rows.size());
}

void ShardedColumn::GatherForPeer(std::span<const int64_t> ids, std::byte* out, int threads) {
  const store::Shard& s = shard();
  base::WorkVector<int64_t> local(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto row = static_cast<uint64_t>(ids[i]);
    if (ids[i] < 0 || row >= s.total_rows || s.OwnerOf(row) != s.part) {
      throw std::out_of_range("row " + std::to_string(ids[i]) + " is not in part " +
                              Number(s.part) + " of " + Number(s.parts));
    }
    local[i] = static_cast<int64_t>(s.LocalRow(row));
  }
  own_->GatherStored(local, out, threads);
}

}  // namespace graphzero::gather
