// What every kind of walk shares: keys, restarts, and how a walk is written down.
#pragma once

#include <cstdint>

#include "sample/random.h"
#include "sample/rows/rows.h"
#include "sample/walks/walk.h"

namespace graphzero::sample {

// Read-only while walks run; walks of different walkers may be written from different threads.
struct WalkContext {
  const WalkRequest& request;
  const Rows& rows;
  const WalkDestination out;
  const Draws draws = RequestDraws(request.seed, Domain::kWalks);
  const uint64_t restart = ProbabilityThreshold(request.restart);

  uint64_t Start(size_t walker) const { return static_cast<uint64_t>(request.starts[walker]); }

  // The draws of one step: first whether to restart, if that is possible at all, then the move.
  Draws StepDraws(uint64_t step, size_t walker) const { return draws.Child(step).Child(walker); }
  bool Restarts(Draws& step_draws) const { return restart != 0 && step_draws.Happens(restart); }

  int64_t* Walk(size_t walker) const { return out.Walk(walker, request.length); }
  void Finish(size_t walker, uint64_t steps) const { out.Finish(walker, steps, request.length); }
};

// Walks the walkers [begin, end) of a request without weights and bias, in memory. Defined in
// uniform_walk.cpp.
template <class Id>
void UniformWalks(const WalkContext& context, size_t begin, size_t end);

}  // namespace graphzero::sample
