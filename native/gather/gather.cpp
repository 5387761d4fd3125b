#include "gather/gather.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace graphzero::gather {
namespace {

// A row is asked for this many rows before it is copied, so that its cache misses overlap.
constexpr size_t kAhead = 8;
constexpr size_t kCacheLine = 64;
// Below this many bytes starting threads costs more than it saves.
constexpr uint64_t kSerialBytes = uint64_t{1} << 18;

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
  const int team = ids.size() * source.row_bytes < kSerialBytes ? 1
                   : threads > 0                                ? threads
                                                                : omp_get_max_threads();
  if (team == 1) return CopyRange(source, ids, out, 0, ids.size());
#pragma omp parallel num_threads(team)
  {
    const auto share = static_cast<size_t>(omp_get_num_threads());
    const auto rank = static_cast<size_t>(omp_get_thread_num());
    CopyRange(source, ids, out, ids.size() * rank / share, ids.size() * (rank + 1) / share);
  }
}

}  // namespace graphzero::gather
