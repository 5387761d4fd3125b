// What all negatives of a request share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sample/negative_candidates.h"
#include "sample/negatives.h"
#include "sample/random.h"
#include "sample/rows.h"
#include "sample/seed_times.h"

namespace graphzero::sample {

// Where a negative is written to, by its number.
struct Pairs {
  std::span<int64_t> sources;
  std::span<int64_t> targets;

  void Write(size_t number, uint64_t source, uint64_t target) const {
    sources[number] = static_cast<int64_t>(source);
    targets[number] = static_cast<int64_t>(target);
  }
};

// A negative whose pairs were all rejected.
struct Exhausted {
  size_t number;
  Draws draws;  // those that follow
};

// Where it is seen whether a pair is an edge.
enum class EdgeTest {
  kSearch,       // in the row of the adjacency, which is sorted
  kSearchOther,  // in the row of the other adjacency, which is sorted
  kScan,         // by reading the row
  kScanShorter,  // by reading the shorter one of the rows of both ends
};

// Thread-safe.
struct NegativeContext {
  const NegativeRequest& request;
  const Rows& rows;
  const Rows* const other;  // null, or of ids of the same width
  const Pairs out;
  const Candidates& sources;
  const Candidates& targets;
  const Draws draws = RequestDraws(request.seed, Domain::kNegatives, request.relation);
  const bool one_type = request.source_type == request.target_type;

  // The source of a negative if the request gives it.
  std::optional<uint64_t> Given(size_t number) const {
    if (request.sources.empty()) return std::nullopt;
    return static_cast<uint64_t>(request.sources[number]);
  }

  EdgeTest Test() const {
    if (rows.sorted) return EdgeTest::kSearch;
    if (other == nullptr) return EdgeTest::kScan;
    return other->sorted ? EdgeTest::kSearchOther : EdgeTest::kScanShorter;
  }

  // Whether an edge of this own time, or kNoTime, counts for a negative.
  bool Counts(size_t number, int64_t time) const {
    return request.times.empty() || time <= request.times[number];
  }
};

}  // namespace graphzero::sample
