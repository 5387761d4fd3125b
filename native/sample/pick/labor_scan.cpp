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
constexpr size_t kLanes = 8;
// The first pass writes kLanes places at once, of which the last ones may be meaningless: hence the
// extra room.
using Listed = std::array<uint16_t, kSlotsAtATime + kLanes>;

// The first pass computes the numbers of the first kKnown parallel edges. Later ones are always
// listed, and the second pass decides about them. In a sorted row, an edge has at least m parallel
// edges before it if the slot m places before it has the same id.
constexpr size_t kKnown = 3;

template <class Id>
[[gnu::always_inline]] inline uint64_t CountParallel(const Id* slot, size_t most) {
  uint64_t count = 0;
  for (size_t m = 1; m <= most; ++m) count += *slot == *(slot - m) ? 1 : 0;
  return count;
}

// For each listed slot in turn, counts the slots directly before it that have the same id.
struct ParallelCounter {
  uint64_t last = UINT64_MAX;  // the slot that was listed last
  uint64_t parallel = 0;       // how many such slots it has before it

  // `known` is how many of the kKnown slots before `position` have its id. If all have and the slot
  // directly before it is not listed, that slot has kKnown - 1 equal ids before it: with more it
  // would be listed. No branches, because parallel edges are unpredictable.
  uint64_t Next(uint64_t position, uint64_t known) {
    const uint64_t before = position - last == 1 ? parallel : kKnown - 1;
    parallel = known == kKnown ? before + 1 : known;
    last = position;
    return parallel;
  }
};

// The first pass over the slots [begin, end). The kKnown slots before `begin` must belong to the
// row, too.
template <class Id>
size_t ListAnywhere(const LaborKeys& keys, const Id* ids, size_t begin, size_t end, uint32_t limit,
                    uint16_t* listed) {
  size_t count = 0;
  for (size_t i = begin; i < end; ++i) {
    const bool small = keys.Upper(ids[i], CountParallel(ids + i, kKnown - 1)) <= limit;
    const bool later = ids[i] == *(ids + i - kKnown);
    listed[count] = static_cast<uint16_t>(i);
    count += static_cast<size_t>(small) | static_cast<size_t>(later);
  }
  return count;
}

#if defined(__x86_64__)

// For each bit mask of lanes, the numbers of the lanes in it, one after the other.
struct LanesOfMask {
  alignas(16) std::array<std::array<uint16_t, kLanes>, 256> lanes{};

  constexpr LanesOfMask() {
    for (size_t mask = 0; mask < lanes.size(); ++mask) {
      size_t count = 0;
      for (uint16_t lane = 0; lane < kLanes; ++lane) {
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

// LaborHash::Mix() without its last shift, which leaves the upper 16 bits as they are.
GRAPHZERO_AVX2 inline __m256i MixButLast(__m256i x, __m256i first, __m256i second) {
  x = _mm256_add_epi32(x, first);
  x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
  x = _mm256_mullo_epi32(x, Broadcast(LaborHash::kFirstFactor));
  x = _mm256_add_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 15)), second);
  return _mm256_mullo_epi32(x, Broadcast(LaborHash::kSecondFactor));
}

// All bits of a lane where a <= b.
GRAPHZERO_AVX2 inline __m256i AtMost(__m256i a, __m256i b) {
  return _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a);
}

GRAPHZERO_AVX2 inline __m256i Choose(__m256i which, uint32_t yes, uint32_t no) {
  return _mm256_blendv_epi8(Broadcast(no), Broadcast(yes), which);
}

template <bool kTwo>
GRAPHZERO_AVX2 size_t ListAvx2(const LaborKeys& keys, const uint32_t* ids, size_t begin, size_t end,
                               uint32_t limit, uint16_t* listed) {
  // Ids are prefetched 1 KiB ahead, because the hardware prefetcher stops at the end of a page.
  constexpr size_t kAhead = 256;
  const __m256i most = Broadcast(limit | 0xffff);  // lower bits lack the last shift
  const LaborHash& hash = keys.first;
  __m256i first = Broadcast(hash.first);
  __m256i second = Broadcast(hash.second);
  __m256i step = Broadcast(hash.step);
  size_t count = 0;
  size_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    if (i + kAhead < end) base::Prefetch(ids + i + kAhead);
    const __m256i id = Load(ids + i);
    if constexpr (kTwo) {
      __m256i phase = MixButLast(id, Broadcast(keys.phases.first), Broadcast(keys.phases.second));
      phase = _mm256_xor_si256(phase, _mm256_srli_epi32(phase, 16));
      const __m256i later = AtMost(Broadcast(keys.later_from), phase);
      first = Choose(later, keys.later.first, hash.first);
      second = Choose(later, keys.later.second, hash.second);
      step = Choose(later, keys.later.step, hash.step);
    }
    __m256i of_edge = id;
    for (size_t m = 1; m < kKnown; ++m) {
      const __m256i repeats = _mm256_cmpeq_epi32(id, Load(ids + i - m));
      of_edge = _mm256_add_epi32(of_edge, _mm256_and_si256(repeats, step));
    }
    const __m256i unknown = _mm256_cmpeq_epi32(id, Load(ids + i - kKnown));
    const __m256i small = AtMost(MixButLast(of_edge, first, second), most);
    const auto mask = static_cast<uint32_t>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_or_si256(small, unknown))));
    const __m128i lanes =
        _mm_load_si128(reinterpret_cast<const __m128i*>(kLanesOfMask.lanes[mask].data()));
    const __m128i places = _mm_add_epi16(_mm_set1_epi16(static_cast<int16_t>(i)), lanes);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(listed + count), places);
    count += static_cast<size_t>(std::popcount(mask));
  }
  return count + ListAnywhere(keys, ids, i, end, limit, listed + count);
}

#undef GRAPHZERO_AVX2

#endif  // __x86_64__

using ListFunction = size_t (*)(const LaborKeys&, const uint32_t*, size_t, size_t, uint32_t,
                                uint16_t*);

ListFunction ChooseList([[maybe_unused]] bool two) {
#if defined(__x86_64__)
  if (base::BestInstructions() >= base::Instructions::kAvx2) {
    return two ? ListAvx2<true> : ListAvx2<false>;
  }
#endif
  return ListAnywhere<uint32_t>;
}
const std::array<ListFunction, 2> list_function{ChooseList(false), ChooseList(true)};

size_t List(const LaborKeys& keys, const uint32_t* ids, size_t begin, size_t end, uint32_t limit,
            uint16_t* listed) {
  return list_function[keys.two ? 1 : 0](keys, ids, begin, end, limit, listed);
}

size_t List(const LaborKeys& keys, const uint64_t* ids, size_t begin, size_t end, uint32_t limit,
            uint16_t* listed) {
  return ListAnywhere(keys, ids, begin, end, limit, listed);
}

}  // namespace

template <class Id>
void FindSmall(const LaborKeys& keys, std::span<const Id> ids, uint64_t position, uint32_t limit,
               SmallSlots& small) {
  Listed listed;
  ParallelCounter counter;
  for (size_t from = 0; from < ids.size(); from += kSlotsAtATime) {
    const Id* const here = ids.data() + from;
    const size_t size = std::min(kSlotsAtATime, ids.size() - from);
    // The first kKnown slots of a row have fewer slots before them than that, so they are always
    // listed.
    const size_t begin = from == 0 ? std::min(kKnown, size) : 0;
    for (size_t i = 0; i < begin; ++i) listed[i] = static_cast<uint16_t>(i);
    const size_t places = begin + List(keys, here, begin, size, limit, listed.data() + begin);
    small.Reserve(small.size() + places);
    for (size_t place = 0; place < places; ++place) {
      const size_t slot = from + listed[place];
      const size_t most = std::min(slot, kKnown);
      const uint64_t known = CountParallel(ids.data() + slot, most);
      const uint32_t upper = keys.Upper(ids[slot], counter.Next(slot, known));
      small.Add(position + slot, upper, upper <= limit);
    }
  }
}
template void FindSmall(const LaborKeys&, std::span<const uint32_t>, uint64_t, uint32_t,
                        SmallSlots&);
template void FindSmall(const LaborKeys&, std::span<const uint64_t>, uint64_t, uint32_t,
                        SmallSlots&);

namespace {

// Of slots, by their places in SmallSlots.
using RankedValues = std::array<int32_t, kRanked>;
constexpr size_t kRankLanes = 8;
static_assert(kRanked % kRankLanes == 0);

// ranks[i] = how many of numbers[0 .. count) are smaller than numbers[i], for i below `count`
// rounded up to whole vectors. One number at a time is compared with all others: that needs no sums
// over the lanes of a vector.
[[gnu::always_inline]] inline void RankAll(const RankedValues& numbers, size_t count,
                                           RankedValues& ranks) {
  for (size_t begin = 0; begin < count; begin += kRankLanes) {
    std::array<int32_t, kRankLanes> smaller{};
    for (size_t j = 0; j < count; ++j) {
      for (size_t lane = 0; lane < kRankLanes; ++lane) {
        smaller[lane] += numbers[j] < numbers[begin + lane] ? 1 : 0;
      }
    }
    std::copy(smaller.begin(), smaller.end(), ranks.begin() + begin);
  }
}

void RankAnywhere(const RankedValues& numbers, size_t count, RankedValues& ranks) {
  RankAll(numbers, count, ranks);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void RankAvx2(const RankedValues& numbers, size_t count,
                                      RankedValues& ranks) {
  RankAll(numbers, count, ranks);
}
#endif

auto ChooseRank() {
#if defined(__x86_64__)
  if (base::BestInstructions() >= base::Instructions::kAvx2) return RankAvx2;
#endif
  return RankAnywhere;
}
const auto rank_function = ChooseRank();

}  // namespace

bool TakeByRank(const SmallSlots& small, uint64_t most, uint64_t* positions) {
  // With the top bit turned, signed numbers have the order of the unsigned ones; vectors of signed
  // numbers can be compared on every processor.
  RankedValues numbers{};
  RankedValues ranks;
  const size_t count = small.size();
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<int32_t>(small.upper(i) ^ 0x80000000u);
  }
  rank_function(numbers, count, ranks);
  std::array<uint64_t, kRanked + 1> found;
  size_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    found[taken] = small.position(i);
    taken += static_cast<uint64_t>(ranks[i]) < most ? 1 : 0;
  }
  // If there are more than `most`, the last one is tied with others.
  if (taken != most) return false;
  std::copy_n(found.begin(), most, positions);
  return true;
}

}  // namespace graphzero::sample
