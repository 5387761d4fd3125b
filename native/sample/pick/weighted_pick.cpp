#include "sample/pick/weighted_pick.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/threads.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#include <xmmintrin.h>
#endif

namespace graphzero::sample {
namespace {

// Blocks that are summed and draws that are made between two calls of CheckPoint(). Either takes a
// fraction of a millisecond, even in rows of a million edges.
constexpr uint64_t kCheckedBlocks = 64;
constexpr uint64_t kCheckedDraws = 256;

// Blocks that are summed side by side. Each sum adds its weights one after the other, because the
// order decides how they are rounded, and every addition waits for the one before. Those of other
// blocks do not.
constexpr uint64_t kTogether = 4;

double Sum(std::span<const float> weights) {
  double sum = 0;
  for (const float weight : weights) sum += weight;
  return sum;
}

// sums[b] = Sum() of block b, for kTogether blocks of `size` weights each that follow each other.
// `size` is a multiple of kTogether.
void SumBlocks(const float* weights, uint64_t size, double* sums) {
#if defined(__SSE2__)
  __m128d low = _mm_setzero_pd();      // the sums of blocks 0 and 1
  __m128d high = _mm_setzero_pd();     // of blocks 2 and 3
  const auto add = [&](__m128 each) {  // a weight of each block
    low = _mm_add_pd(low, _mm_cvtps_pd(each));
    high = _mm_add_pd(high, _mm_cvtps_pd(_mm_movehl_ps(each, each)));
  };
  for (uint64_t i = 0; i < size; i += kTogether) {
    __m128 a = _mm_loadu_ps(weights + i);
    __m128 b = _mm_loadu_ps(weights + size + i);
    __m128 c = _mm_loadu_ps(weights + 2 * size + i);
    __m128 d = _mm_loadu_ps(weights + 3 * size + i);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    add(a);
    add(b);
    add(c);
    add(d);
  }
  _mm_storeu_pd(sums, low);
  _mm_storeu_pd(sums + 2, high);
#else
  for (uint64_t b = 0; b < kTogether; ++b) sums[b] = Sum({weights + b * size, size});
#endif
}

// Adds the number of positive weights. Returns whether all weights can be drawn by. Looks at the
// bits of the weights, because the compiler uses vectors for integers that are compared, but not
// for floating-point numbers.
bool Check(std::span<const float> weights, uint64_t* positive) {
  constexpr uint32_t kInfinity = 0x7f800000;  // NaNs and negative numbers are above
  constexpr uint32_t kMinusZero = 0x80000000;
  uint32_t bad = 0;
  uint32_t above = 0;
  for (const float weight : weights) {
    const auto bits = std::bit_cast<uint32_t>(weight);
    bad |= (bits >= kInfinity ? 1u : 0u) & (bits != kMinusZero ? 1u : 0u);
    above += bits - 1 < kInfinity - 1 ? 1 : 0;
  }
  *positive += above;
  return bad == 0;
}

// Throws for the first bad weight. There may be none any more: the file's bytes could change under
// the mapping.
void ThrowFirstBad(std::span<const float> weights) {
  for (const float& weight : weights) {
    // Written so that a NaN fails, too.
    if (!(weight >= 0 && weight <= std::numeric_limits<float>::max())) {
      throw BadWeight{static_cast<uint64_t>(&weight - weights.data()), weight};
    }
  }
}

}  // namespace

void WeightedPicker::Load(std::span<const float> weights) {
  weights_ = weights;
  any_removed_ = false;
  positive_ = 0;
  block_ = uint64_t{1} << (std::bit_width(weights.size()) / 2);
  block_sums_.Reserve(Blocks());
  running_.Reserve(Blocks());
  bool good = true;
  for (uint64_t b = 0; b < Blocks();) {
    if (b % kCheckedBlocks == kCheckedBlocks - kTogether) base::CheckPoint();
    const uint64_t begin = b * block_;
    const bool together = block_ % kTogether == 0 && begin + kTogether * block_ <= weights.size();
    const auto some = weights.subspan(
        begin, std::min((together ? kTogether : 1) * block_, weights.size() - begin));
    good &= Check(some, &positive_);
    if (together) {
      SumBlocks(some.data(), block_, block_sums_.data() + b);
      b += kTogether;
    } else {
      block_sums_[b++] = Sum(some);
    }
  }
  if (!good) [[unlikely]]
    ThrowFirstBad(weights);
  Accumulate(0);
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
