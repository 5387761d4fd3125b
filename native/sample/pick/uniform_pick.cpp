#include "sample/pick/uniform_pick.h"

#include "base/threads.h"

namespace graphzero::sample {
namespace {

// For at most this many slots, searching the list a little more often costs less than a filter of
// several words.
constexpr uint64_t kFew = 6;

// Floyd's algorithm for a few of many slots, as UniformPicker::Pick() explains it. The positions
// taken so far are the slots written so far; a filter of one bit for each slot modulo 64 * kWords
// shows that most draws are new, so that few draws search the list. A filter of one word stays in a
// register.
template <uint64_t kWords>
void PickFew(const store::SlotRange row, uint64_t count, Draws draws, uint64_t* slots) {
  uint64_t filter[kWords] = {};
  const auto word = [&](uint64_t slot) -> uint64_t& { return filter[slot / 64 % kWords]; };
  const auto bit = [](uint64_t slot) { return uint64_t{1} << (slot % 64); };
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t last = row.size() - count + i;
    uint64_t slot = row.begin + draws.Below(last + 1);
    if ((word(slot) & bit(slot)) != 0) [[unlikely]] {
      bool taken = false;
      for (uint64_t j = 0; j < i; ++j) taken |= slots[j] == slot;
      if (taken) slot = row.begin + last;
    }
    word(slot) |= bit(slot);
    slots[i] = slot;
  }
}

}  // namespace

void UniformPicker::Pick(const store::SlotRange& row, const Fanout& fanout, Draws draws,
                         uint64_t* slots, std::optional<SetKind> forced) {
  const uint64_t degree = row.size();
  const uint64_t count = fanout.Count(degree);
  const bool drawn_with_replacement = fanout.replace && fanout.edges != Fanout::kAll;
  if (drawn_with_replacement) {
    base::ForEach(count, [&](uint64_t i) { slots[i] = row.begin + draws.Below(degree); });
    return;
  }
  if (count == degree) {
    base::ForEach(count, [&](uint64_t i) { slots[i] = row.begin + i; });
    return;
  }
  if (count <= PositionSet::kScanLimit && !forced) {
    if (count <= kFew) {
      PickFew<1>(row, count, draws, slots);
    } else {
      PickFew<8>(row, count, draws, slots);
    }
    return;
  }
  chosen_.Start(count, degree, forced.value_or(PositionSet::KindFor(count, degree)));
  base::ForEach(count, [&](uint64_t i) {
    // Position `last` becomes eligible in this round. If the draw hits one that is taken, `last`
    // takes its place: it cannot have been taken before.
    const uint64_t last = degree - count + i;
    uint64_t position = draws.Below(last + 1);
    if (chosen_.Contains(position)) position = last;
    chosen_.Insert(position);
    slots[i] = row.begin + position;
  });
}

}  // namespace graphzero::sample
