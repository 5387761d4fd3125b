// What a file's reads cost so far.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace graphzero::io {

// Latencies by powers of two: bucket b counts reads that took less than 2^b microseconds and did
// not fit bucket b - 1; the last takes the rest (2^18 microseconds, a quarter of a second, and
// more).
inline constexpr size_t kLatencyBuckets = 20;

// Written by many threads. A reader sees each number whole, but some may be newer than others.
struct IoCounters {
  std::atomic<uint64_t> reads = 0;
  std::atomic<uint64_t> read_bytes = 0;
  std::atomic<uint64_t> read_nanoseconds = 0;  // sum over reads, from submission to completion
  std::array<std::atomic<uint64_t>, kLatencyBuckets> latency{};

  static size_t Bucket(uint64_t nanoseconds) {
    return std::min<size_t>(std::bit_width(nanoseconds / 1000), kLatencyBuckets - 1);
  }
};

// Counts of one job, which are added to the shared IoCounters once, at its end.
struct IoCounts {
  uint64_t reads = 0;
  uint64_t bytes = 0;
  uint64_t nanoseconds = 0;
  std::array<uint64_t, kLatencyBuckets> latency{};

  void CountLatency(uint64_t of_a_read) {
    nanoseconds += of_a_read;
    ++latency[IoCounters::Bucket(of_a_read)];
  }

  void AddTo(IoCounters& to) const {
    constexpr auto kOrder = std::memory_order_relaxed;
    to.reads.fetch_add(reads, kOrder);
    to.read_bytes.fetch_add(bytes, kOrder);
    to.read_nanoseconds.fetch_add(nanoseconds, kOrder);
    for (size_t i = 0; i < latency.size(); ++i) {
      if (latency[i] > 0) to.latency[i].fetch_add(latency[i], kOrder);
    }
  }
};

}  // namespace graphzero::io
