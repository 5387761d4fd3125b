// What a file's reads cost so far.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace graphzero::io {

// Latencies by powers of two: bucket b counts reads that took less than 2^b microseconds and did
// not fit bucket b - 1; the last takes the rest (half a second and more).
inline constexpr size_t kLatencyBuckets = 20;

// Written by many threads; a reader sees each number whole, and all of them soon.
struct IoCounters {
  std::atomic<uint64_t> reads = 0;
  std::atomic<uint64_t> read_bytes = 0;
  std::atomic<uint64_t> read_nanoseconds = 0;  // sum over reads, from submission to completion
  std::array<std::atomic<uint64_t>, kLatencyBuckets> latency{};

  static size_t Bucket(uint64_t nanoseconds) {
    return std::min<size_t>(std::bit_width(nanoseconds / 1000), kLatencyBuckets - 1);
  }
};

}  // namespace graphzero::io
