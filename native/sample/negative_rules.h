// What both ways of drawing negatives share. negatives.h has the call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sample/negatives.h"
#include "sample/rows.h"

namespace graphzero::sample {

// Rejected pairs after which those that are left are counted. A source with edges to nine in ten of
// all nodes gets there once in a thousand times.
inline constexpr int kMaxRejected = 64;

// Throws InputError: for this source, or for any, all pairs are edges.
[[noreturn]] void ThrowNoNegative(const Rows& rows, const std::optional<uint64_t>& source);

struct StagedNegatives {
  const NegativeRequest& request;
  const Rows& rows;
  bool sorted;
  std::span<int64_t> sources;
  std::span<int64_t> targets;
};

// Over a topology that is not in memory. The caller holds a ThreadLease.
void DrawNegativesStaged(const StagedNegatives& negatives);

}  // namespace graphzero::sample
