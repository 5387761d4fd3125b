#include "sample/labor_numbers.h"

namespace graphzero::sample {
namespace {

// Words below (version, run seed, labor, type).
constexpr uint64_t kPhases = 0;
constexpr uint64_t kNumbers = 1;
// The generator below number j of a period that lower halves are of.
constexpr uint64_t kLowerHalves = 2;
constexpr uint64_t kHashesAtHand = 16;

Draws TypeDraws(const LaborRequest& request, uint64_t type) {
  return RequestDraws(request.run_seed, Domain::kLabor, type);
}

struct FillKeys {
  LaborHash first;
  LaborHash later;
  LaborHash phases;
  uint32_t later_from;
  bool two;
};

// Plain loops without branches, which become vectors of whatever width the target has. Keys are a
// copy, and `upper` overlaps nothing: else each store could change what the next turn reads.
template <class Id>
[[gnu::always_inline]] inline bool Fill(const FillKeys keys, const Id* ids, size_t count,
                                        uint32_t* __restrict upper) {
  uint32_t equal = 0;
  const auto low = [&](size_t i) { return static_cast<uint32_t>(ids[i]); };
  const auto folded = [&](size_t i, uint32_t factor) {
    if constexpr (sizeof(Id) == sizeof(uint32_t)) {
      return low(i);
    } else {
      return low(i) + static_cast<uint32_t>(ids[i] >> 32) * factor;
    }
  };
  if (!keys.two) {
    for (size_t i = 0; i < count; ++i) {
      upper[i] = LaborHash::Mix(folded(i, keys.first.upper), keys.first.first, keys.first.second);
    }
  } else {
    for (size_t i = 0; i < count; ++i) {
      const uint32_t phase =
          LaborHash::Mix(folded(i, keys.phases.upper), keys.phases.first, keys.phases.second);
      const bool later = phase >= keys.later_from;
      const uint32_t factor = later ? keys.later.upper : keys.first.upper;
      const uint32_t first = later ? keys.later.first : keys.first.first;
      const uint32_t second = later ? keys.later.second : keys.first.second;
      upper[i] = LaborHash::Mix(folded(i, factor), first, second);
    }
  }
  for (size_t i = 1; i < count; ++i) equal |= ids[i] == ids[i - 1] ? 1u : 0u;
  return equal != 0;
}

// The engine is compiled for any x86-64, whose vectors have no 32-bit multiplication; most CPUs
// have more. A pointer that is set once, because the resolvers that compilers make for this run
// before sanitizers are ready.
template <class Id>
using FillFunction = bool (*)(const FillKeys&, const Id*, size_t, uint32_t*);

template <class Id>
bool FillAnywhere(const FillKeys& keys, const Id* ids, size_t count, uint32_t* upper) {
  return Fill(keys, ids, count, upper);
}

#if defined(__x86_64__)
template <class Id>
[[gnu::target("avx2")]] bool FillAvx2(const FillKeys& keys, const Id* ids, size_t count,
                                      uint32_t* upper) {
  return Fill(keys, ids, count, upper);
}
#endif

template <class Id>
FillFunction<Id> ChooseFill() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return FillAvx2<Id>;
#endif
  return FillAnywhere<Id>;
}

}  // namespace

LaborPeriods::LaborPeriods(const LaborRequest& request, uint64_t type)
    : hash_(TypeDraws(request, type).Child(kPhases)), first_(request.batch / request.dependency) {
  // phase(v) is the upper word of hash(v) * kappa. Nodes of a phase of at least kappa - rest are in
  // the next period, which is to say those with a hash of at least (kappa - rest) / kappa of all.
  const uint64_t kappa = request.dependency;
  const uint64_t rest = request.batch % kappa;
  if (rest == 0) return;
  two_ = true;
  later_from_ = static_cast<uint32_t>((((kappa - rest) << 32) + kappa - 1) / kappa);
}

LaborNumbers::Period::Period(Draws of_period) : draws(of_period) {
  for (uint64_t j = 0; j < kHashesAtHand; ++j) hashes.emplace_back(draws.Child(j));
}

LaborNumbers::LaborNumbers(const LaborRequest& request, uint64_t type, uint64_t hop)
    : periods_(request, type),
      first_(TypeDraws(request, type)
                 .Child(kNumbers)
                 .Child(request.HopWord(hop))
                 .Child(periods_.first())),
      later_(TypeDraws(request, type)
                 .Child(kNumbers)
                 .Child(request.HopWord(hop))
                 .Child(periods_.first() + 1)) {}

template <class Id>
bool LaborNumbers::FillUpper(std::span<const Id> ids, uint32_t* upper) const {
  static const FillFunction<Id> fill = ChooseFill<Id>();
  const FillKeys keys{first_.hashes[0], later_.hashes[0], periods_.hash(), periods_.later_from(),
                      periods_.two()};
  return fill(keys, ids.data(), ids.size(), upper);
}
template bool LaborNumbers::FillUpper(std::span<const uint32_t>, uint32_t*) const;
template bool LaborNumbers::FillUpper(std::span<const uint64_t>, uint32_t*) const;

uint32_t LaborNumbers::Upper(uint64_t id, uint64_t parallel) const {
  const Period& period = Of(id);
  return parallel < kHashesAtHand ? period.hashes[parallel](id)
                                  : LaborHash(period.draws.Child(parallel))(id);
}

uint32_t LaborNumbers::Lower(uint64_t id, uint64_t parallel) const {
  return static_cast<uint32_t>(Of(id).draws.Child(parallel).Child(kLowerHalves).Child(id).Next());
}

uint64_t LaborWindowStart(const LaborRequest& request, const LaborPeriods& periods, Draws draws,
                          uint64_t hop, uint64_t node, uint64_t positions) {
  const uint64_t period = periods.first() + (periods.IsLater(node) ? 1 : 0);
  return draws.Child(request.HopWord(hop)).Child(period).Child(node).Below(positions);
}

}  // namespace graphzero::sample
