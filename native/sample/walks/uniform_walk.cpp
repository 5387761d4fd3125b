// Uniform walks in memory, in lock-step. They could be lanes as all other walks are (walk.cpp), but
// lanes ran at 0.68 of this speed on a graph of 40 million edges and at 0.43 on one that fits into
// the L2 cache: there is nothing to decide between two reads, so the turns themselves are the cost.
//
// A step waits for memory twice, for the row's bounds and for the neighbour; with many walkers side
// by side, each prefetches early and the waits overlap: 3 million steps/s on one thread become 39
// million.
#include <algorithm>
#include <array>

#include "base/threads.h"
#include "sample/walks/walk_context.h"

namespace graphzero::sample {
namespace {

constexpr size_t kSide = 64;  // walkers side by side
constexpr uint64_t kCheckedSteps = base::CheckedLoop::kItems / kSide;

template <class Id>
class LockStep {
 public:
  LockStep(const WalkContext& context, size_t first, size_t count)
      : context_(context), first_(first), count_(count) {}

  void Run() {
    for (size_t i = 0; i < count_; ++i) {
      active_[i] = i;
      MoveTo(i, 0, context_.Start(first_ + i));
    }
    size_t active = count_;
    for (uint64_t step = 0; step < context_.request.length && active > 0; ++step) {
      if (step % kCheckedSteps == kCheckedSteps - 1) base::CheckPoint();
      active = ChooseSlots(step, active);
      ReadNodes(step, active);
    }
    for (size_t a = 0; a < active; ++a) {
      context_.Finish(first_ + active_[a], context_.request.length);
    }
  }

 private:
  static constexpr uint64_t kRestart = UINT64_MAX;

  // Returns how many walkers go on; those at a dead end are finished.
  size_t ChooseSlots(uint64_t step, size_t active) {
    const Draws step_draws = context_.draws.Child(step);
    size_t going = 0;
    for (size_t a = 0; a < active; ++a) {
      const size_t i = active_[a];
      Draws draws = step_draws.Child(first_ + i);
      if (context_.Restarts(draws)) {
        slot_[i] = kRestart;
      } else {
        const store::SlotRange row = context_.rows.Row(node_[i]);
        if (row.size() == 0) {
          context_.Finish(first_ + i, step);
          continue;
        }
        slot_[i] = row.begin + draws.Below(row.size());
        context_.rows.template PrefetchSlot<Id>(slot_[i]);
      }
      active_[going++] = i;
    }
    return going;
  }

  void ReadNodes(uint64_t step, size_t active) {
    for (size_t a = 0; a < active; ++a) {
      const size_t i = active_[a];
      MoveTo(i, step + 1,
             slot_[i] == kRestart ? context_.Start(first_ + i)
                                  : context_.rows.template Neighbour<Id>(node_[i], slot_[i]));
    }
  }

  void MoveTo(size_t i, uint64_t at, uint64_t node) {
    node_[i] = node;
    context_.Walk(first_ + i)[at] = static_cast<int64_t>(node);
    context_.rows.PrefetchRow(node);
  }

  const WalkContext& context_;
  const size_t first_;
  const size_t count_;
  std::array<size_t, kSide> active_;
  std::array<uint64_t, kSide> node_;
  std::array<uint64_t, kSide> slot_;
};

}  // namespace

template <class Id>
void UniformWalks(const WalkContext& context, size_t begin, size_t end) {
  for (size_t first = begin; first < end; first += kSide) {
    LockStep<Id>(context, first, std::min(kSide, end - first)).Run();
  }
}

template void UniformWalks<uint32_t>(const WalkContext&, size_t, size_t);
template void UniformWalks<uint64_t>(const WalkContext&, size_t, size_t);

}  // namespace graphzero::sample
