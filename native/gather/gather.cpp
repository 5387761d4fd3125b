#include "gather/gather.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/prefetch.h"
#include "base/threads.h"
#include "store/files/mapped_file.h"

namespace graphzero::gather {
namespace {

// A row is prefetched kAheadBytes / row_bytes rows before it is copied, so that cache misses
// overlap; at least kLeastAhead and at most kMostAhead rows before.
constexpr size_t kAheadBytes = 4096;
constexpr size_t kLeastAhead = 4;
constexpr size_t kMostAhead = 64;
// The first bytes of a row that are prefetched. The hardware prefetcher fetches the rest;
// prefetching more would cost more than it gains.
constexpr size_t kPrefetchBytes = 256;
// A thread copies at least this many bytes at a time: handing out less costs more than copying it.
constexpr uint64_t kShareBytes = uint64_t{1} << 18;

}  // namespace

void CheckIds(const store::MatrixReader& matrix, std::span<const int64_t> ids) {
  const auto rows = static_cast<int64_t>(matrix.rows());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= rows) {
      throw std::out_of_range("id " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                              " is outside " + matrix.file()->path() + ": valid ids are 0 to " +
                              std::to_string(rows) + " (exclusive)");
    }
  }
}

namespace {

struct Source {
  const std::byte* data;
  uint64_t stride;
  size_t row_bytes;  // of a stored row

  const std::byte* Row(int64_t id) const { return data + static_cast<uint64_t>(id) * stride; }

  void Prefetch(int64_t id) const {
    base::PrefetchLines<base::Use::kReadOnce>(Row(id), std::min(row_bytes, kPrefetchBytes));
  }
};

struct Copy {
  const Source& source;
  std::span<const int64_t> ids;
  std::byte* out;
  size_t ahead;

  // Calls put(row, i) for each row of the range, and prefetches the next rows meanwhile.
  template <typename Put>
  void ForRows(size_t begin, size_t end, const Put& put) const {
    for (size_t i = begin; i < std::min(begin + ahead, end); ++i) source.Prefetch(ids[i]);
    for (size_t i = begin; i < end; ++i) {
      if (i + ahead < end) source.Prefetch(ids[i + ahead]);
      put(source.Row(ids[i]), i);
    }
  }

  void Rows(size_t begin, size_t end) const {
    ForRows(begin, end, [&](const std::byte* row, size_t i) {
      std::memcpy(out + i * source.row_bytes, row, source.row_bytes);
    });
  }

  // For rows of one value (labels, masks): compiles to a store instead of a call of memcpy.
  template <size_t row_bytes>
  void Values(size_t begin, size_t end) const {
    ForRows(begin, end, [&](const std::byte* row, size_t i) {
      std::memcpy(out + i * row_bytes, row, row_bytes);
    });
  }
};

using CopyRange = void (Copy::*)(size_t begin, size_t end) const;

CopyRange Choose(size_t row_bytes) {
  if (row_bytes == 4) return &Copy::Values<4>;
  if (row_bytes == 8) return &Copy::Values<8>;
  return &Copy::Rows;
}

// Calls range(copy, begin, end) for ranges that together cover all ids, on the threads of the call.
template <typename Range>
void RunRanges(const store::MatrixReader& matrix, std::span<const int64_t> ids, std::byte* out,
               int threads, const Range& range) {
  const Source source{matrix.data(), matrix.row_stride(), matrix.stored_row_bytes()};
  const Copy copy{source, ids, out,
                  std::clamp(kAheadBytes / source.row_bytes, kLeastAhead, kMostAhead)};
  const size_t grain = std::max<size_t>(1, kShareBytes / matrix.row_bytes());
  store::ReadGuarded(*matrix.file(), [&] {
    base::ThreadLease(threads).For(ids.size(), grain,
                                   [&](int, size_t begin, size_t end) { range(copy, begin, end); });
  });
}

// Calls put(row, i) with the stored row of each ids[i], on the threads of the call.
template <typename Put>
void PutRows(const store::MatrixReader& matrix, std::span<const int64_t> ids, std::byte* out,
             int threads, const Put& put) {
  RunRanges(matrix, ids, out, threads,
            [&](const Copy& copy, size_t begin, size_t end) { copy.ForRows(begin, end, put); });
}

}  // namespace

void GatherStoredRows(const store::MatrixReader& matrix, std::span<const int64_t> ids,
                      std::byte* out, int threads) {
  const CopyRange copy_range = Choose(matrix.stored_row_bytes());
  RunRanges(matrix, ids, out, threads,
            [&](const Copy& copy, size_t begin, size_t end) { (copy.*copy_range)(begin, end); });
}

void GatherRows(const store::MatrixReader& matrix, std::span<const int64_t> ids, std::byte* out,
                int threads) {
  const store::Quantisation* const quantisation = matrix.quantisation();
  if (quantisation == nullptr) return GatherStoredRows(matrix, ids, out, threads);
  const store::RowDecoder decoder(*quantisation, store::RowDecoder::Best());
  const size_t row_bytes = matrix.row_bytes();
  PutRows(matrix, ids, out, threads,
          [&](const std::byte* row, size_t i) { decoder.Decode(row, out + i * row_bytes); });
}

void GatherRowsTo(const store::MatrixReader& matrix, std::span<const int64_t> ids,
                  const uint64_t* places, std::byte* out, int threads) {
  const size_t row_bytes = matrix.row_bytes();
  const store::Quantisation* const quantisation = matrix.quantisation();
  if (quantisation == nullptr) {
    PutRows(matrix, ids, out, threads, [&](const std::byte* row, size_t i) {
      std::memcpy(out + places[i] * row_bytes, row, row_bytes);
    });
    return;
  }
  const store::RowDecoder decoder(*quantisation, store::RowDecoder::Best());
  PutRows(matrix, ids, out, threads, [&](const std::byte* row, size_t i) {
    decoder.Decode(row, out + places[i] * row_bytes);
  });
}

}  // namespace graphzero::gather
