#include "sample/pick/weighted_pick.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/threads.h"

namespace graphzero::sample {
namespace {

// Blocks that are summed and draws that are made between two calls of CheckPoint(). Either takes a
// fraction of a millisecond, even in rows of a million edges.
constexpr uint64_t kCheckedBlocks = 64;
constexpr uint64_t kCheckedDraws = 256;

}  // namespace

void WeightedPicker::Load(std::span<const float> weights) {
  weights_ = weights;
  any_removed_ = false;
  positive_ = 0;
  block_ = uint64_t{1} << (std::bit_width(weights.size()) / 2);
  block_sums_.Reserve(Blocks());
  running_.Reserve(Blocks());
  for (uint64_t b = 0; b < Blocks(); ++b) {
    if (b % kCheckedBlocks == kCheckedBlocks - 1) base::CheckPoint();
    double sum = 0;
    for (const float& weight : Block(b)) {
      // Written so that a NaN fails, too.
      if (!(weight >= 0 && weight <= std::numeric_limits<float>::max())) {
        throw BadWeight{static_cast<uint64_t>(&weight - weights.data()), weight};
      }
      sum += weight;
      positive_ += weight > 0;
    }
    block_sums_[b] = sum;
  }
  Accumulate(0);
}

std::span<const float> WeightedPicker::Block(uint64_t block) const {
  const uint64_t begin = block * block_;
  return weights_.subspan(begin, std::min(block_, weights_.size() - begin));
}

bool WeightedPicker::Available(uint64_t position) const {
  return weights_[position] > 0 && !(any_removed_ && removed_.Contains(position));
}

double WeightedPicker::SumOfRest(uint64_t block) const {
  double sum = 0;
  const uint64_t begin = block * block_;
  const uint64_t end = std::min<uint64_t>(begin + block_, weights_.size());
  for (uint64_t i = begin; i < end; ++i) {
    if (Available(i)) sum += weights_[i];
  }
  return sum;
}

void WeightedPicker::Accumulate(uint64_t from) {
  double sum = from == 0 ? 0.0 : running_[from - 1];
  for (uint64_t b = from; b < Blocks(); ++b) running_[b] = sum += block_sums_[b];
}

void WeightedPicker::Remove(uint64_t position) {
  removed_.Insert(position);
  any_removed_ = true;
  const uint64_t block = position / block_;
  block_sums_[block] = SumOfRest(block);
  Accumulate(block);
}

uint64_t WeightedPicker::Draw(Draws& draws) const {
  const double* const begin = running_.data();
  const double* const end = begin + Blocks();
  const double target = draws.Unit() * end[-1];
  const double* const found = std::upper_bound(begin, end, target);
  // Rounding may make the target equal to the total. The last block with a positive sum has it
  // then.
  const double* const at = found == end ? std::lower_bound(begin, end, end[-1]) : found;
  const auto block = static_cast<uint64_t>(at - begin);
  const double rest = block == 0 ? target : target - begin[block - 1];
  const uint64_t first = block * block_;
  const uint64_t last = std::min<uint64_t>(first + block_, weights_.size());
  double sum = 0;
  uint64_t position = first;
  for (uint64_t i = first; i < last; ++i) {
    if (!Available(i)) continue;
    position = i;
    sum += weights_[i];
    if (sum > rest) break;
  }
  return position;
}

uint64_t WeightedPicker::Pick(const Fanout& fanout, Draws draws, uint64_t* positions) {
  if (positive_ == 0) return 0;
  const bool all = fanout.edges == Fanout::kAll;
  const uint64_t wanted = all ? positive_ : static_cast<uint64_t>(fanout.edges);
  if (all || (!fanout.replace && positive_ <= wanted)) {
    uint64_t count = 0;
    // Bounded by the earlier count as well: the file's bytes could change under the mapping.
    for (uint64_t i = 0; i < weights_.size() && count < positive_; ++i) {
      if (weights_[i] > 0) positions[count++] = i;
    }
    return count;
  }
  if (fanout.replace) {
    for (uint64_t i = 0; i < wanted; ++i) {
      if (i % kCheckedDraws == kCheckedDraws - 1) base::CheckPoint();
      positions[i] = Draw(draws);
    }
    return wanted;
  }
  removed_.Start(wanted, weights_.size(), PositionSet::KindFor(wanted, weights_.size()));
  for (uint64_t i = 0; i < wanted; ++i) {
    if (i % kCheckedDraws == kCheckedDraws - 1) base::CheckPoint();
    positions[i] = Draw(draws);
    if (i + 1 < wanted) Remove(positions[i]);
  }
  return wanted;
}

}  // namespace graphzero::sample
