// What every long job of the compiler shares: its limits, its progress, and how its messages name a
// row of the input.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/errors.h"

namespace graphzero::compile {

// With less memory, the fixed buffers alone would not fit.
inline constexpr uint64_t kMinimumMemory = uint64_t{64} << 20;
// A thread needs this much memory for its own buffers. A job starts no more threads than its memory
// has room for.
inline constexpr uint64_t kMemoryPerThread = uint64_t{8} << 20;

// Limits of one job. Results never depend on them.
struct Resources {
  uint64_t memory;       // bytes of working memory, at least kMinimumMemory
  int threads;           // at least 1
  std::string temp_dir;  // directory of unnamed spill files, which vanish with the process
  // For tests only: stores edges with 64-bit ids from the start, as a job does once it meets an id
  // beyond 32 bits.
  bool wide_records = false;

  // Checks the limits that a user gave, and lowers `threads` to what `memory` has room for. Throws
  // std::invalid_argument for limits that are too small.
  static Resources Make(uint64_t memory, int threads, std::string temp_dir) {
    if (memory < kMinimumMemory) {
      throw std::invalid_argument("found a memory limit of " + std::to_string(memory) +
                                  " bytes, expected at least " +
                                  std::to_string(kMinimumMemory >> 20) + " MiB");
    }
    if (threads < 1) {
      throw std::invalid_argument("found " + std::to_string(threads) +
                                  " threads, expected at least 1");
    }
    const auto most = std::min<uint64_t>(memory / kMemoryPerThread, INT32_MAX);
    return {memory, std::min(threads, static_cast<int>(most)), std::move(temp_dir)};
  }
};

// The job's threads write it, and the thread that shows the progress reads it. `phase` points to a
// string literal.
class Progress {
 public:
  void Start(const char* phase, uint64_t total) {
    phase_ = phase;
    done_ = 0;
    total_ = total;
  }
  void Add(uint64_t amount) { done_.fetch_add(amount, std::memory_order_relaxed); }
  void Cancel() { cancelled_ = true; }
  void ThrowIfCancelled() const {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
  }

  const char* phase() const { return phase_; }
  uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  uint64_t total() const { return total_; }

 private:
  std::atomic<const char*> phase_{""};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> total_{0};
  std::atomic<bool> cancelled_{false};
};

// What messages call a row of an input: "edges/part-3.parquet row 17", "edges.csv line 18".
struct RowPlaces {
  std::string name;  // of the whole input
  // Names the place of a row, for inputs where the row number alone does not say it. May take long,
  // and may throw.
  std::function<std::string(uint64_t row)> describe{};

  std::string At(uint64_t row) const {
    return describe ? describe(row) : name + " row " + std::to_string(row);
  }
};

}  // namespace graphzero::compile
