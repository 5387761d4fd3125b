#include "sample/pick/labor_pick.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sample/pick/weighted_pick.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace graphzero::sample {
namespace {

// How many slots the first pass should keep so that k of them can be taken. How many it really
// keeps varies by the square root of that. It keeps too few in less than one row of a hundred, or
// where few weights make up the sum.
double KeptFor(uint64_t most) {
  const auto taken = static_cast<double>(most);
  return taken + 2 * std::sqrt(taken) + 3;
}
constexpr double kWider = 4;
// Positions that are compared at once.
constexpr size_t kTogether = 16;

double WeightSum(std::span<const float> weights, uint64_t* positive) {
  double sum = 0;
  for (const float& weight : weights) {
    // Written so that a NaN fails, too.
    if (!(weight >= 0 && weight <= std::numeric_limits<float>::max())) {
      throw BadWeight{static_cast<uint64_t>(&weight - weights.data()), weight};
    }
    sum += weight;
    *positive += weight > 0;
  }
  return sum;
}

// Bit i says whether upper[i] <= limit, for i below kTogether. Which slots are small is
// unpredictable: a branch for each would cost more than all other work on a row.
uint32_t SmallAmong(const uint32_t* upper, uint32_t limit) {
#if defined(__SSE2__)
  // SSE2 compares signed numbers only: flipping the top bit keeps the order.
  const __m128i turn = _mm_set1_epi32(std::numeric_limits<int32_t>::min());
  const __m128i most = _mm_xor_si128(_mm_set1_epi32(static_cast<int32_t>(limit)), turn);
  const auto larger = [&](size_t i) {
    const __m128i found = _mm_loadu_si128(reinterpret_cast<const __m128i*>(upper + i));
    return _mm_cmpgt_epi32(_mm_xor_si128(found, turn), most);
  };
  const __m128i low = _mm_packs_epi32(larger(0), larger(4));
  const __m128i high = _mm_packs_epi32(larger(8), larger(12));
  return ~static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high))) & 0xffffu;
#else
  uint32_t small = 0;
  for (uint32_t i = 0; i < kTogether; ++i) small |= (upper[i] <= limit ? 1u : 0u) << i;
  return small;
#endif
}

// Whether any of kTogether ids is equal to the id before it.
template <class Id>
bool AnyRepeats(const Id* ids) {
#if defined(__SSE2__)
  if constexpr (sizeof(Id) == sizeof(uint32_t)) {
    const auto equal = [&](size_t i) {
      const auto load = [](const Id* from) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      };
      return _mm_cmpeq_epi32(load(ids + i), load(ids + i - 1));
    };
    const __m128i any =
        _mm_or_si128(_mm_or_si128(equal(0), equal(4)), _mm_or_si128(equal(8), equal(12)));
    return _mm_movemask_epi8(any) != 0;
  }
#endif
  uint32_t any = 0;
  for (size_t i = 0; i < kTogether; ++i) any |= ids[i] == *(ids + i - 1) ? 1u : 0u;
  return any != 0;
}

// Calls keep(i) for the positions with upper[i] <= limit, in order.
template <class Keep>
void ForSmall(const uint32_t* upper, size_t count, uint32_t limit, const Keep& keep) {
  size_t begin = 0;
  for (; begin + kTogether <= count; begin += kTogether) {
    for (uint32_t small = SmallAmong(upper + begin, limit); small != 0; small &= small - 1) {
      keep(begin + static_cast<size_t>(std::countr_zero(small)));
    }
  }
  for (size_t i = begin; i < count; ++i) {
    if (upper[i] <= limit) keep(i);
  }
}

}  // namespace

template <class Id>
LaborPicked LaborPicker::Pick(const LaborRow<Id>& row, uint64_t most, const LaborNumbers& numbers,
                              uint64_t* positions) {
  return row.weights.empty() ? PickUniformly(row, most, numbers, positions)
                             : PickByWeight(row, most, numbers, positions);
}
template LaborPicked LaborPicker::Pick(const LaborRow<uint32_t>&, uint64_t, const LaborNumbers&,
                                       uint64_t*);
template LaborPicked LaborPicker::Pick(const LaborRow<uint64_t>&, uint64_t, const LaborNumbers&,
                                       uint64_t*);

template <class Id>
void LaborPicker::FillUpper(const LaborRow<Id>& row, const LaborNumbers& numbers) {
  upper_.Reserve(row.ids.size());
  const bool any_equal = numbers.FillUpper(row.ids, upper_.data());
  parallel_counted_ = !row.sorted || any_equal;
  if (!parallel_counted_) return;
  parallel_.Reserve(row.ids.size());
  if (row.sorted) {
    NumberRuns(row.ids, numbers);
  } else {
    CountParallel(row.ids, numbers);
  }
}

template <class Id>
void LaborPicker::NumberRuns(std::span<const Id> ids, const LaborNumbers& numbers) {
  std::fill_n(parallel_.data(), ids.size(), 0u);
  uint32_t run = 0;
  for (size_t begin = 1; begin < ids.size(); begin += kTogether) {
    const size_t end = std::min(begin + kTogether, ids.size());
    if (end - begin == kTogether && !AnyRepeats(ids.data() + begin)) {
      run = 0;
      continue;
    }
    for (size_t i = begin; i < end; ++i) {
      run = ids[i] == ids[i - 1] ? run + 1 : 0;
      if (run > 0) upper_[i] = numbers.Upper(ids[i], run);
      parallel_[i] = run;
    }
  }
}

template <class Id>
void LaborPicker::CountParallel(std::span<const Id> ids, const LaborNumbers& numbers) {
  const size_t places = std::bit_ceil(2 * ids.size());
  counts_.assign(places, 0);
  if (counted_ids_.size() < places) counted_ids_.resize(places);
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint64_t id = ids[i];
    size_t place = base::Mix64(id) & (places - 1);
    while (counts_[place] > 0 && counted_ids_[place] != id) place = (place + 1) & (places - 1);
    counted_ids_[place] = id;
    parallel_[i] = counts_[place]++;
    if (parallel_[i] > 0) upper_[i] = numbers.Upper(id, parallel_[i]);
  }
}

template <class Id>
uint64_t LaborPicker::Parallel(const LaborRow<Id>& row, uint64_t position) const {
  if (parallel_counted_) return parallel_[position];
  const Id id = row.ids[position];
  uint64_t before = 0;
  while (before < position && row.ids[position - before - 1] == id) ++before;
  return before;
}

template <class Id>
void LaborPicker::Keep(const LaborRow<Id>& row, uint64_t position, uint32_t upper,
                       const LaborNumbers& numbers) {
  const uint64_t id = row.ids[position];
  const uint64_t number = (uint64_t{upper} << 32) | numbers.Lower(id, Parallel(row, position));
  if (row.weights.empty()) {
    kept_.push_back({number, id, position});
    return;
  }
  // In (0, 1], a multiple of 2^-53: exact, and its quotient is never zero.
  const double unit = static_cast<double>((number >> 11) + 1) * 0x1p-53;
  kept_.push_back({std::bit_cast<uint64_t>(unit / row.weights[position]), id, position});
}

template <class Id>
LaborPicked LaborPicker::PickUniformly(const LaborRow<Id>& row, uint64_t most,
                                       const LaborNumbers& numbers, uint64_t* positions) {
  const size_t count = row.size();
  if (count <= most) {
    for (size_t i = 0; i < count; ++i) positions[i] = i;
    return {count};
  }
  if (most == 0) return {};
  parallel_counted_ = false;
  if (!row.sorted) FillUpper(row, numbers);
  if (most != kept_for_most_) {
    kept_for_most_ = most;
    kept_for_ = KeptFor(most);
  }
  for (double share = kept_for_ / static_cast<double>(count);; share *= kWider) {
    const uint32_t limit = share >= 1 ? UINT32_MAX : static_cast<uint32_t>(share * 0x1p32);
    FindSmallSlots(row, limit, numbers);
    if (small_.size() >= most) break;
  }
  if (!TakeByUpper(most, positions)) {
    kept_.clear();
    for (size_t i = 0; i < small_.size(); ++i) {
      Keep(row, small_.positions()[i], small_.uppers()[i], numbers);
    }
    std::nth_element(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(most - 1),
                     kept_.end());
    for (uint64_t i = 0; i < most; ++i) positions[i] = kept_[i].position;
    std::sort(positions, positions + most);
  }
  return {most};
}

template <class Id>
void LaborPicker::FindSmallSlots(const LaborRow<Id>& row, uint32_t limit,
                                 const LaborNumbers& numbers) {
  small_.clear();
  if (row.sorted) {
    FindSmall(numbers.keys(), row.ids, limit, small_);
    return;
  }
  small_.ReserveMore(row.ids.size());
  ForSmall(upper_.data(), row.ids.size(), limit,
           [&](size_t i) { small_.Add(static_cast<uint32_t>(i), upper_[i]); });
}

bool LaborPicker::TakeByUpper(uint64_t most, uint64_t* positions) {
  if (small_.size() <= kRanked) return TakeByRank(small_, most, positions);
  by_upper_.clear();
  by_upper_.reserve(small_.size());
  for (size_t i = 0; i < small_.size(); ++i) {
    by_upper_.push_back({small_.uppers()[i], small_.positions()[i]});
  }
  const auto last = by_upper_.begin() + static_cast<std::ptrdiff_t>(most - 1);
  std::nth_element(by_upper_.begin(), last, by_upper_.end(),
                   [](const UpperAt& a, const UpperAt& b) { return a.upper < b.upper; });
  const bool tied = std::any_of(last + 1, by_upper_.end(),
                                [&](const UpperAt& other) { return other.upper == last->upper; });
  if (tied) return false;
  for (uint64_t i = 0; i < most; ++i) positions[i] = by_upper_[i].position;
  std::sort(positions, positions + most);
  return true;
}

template <class Id>
LaborPicked LaborPicker::PickByWeight(const LaborRow<Id>& row, uint64_t most,
                                      const LaborNumbers& numbers, uint64_t* positions) {
  const size_t count = row.ids.size();
  const std::span<const float> weights = row.weights;
  uint64_t positive = 0;
  const double sum = WeightSum(weights, &positive);
  if (positive <= most) {
    uint64_t taken = 0;
    // Bounded by the earlier count as well: the file's bytes could change under the mapping.
    for (uint64_t i = 0; i < count && taken < positive; ++i) {
      if (weights[i] > 0) positions[taken++] = i;
    }
    return {taken};
  }
  if (most == 0) return {};
  FillUpper(row, numbers);
  // Keeps the slots whose quotient may be at most `limit`, judged by the upper halves of their
  // numbers. Some of them may have a larger quotient; all slots that are not kept do.
  double limit = KeptFor(most) / sum;
  LaborPicked picked;
  for (bool all = false; !all && picked.inverse_tau == 0; limit *= kWider) {
    const double scaled = limit * 0x1p32;
    all = !(scaled < std::numeric_limits<double>::max());
    kept_.clear();
    for (size_t i = 0; i < count; ++i) {
      if (weights[i] > 0 && (all || upper_[i] <= scaled * weights[i])) {
        Keep(row, i, upper_[i], numbers);
      }
    }
    if (kept_.size() <= most) continue;
    const auto next = kept_.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(kept_.begin(), next, kept_.end());
    const double tau = std::bit_cast<double>(next->key);
    // The factor makes up for rounding in the comparison above.
    if (all || tau <= limit * (1 - 0x1p-40)) picked.inverse_tau = 1 / tau;
  }
  const uint64_t taken = std::min<uint64_t>(most, kept_.size());
  picked.count = taken;
  for (uint64_t i = 0; i < taken; ++i) positions[i] = kept_[i].position;
  std::sort(positions, positions + taken);
  return picked;
}

}  // namespace graphzero::sample
