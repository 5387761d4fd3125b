#include "sample/fanout.h"

#include <algorithm>

#include "sample/buffer.h"
#include "sample/random.h"
#include "sample/rows.h"
#include "sample/threads.h"
#include "sample/uniform_pick.h"
#include "store/guarded_read.h"

namespace graphzero::sample {
namespace {

// Nodes whose reads overlap.
constexpr size_t kGroup = 32;
constexpr size_t kGrain = 1024;

template <class Id>
class FanoutRange {
 public:
  FanoutRange(const FanoutRequest& request, const Rows& rows, int64_t* neighbours, int64_t* counts)
      : request_(request), rows_(rows), neighbours_(neighbours), counts_(counts) {
    slots_.Reserve(kGroup * request.count);
  }

  void Run(size_t begin, size_t end) {
    for (size_t group = begin; group < end; group += kGroup) {
      const size_t group_end = std::min(group + kGroup, end);
      for (size_t i = group; i < group_end; ++i) rows_.PrefetchRow(Node(i));
      for (size_t i = group; i < group_end; ++i) Pick(i, Slots(i - group));
      for (size_t i = group; i < group_end; ++i) Read(i, Slots(i - group));
    }
  }

 private:
  uint64_t Node(size_t i) const { return static_cast<uint64_t>(request_.nodes[i]); }
  uint64_t* Slots(size_t place) { return slots_.data() + place * request_.count; }

  void Pick(size_t i, uint64_t* slots) {
    const store::SlotRange row = rows_.Row(Node(i));
    const uint64_t different = std::min(request_.count, row.size());
    counts_[i] = static_cast<int64_t>(different);
    if (different == 0) return;
    // Keyed by place, not by node: 0.2 treats every start on its own.
    const Draws draws = draws_.Child(i);
    picker_.Pick(row, {static_cast<int64_t>(different), false}, draws.Child(0), slots);
    picker_.Pick(row, {static_cast<int64_t>(request_.count - different), true}, draws.Child(1),
                 slots + different);
    for (uint64_t e = 0; e < request_.count; ++e) rows_.template PrefetchSlot<Id>(slots[e]);
  }

  void Read(size_t i, const uint64_t* slots) {
    int64_t* const out = neighbours_ + i * request_.count;
    if (counts_[i] == 0) {
      std::fill_n(out, request_.count, request_.nodes[i]);
      return;
    }
    for (uint64_t e = 0; e < request_.count; ++e) {
      out[e] = static_cast<int64_t>(rows_.template Neighbour<Id>(Node(i), slots[e]));
    }
  }

  const FanoutRequest& request_;
  const Rows& rows_;
  int64_t* const neighbours_;
  int64_t* const counts_;
  const Draws draws_ = RequestDraws(request_.seed, Domain::kFanout);
  UniformPicker picker_;
  Buffer<uint64_t> slots_;
};

}  // namespace

void RandomFanout(const store::TopologyReader& graph, const FanoutRequest& request,
                  int64_t* neighbours, int64_t* counts) {
  const Rows rows{*request.adjacency, graph.file()->path()};
  CheckOneNodeSet(rows);
  CheckNodeIds(rows, request.nodes, "start node");
  const auto draw = [&](int, size_t begin, size_t end) {
    WithIdType(*request.adjacency, [&]<class Id>() {
      FanoutRange<Id>(request, rows, neighbours, counts).Run(begin, end);
    });
  };
  store::ReadGuarded(*graph.file(),
                     [&] { ThreadLease(request.threads).For(request.nodes.size(), kGrain, draw); });
}

}  // namespace graphzero::sample
