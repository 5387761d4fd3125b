// What all negatives of a request share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sample/negatives/negative_candidates.h"
#include "sample/negatives/negatives.h"
#include "sample/random.h"
#include "sample/rows/rows.h"
#include "sample/times/seed_times.h"

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
  Draws draws;  // generator of its further draws
};

// How to find out whether a pair is an edge.
enum class EdgeTest {
  kSearch,       // search the row of the adjacency, which is sorted
  kSearchOther,  // search the row of the other adjacency, which is sorted
  kScan,         // read the whole row
  kScanShorter,  // read the shorter one of the rows of both ends
};

// Thread-safe.
struct NegativeContext {
  const NegativeRequest& request;
  const Rows& rows;
  const Rows* const other;  // null, or rows with ids of the same width
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
    // A search finds whether there is an edge. With times, each parallel edge counts by its own
    // time, so all of them have to be looked at.
    const bool search = request.times.empty() || rows.adjacency.times == nullptr;
    if (search && rows.sorted) return EdgeTest::kSearch;
    if (other == nullptr) return EdgeTest::kScan;
    return search && other->sorted ? EdgeTest::kSearchOther : EdgeTest::kScanShorter;
  }

  // Whether an edge whose own time is `time`, or kNoTime, counts as an edge for a negative.
  bool Counts(size_t number, int64_t time) const {
    return request.times.empty() || time <= request.times[number];
  }
};

}  // namespace graphzero::sample
