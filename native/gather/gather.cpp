#include "gather/gather.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "sample/threads.h"

namespace graphzero::gather {
namespace {

// A row is asked for this many rows before it is copied, so that its cache misses overlap.
constexpr size_t kAhead = 8;
constexpr size_t kCacheLine = 64;
// A thread copies at least this many bytes at a time: less than that costs more to hand out than to
// do.
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
  size_t row_bytes;

  const std::byte* Row(int64_t id) const { return data + static_cast<uint64_t>(id) * stride; }

  void Prefetch(int64_t id) const {
    const std::byte* row = Row(id);
    // The hardware follows a stream after a few lines; only a row's start needs asking for.
    for (size_t at = 0; at < std::min<size_t>(row_bytes, 4 * kCacheLine); at += kCacheLine) {
      __builtin_prefetch(row + at, 0, 0);
    }
  }
};

void CopyRange(const Source& source, std::span<const int64_t> ids, std::byte* out, size_t begin,
               size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (i + kAhead < end) source.Prefetch(ids[i + kAhead]);
    std::memcpy(out + i * source.row_bytes, source.Row(ids[i]), source.row_bytes);
  }
}

}  // namespace

void GatherRows(const store::MatrixReader& matrix, std::span<const int64_t> ids, std::byte* out,
                int threads) {
  CheckIds(matrix, ids);
  const Source source{matrix.data(), matrix.row_stride(), matrix.row_bytes()};
  const size_t grain = std::max<size_t>(1, kShareBytes / source.row_bytes);
  sample::ThreadLease(threads).For(ids.size(), grain, [&](int, size_t begin, size_t end) {
    CopyRange(source, ids, out, begin, end);
  });
}

}  // namespace graphzero::gather
