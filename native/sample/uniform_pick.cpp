#include "sample/uniform_pick.h"

namespace graphzero::sample {

void UniformPicker::Pick(const store::SlotRange& row, const Fanout& fanout, Draws draws,
                         uint64_t* slots, std::optional<SetKind> forced) {
  const uint64_t degree = row.size();
  const uint64_t count = fanout.Count(degree);
  const bool drawn_with_replacement = fanout.replace && fanout.edges != Fanout::kAll;
  if (drawn_with_replacement) {
    for (uint64_t i = 0; i < count; ++i) slots[i] = row.begin + draws.Below(degree);
    return;
  }
  if (count == degree) {
    for (uint64_t i = 0; i < count; ++i) slots[i] = row.begin + i;
    return;
  }
  chosen_.Start(count, degree, forced.value_or(PositionSet::KindFor(count, degree)));
  for (uint64_t i = 0; i < count; ++i) {
    // Position `last` becomes eligible in this round. If the draw hits one that is taken, `last`
    // takes its place: it cannot have been taken before.
    const uint64_t last = degree - count + i;
    uint64_t position = draws.Below(last + 1);
    if (chosen_.Contains(position)) position = last;
    chosen_.Insert(position);
    slots[i] = row.begin + position;
  }
}

}  // namespace graphzero::sample
