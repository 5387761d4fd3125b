#include "sample/pick/labor_scan.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/instructions.h"
#include "base/prefetch.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphzero::sample {
namespace {

constexpr size_t kSlotsAtATime = 4096;
constexpr size_t kLanes = SmallSlots::kLanes;

// The numbers of the first kKnown parallel edges are known at once. Later ones are always kept,
// until Settle() decides about them. In a sorted row, an edge has at least m parallel edges before
// it if the slot m places before it has the same id.
constexpr size_t kKnown = 3;

template <class Id>
[[gnu::always_inline]] inline uint64_t CountParallel(const Id* slot, size_t most) {
  uint64_t count = 0;
  for (size_t m = 1; m <= most; ++m) count += *slot == *(slot - m) ? 1 : 0;
  return count;
}

// What is kept of consecutive slots.
struct Kept {
  uint32_t* positions;
  uint32_t* uppers;
  size_t count = 0;
  bool unknown = false;  // some of them have kKnown parallel edges before them, or more

  // Adds a slot, if it is to be kept, without a branch. Needs room for it in either case.
  [[gnu::always_inline]] void Add(size_t position, uint32_t upper, bool keep) {
    positions[count] = static_cast<uint32_t>(position);
    uppers[count] = upper;
    count += keep ? 1 : 0;
  }
};

// Goes over the slots [begin, end) of a row.
template <class Id>
void KeepAnywhere(const LaborKeys& keys, const Id* ids, size_t begin, size_t end, uint32_t limit,
                  Kept& kept) {
  size_t i = begin;
  // The first kKnown slots of a row have fewer slots before them than that.
  for (; i < std::min(kKnown, end); ++i) {
    const uint32_t upper = keys.Upper(ids[i], CountParallel(ids + i, i));
    kept.Add(i, upper, upper <= limit);
  }
  for (; i < end; ++i) {
    const uint32_t upper = keys.Upper(ids[i], CountParallel(ids + i, kKnown - 1));
    const bool later = ids[i] == *(ids + i - kKnown);
    kept.Add(i, upper, (static_cast<int>(upper <= limit) | static_cast<int>(later)) != 0);
    kept.unknown |= later;
  }
}

#if defined(__x86_64__)

// For each bit mask of lanes, the numbers of the lanes in it, one after the other.
struct LanesOfMask {
  alignas(8) std::array<std::array<uint8_t, kLanes>, 256> lanes{};

  constexpr LanesOfMask() {
    for (size_t mask = 0; mask < lanes.size(); ++mask) {
      size_t count = 0;
      for (uint8_t lane = 0; lane < kLanes; ++lane) {
        if ((mask >> lane & 1) != 0) lanes[mask][count++] = lane;
      }
    }
  }
};
constexpr LanesOfMask kLanesOfMask;

#define GRAPHZERO_AVX2 [[gnu::target("avx2,popcnt")]]

GRAPHZERO_AVX2 inline __m256i Broadcast(uint32_t value) {
  return _mm256_set1_epi32(static_cast<int32_t>(value));
}

GRAPHZERO_AVX2 inline __m256i Load(const uint32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

GRAPHZERO_AVX2 inline void Store(uint32_t* to, __m256i values) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), values);
}

// LaborHash::Mix().
GRAPHZERO_AVX2 inline __m256i Mix(__m256i x, __m256i first, __m256i second) {
  x = _mm256_add_epi32(x, first);
  x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
  x = _mm256_mullo_epi32(x, Broadcast(LaborHash::kFirstFactor));
  x = _mm256_add_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 15)), second);
  x = _mm256_mullo_epi32(x, Broadcast(LaborHash::kSecondFactor));
  return _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
}

// All bits of a lane where a <= b.
GRAPHZERO_AVX2 inline __m256i AtMost(__m256i a, __m256i b) {
  return _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a);
}

// One bit for each lane.
GRAPHZERO_AVX2 inline uint32_t MaskOf(__m256i lanes) {
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)));
}

// The numbers of the lanes in the mask, one after the other, then zeros.
GRAPHZERO_AVX2 inline __m256i Lanes(uint32_t mask) {
  const auto* const lanes = reinterpret_cast<const __m128i*>(kLanesOfMask.lanes[mask].data());
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(lanes));
}

// All bits of the lanes whose id is that of the slot m places before, of the slots from ids[0] on.
// If they are the first of a row, the first m of them have no such slot.
template <bool kFirst>
GRAPHZERO_AVX2 inline __m256i Repeats(const uint32_t* ids, __m256i id, int m) {
  if constexpr (!kFirst) return _mm256_cmpeq_epi32(id, Load(ids - m));
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i before = _mm256_sub_epi32(numbers, _mm256_set1_epi32(m));
  const __m256i exists = _mm256_cmpgt_epi32(numbers, _mm256_set1_epi32(m - 1));
  const __m256i equal = _mm256_cmpeq_epi32(id, _mm256_permutevar8x32_epi32(id, before));
  return _mm256_and_si256(equal, exists);
}

// Goes over the slots [i, i + kLanes), of which only these lanes are new. kTwo: nodes are in two
// periods. kFirst: i is 0.
template <bool kTwo, bool kFirst>
GRAPHZERO_AVX2 inline void KeepEight(const LaborKeys& keys, const uint32_t* ids, size_t i,
                                     uint32_t new_lanes, uint32_t limit, Kept& kept) {
  const __m256i id = Load(ids + i);
  __m256i first = Broadcast(keys.first.first);
  __m256i second = Broadcast(keys.first.second);
  __m256i step = Broadcast(keys.first.step);
  if constexpr (kTwo) {
    const __m256i phase = Mix(id, Broadcast(keys.phases.first), Broadcast(keys.phases.second));
    const __m256i later = AtMost(Broadcast(keys.later_from), phase);
    first = _mm256_blendv_epi8(first, Broadcast(keys.later.first), later);
    second = _mm256_blendv_epi8(second, Broadcast(keys.later.second), later);
    step = _mm256_blendv_epi8(step, Broadcast(keys.later.step), later);
  }
  __m256i of_edge = id;
  for (int m = 1; m < static_cast<int>(kKnown); ++m) {
    of_edge = _mm256_add_epi32(of_edge, _mm256_and_si256(Repeats<kFirst>(ids + i, id, m), step));
  }
  const __m256i upper = Mix(of_edge, first, second);
  const uint32_t later = MaskOf(Repeats<kFirst>(ids + i, id, kKnown)) & new_lanes;
  const uint32_t mask = (MaskOf(AtMost(upper, Broadcast(limit))) & new_lanes) | later;
  const __m256i lanes = Lanes(mask);
  Store(kept.positions + kept.count, _mm256_add_epi32(Broadcast(static_cast<uint32_t>(i)), lanes));
  Store(kept.uppers + kept.count, _mm256_permutevar8x32_epi32(upper, lanes));
  kept.count += static_cast<size_t>(std::popcount(mask));
  kept.unknown |= later != 0;
}

template <bool kTwo>
GRAPHZERO_AVX2 void KeepAvx2(const LaborKeys& keys, const uint32_t* ids, size_t begin, size_t end,
                             uint32_t limit, Kept& to) {
  if (end - begin < kLanes) {
    KeepAnywhere(keys, ids, begin, end, limit, to);
    return;
  }
  // Ids are prefetched 1 KiB ahead, because the hardware prefetcher stops at the end of a page.
  constexpr size_t kAhead = 256;
  constexpr uint32_t kAllLanes = (1u << kLanes) - 1;
  Kept kept = to;  // a copy, which nothing else can point to
  size_t i = begin;
  if (i == 0) {
    KeepEight<kTwo, true>(keys, ids, 0, kAllLanes, limit, kept);
    i = kLanes;
  }
  for (; i + kLanes <= end; i += kLanes) {
    if (i + kAhead < end) base::Prefetch(ids + i + kAhead);
    KeepEight<kTwo, false>(keys, ids, i, kAllLanes, limit, kept);
  }
  if (i < end) {  // the last vector begins early enough to be full
    const size_t last = end - kLanes;
    const uint32_t new_lanes = kAllLanes << (i - last) & kAllLanes;
    if (last < kKnown) {
      KeepAnywhere(keys, ids, i, end, limit, kept);
    } else {
      KeepEight<kTwo, false>(keys, ids, last, new_lanes, limit, kept);
    }
  }
  to = kept;
}

#endif  // __x86_64__

using KeepFunction = void (*)(const LaborKeys&, const uint32_t*, size_t, size_t, uint32_t, Kept&);

KeepFunction ChooseKeep([[maybe_unused]] bool two) {
#if defined(__x86_64__)
  if (base::BestInstructions() >= base::Instructions::kAvx2) {
    return two ? KeepAvx2<true> : KeepAvx2<false>;
  }
#endif
  return KeepAnywhere<uint32_t>;
}
const std::array<KeepFunction, 2> keep_function{ChooseKeep(false), ChooseKeep(true)};

void Keep(const LaborKeys& keys, const uint32_t* ids, size_t begin, size_t end, uint32_t limit,
          Kept& kept) {
  keep_function[keys.two ? 1 : 0](keys, ids, begin, end, limit, kept);
}

void Keep(const LaborKeys& keys, const uint64_t* ids, size_t begin, size_t end, uint32_t limit,
          Kept& kept) {
  KeepAnywhere(keys, ids, begin, end, limit, kept);
}

// For each kept slot in turn, counts the slots directly before it that have the same id.
struct ParallelCounter {
  uint64_t last = UINT64_MAX;  // the slot that was kept last
  uint64_t parallel = 0;       // how many such slots it has before it

  // `known` is how many of the kKnown slots before `position` have its id. If all have and the slot
  // directly before it is not kept, that slot has kKnown - 1 equal ids before it: with more it
  // would be kept. No branches, because parallel edges are unpredictable.
  uint64_t Next(uint64_t position, uint64_t known) {
    const uint64_t before = position - last == 1 ? parallel : kKnown - 1;
    parallel = known == kKnown ? before + 1 : known;
    last = position;
    return parallel;
  }
};

// Computes the numbers of kept slots that have any number of parallel edges before them, and drops
// those that are not small.
template <class Id>
void Settle(const LaborKeys& keys, std::span<const Id> ids, uint32_t limit,
            ParallelCounter& counter, Kept& kept) {
  const size_t count = kept.count;
  kept.count = 0;
  for (size_t place = 0; place < count; ++place) {
    const size_t slot = kept.positions[place];
    const uint64_t known = CountParallel(ids.data() + slot, std::min(slot, kKnown));
    const uint32_t upper = keys.Upper(ids[slot], counter.Next(slot, known));
    kept.Add(slot, upper, upper <= limit);
  }
}

}  // namespace

template <class Id>
void FindSmall(const LaborKeys& keys, std::span<const Id> ids, uint32_t limit, SmallSlots& small) {
  ParallelCounter counter;
  for (size_t from = 0; from < ids.size(); from += kSlotsAtATime) {
    const size_t end = std::min(from + kSlotsAtATime, ids.size());
    small.ReserveMore(end - from);
    Kept kept{small.positions() + small.size(), small.uppers() + small.size()};
    Keep(keys, ids.data(), from, end, limit, kept);
    if (kept.unknown) Settle(keys, ids, limit, counter, kept);
    small.Resize(small.size() + kept.count);
  }
}
template void FindSmall(const LaborKeys&, std::span<const uint32_t>, uint32_t, SmallSlots&);
template void FindSmall(const LaborKeys&, std::span<const uint64_t>, uint32_t, SmallSlots&);

namespace {

// Of slots, by their places in SmallSlots.
using RankedValues = std::array<int32_t, kRanked>;
static_assert(kRanked % kLanes == 0);

// numbers = upper halves with the top bit turned: as signed numbers, they have the order of the
// unsigned ones, and vectors of signed numbers can be compared on every processor. Then
// ranks[i] = how many of numbers[0 .. count) are smaller than numbers[i]. One number at a time is
// compared with all others: that needs no sums over the lanes of a vector. Both go to the end of
// the last vector, where they mean nothing.
[[gnu::always_inline]] inline void RankAll(const uint32_t* uppers, size_t count,
                                           RankedValues& ranks) {
  RankedValues numbers;
  for (size_t begin = 0; begin < count; begin += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      numbers[begin + lane] = static_cast<int32_t>(uppers[begin + lane] ^ 0x80000000u);
    }
  }
  for (size_t begin = 0; begin < count; begin += kLanes) {
    std::array<int32_t, kLanes> smaller{};
    for (size_t j = 0; j < count; ++j) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        smaller[lane] += numbers[j] < numbers[begin + lane] ? 1 : 0;
      }
    }
    std::copy(smaller.begin(), smaller.end(), ranks.begin() + begin);
  }
}

// Writes the positions of the slots with ranks below `most` to `found`, which has room for a vector
// more. Returns how many there are.
size_t TakeAnywhere(const SmallSlots& small, uint64_t most, uint32_t* found) {
  RankedValues ranks;
  RankAll(small.uppers(), small.size(), ranks);
  size_t taken = 0;
  for (size_t i = 0; i < small.size(); ++i) {
    found[taken] = small.positions()[i];
    taken += static_cast<uint64_t>(ranks[i]) < most ? 1 : 0;
  }
  return taken;
}

#if defined(__x86_64__)
GRAPHZERO_AVX2 size_t TakeAvx2(const SmallSlots& small, uint64_t most, uint32_t* found) {
  RankedValues ranks;
  const size_t count = small.size();
  RankAll(small.uppers(), count, ranks);
  const __m256i bound = Broadcast(static_cast<uint32_t>(most));
  size_t taken = 0;
  for (size_t i = 0; i < count; i += kLanes) {
    const auto* const rank = reinterpret_cast<const __m256i*>(ranks.data() + i);
    const uint32_t meant = count - i < kLanes ? (1u << (count - i)) - 1 : 0xffu;
    const uint32_t mask = MaskOf(_mm256_cmpgt_epi32(bound, _mm256_loadu_si256(rank))) & meant;
    Store(found + taken, _mm256_permutevar8x32_epi32(Load(small.positions() + i), Lanes(mask)));
    taken += static_cast<size_t>(std::popcount(mask));
  }
  return taken;
}

#undef GRAPHZERO_AVX2
#endif

auto ChooseTake() {
#if defined(__x86_64__)
  if (base::BestInstructions() >= base::Instructions::kAvx2) return TakeAvx2;
#endif
  return TakeAnywhere;
}
const auto take_function = ChooseTake();

}  // namespace

bool TakeByRank(const SmallSlots& small, uint64_t most, uint64_t* positions) {
  std::array<uint32_t, kRanked + kLanes> found;
  // If there are more than `most`, the last one is tied with others.
  if (take_function(small, most, found.data()) != most) return false;
  std::copy_n(found.begin(), most, positions);
  return true;
}

}  // namespace graphzero::sample
