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

// The nodes that an end of a negative can be: all of the graph, or a list.
class Candidates {
 public:
  Candidates(std::span<const int64_t> list, uint64_t nodes) : list_(list), nodes_(nodes) {}

  bool all() const { return list_.empty(); }
  uint64_t size() const { return all() ? nodes_ : list_.size(); }
  uint64_t operator[](uint64_t position) const {
    return all() ? position : static_cast<uint64_t>(list_[position]);
  }

 private:
  std::span<const int64_t> list_;
  uint64_t nodes_;
};

// Throws InputError: for this source, or for any, all pairs are edges.
[[noreturn]] void ThrowNoNegative(const Rows& rows, const NegativeRequest& request,
                                  const std::optional<uint64_t>& source);

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
