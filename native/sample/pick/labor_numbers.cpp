#include "sample/pick/labor_numbers.h"

#include "base/instructions.h"

namespace graphzero::sample {
namespace {

// Words below (version, run seed, labor, type).
constexpr uint64_t kPhases = 0;
constexpr uint64_t kNumbers = 1;
// Words below a period: the keys of the hash, and lower halves.
constexpr uint64_t kHash = 0;
constexpr uint64_t kLowerHalves = 1;

Draws TypeDraws(const LaborRequest& request, uint64_t type) {
  return RequestDraws(request.run_seed, Domain::kLabor, type);
}

// Plain loops without branches, which the compiler vectorises for whatever width the target has.
// `keys` is a copy and `upper` overlaps nothing, or else each store could change what the next
// iteration reads.
template <class Id>
[[gnu::always_inline]] inline bool Fill(const LaborKeys keys, const Id* ids, size_t count,
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
// have AVX2, which does. A function pointer chooses, because compiler-generated resolvers run
// before sanitizers are ready.
template <class Id>
using FillFunction = bool (*)(const LaborKeys&, const Id*, size_t, uint32_t*);

template <class Id>
bool FillAnywhere(const LaborKeys& keys, const Id* ids, size_t count, uint32_t* upper) {
  return Fill(keys, ids, count, upper);
}

#if defined(__x86_64__)
template <class Id>
[[gnu::target("avx2")]] bool FillAvx2(const LaborKeys& keys, const Id* ids, size_t count,
                                      uint32_t* upper) {
  return Fill(keys, ids, count, upper);
}
#endif

template <class Id>
FillFunction<Id> ChooseFill() {
#if defined(__x86_64__)
  if (base::BestInstructions() >= base::Instructions::kAvx2) return FillAvx2<Id>;
#endif
  return FillAnywhere<Id>;
}
template <class Id>
const FillFunction<Id> fill_function = ChooseFill<Id>();

}  // namespace

LaborPeriods::LaborPeriods(const LaborRequest& request, uint64_t type)
    : hash_(TypeDraws(request, type).Child(kPhases)), first_(request.batch / request.dependency) {
  // phase(v) is the upper word of hash(v) * kappa. Nodes with a phase of at least kappa - rest are
  // in the next period. These are the nodes with a hash of at least (kappa - rest) / kappa times
  // 2^32.
  const uint64_t kappa = request.dependency;
  const uint64_t rest = request.batch % kappa;
  if (rest == 0) return;
  two_ = true;
  later_from_ = static_cast<uint32_t>((((kappa - rest) << 32) + kappa - 1) / kappa);
}

LaborNumbers::LaborNumbers(const LaborRequest& request, uint64_t type, uint64_t hop)
    : LaborNumbers(LaborPeriods(request, type),
                   TypeDraws(request, type).Child(kNumbers).Child(request.HopWord(hop))) {}

LaborNumbers::LaborNumbers(const LaborPeriods& periods, Draws of_hop)
    : periods_(periods),
      first_(of_hop.Child(periods.first()).Child(kLowerHalves)),
      later_(of_hop.Child(periods.first() + 1).Child(kLowerHalves)),
      keys_{LaborHash(of_hop.Child(periods.first()).Child(kHash)),
            LaborHash(of_hop.Child(periods.first() + 1).Child(kHash)), periods.hash(),
            periods.later_from(), periods.two()} {}

template <class Id>
bool LaborNumbers::FillUpper(std::span<const Id> ids, uint32_t* upper) const {
  return fill_function<Id>(keys_, ids.data(), ids.size(), upper);
}
template bool LaborNumbers::FillUpper(std::span<const uint32_t>, uint32_t*) const;
template bool LaborNumbers::FillUpper(std::span<const uint64_t>, uint32_t*) const;

uint32_t LaborNumbers::Lower(uint64_t id, uint64_t parallel) const {
  const Draws& draws = periods_.IsLater(id) ? later_ : first_;
  return static_cast<uint32_t>(draws.Child(parallel).Child(id).Next());
}

}  // namespace graphzero::sample
