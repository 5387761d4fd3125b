#include "sample/walk.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "base/threads.h"
#include "sample/walk_context.h"
#include "store/guarded_read.h"

namespace graphzero::sample {
namespace {

// Walkers that a thread takes at a time.
constexpr size_t kGrain = 1024;

void CheckBias(const char* name, double value) {
  // Written so that a NaN fails, too. The reciprocal is what is used.
  if (value > 0 && std::isfinite(value) && std::isfinite(1 / value)) return;
  throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                              ", expected a number greater than 0");
}

void Check(const Rows& rows, const WalkRequest& request) {
  CheckOneNodeSet(rows);
  CheckHasWeights(rows, request.weighted);
  CheckBias("p", request.p);
  CheckBias("q", request.q);
  if (!(request.restart >= 0 && request.restart <= 1)) {
    throw std::invalid_argument("restart is " + std::to_string(request.restart) +
                                ", expected a probability from 0 to 1");
  }
  CheckNodeIds(rows, request.starts, "start");
}

}  // namespace

void RandomWalk(const store::TopologyReader& graph, const WalkRequest& request,
                const WalkDestination& destination) {
  const WalkContext context{request, {*request.adjacency, graph.file()->path()}, destination};
  Check(context.rows, request);
  if (request.staged != nullptr) {
    const base::ThreadLease lease(request.threads);
    WithIdType(*request.adjacency, [&]<class Id>() { WalkStaged<Id>(context, *request.staged); });
    return;
  }
  const bool first_order = request.p == 1 && request.q == 1;
  const auto walk = [&](int, size_t begin, size_t end) {
    WithIdType(*request.adjacency, [&]<class Id>() {
      if (request.weighted) {
        WeightedWalks<Id>(context, begin, end);
      } else if (first_order) {
        UniformWalks<Id>(context, begin, end);
      } else {
        Node2VecWalks<Id>(context, begin, end);
      }
    });
  };
  store::ReadGuarded(*graph.file(), [&] {
    base::ThreadLease(request.threads).For(request.starts.size(), kGrain, walk);
  });
}

}  // namespace graphzero::sample
