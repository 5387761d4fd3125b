#include "sample/fanout.h"

#include <algorithm>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/random.h"
#include "sample/rows.h"
#include "sample/uniform_pick.h"
#include "store/guarded_read.h"

namespace graphzero::sample {
namespace {

// Nodes whose reads overlap.
constexpr size_t kGroup = 32;
constexpr size_t kGrain = 1024;
// Of a topology that is not in memory: slots that are read at a time.
constexpr uint64_t kSlotsAtOnce = uint64_t{1} << 21;

// Fills request.count slots of the row of node i, unless it is empty; returns how many different
// ones there are.
int64_t PickSlots(const FanoutRequest& request, const store::SlotRange& row, size_t i,
                  UniformPicker& picker, uint64_t* slots) {
  const auto different = static_cast<int64_t>(std::min(request.count, row.size()));
  if (different == 0) return 0;
  // Keyed by place, not by node: 0.2 treats every start on its own.
  const Draws draws = RequestDraws(request.seed, Domain::kFanout).Child(i);
  const int64_t others = static_cast<int64_t>(request.count) - different;
  picker.Pick(row, {different, false}, draws.Child(0), slots);
  picker.Pick(row, {others, true}, draws.Child(1), slots + different);
  return different;
}

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
    counts_[i] = PickSlots(request_, rows_.Row(Node(i)), i, picker_, slots);
    for (uint64_t e = 0; counts_[i] > 0 && e < request_.count; ++e)
      rows_.template PrefetchSlot<Id>(slots[e]);
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
  UniformPicker picker_;
  base::Buffer<uint64_t> slots_;
};

// The same over a topology that is not in memory: rows of many nodes, then what they drew.
template <class Id>
class FanoutStaged {
 public:
  FanoutStaged(const FanoutRequest& request, const Rows& rows, int64_t* neighbours, int64_t* counts)
      : request_(request), rows_(rows), neighbours_(neighbours), counts_(counts) {}

  void Run() {
    const size_t group = std::max<size_t>(1, kSlotsAtOnce / std::max<uint64_t>(1, request_.count));
    for (size_t begin = 0; begin < request_.nodes.size(); begin += group) {
      DrawGroup(begin, std::min(begin + group, request_.nodes.size()));
    }
  }

 private:
  void DrawGroup(size_t begin, size_t end) {
    const std::vector<uint64_t> nodes(request_.nodes.begin() + static_cast<ptrdiff_t>(begin),
                                      request_.nodes.begin() + static_cast<ptrdiff_t>(end));
    std::vector<uint64_t> begins(nodes.size());
    std::vector<uint64_t> degrees(nodes.size());
    size_t damaged = 0;
    bool sound = false;
    {
      const base::ThreadLease::Pause pause;
      sound = request_.staged->ReadRows(rows_.adjacency, nodes, begins.data(), degrees.data(),
                                        &damaged);
    }
    if (!sound) {
      rows_.ThrowDamagedRow(nodes[damaged], {begins[damaged], begins[damaged] + degrees[damaged]});
    }
    std::vector<uint64_t> slots;
    for (size_t i = begin; i < end; ++i) {
      const uint64_t first = begins[i - begin];
      const size_t at = slots.size();
      slots.resize(at + request_.count);
      counts_[i] =
          PickSlots(request_, {first, first + degrees[i - begin]}, i, picker_, slots.data() + at);
      if (counts_[i] == 0) slots.resize(at);
    }
    Read(begin, end, slots);
  }

  void Read(size_t begin, size_t end, const std::vector<uint64_t>& slots) {
    std::vector<uint64_t> ids(slots.size());
    {
      const base::ThreadLease::Pause pause;
      request_.staged->ReadSlots(static_cast<const Id*>(rows_.adjacency.neighbours.data), slots,
                                 ids.data());
    }
    size_t at = 0;
    for (size_t i = begin; i < end; ++i) {
      int64_t* const out = neighbours_ + i * request_.count;
      if (counts_[i] == 0) {
        std::fill_n(out, request_.count, request_.nodes[i]);
        continue;
      }
      for (uint64_t e = 0; e < request_.count; ++e, ++at) {
        if (ids[at] >= rows_.adjacency.neighbour_bound) {
          rows_.ThrowDamagedNeighbour(static_cast<uint64_t>(request_.nodes[i]), slots[at], ids[at]);
        }
        out[e] = static_cast<int64_t>(ids[at]);
      }
    }
  }

  const FanoutRequest& request_;
  const Rows& rows_;
  int64_t* const neighbours_;
  int64_t* const counts_;
  UniformPicker picker_;
};

}  // namespace

void RandomFanout(const store::TopologyReader& graph, const FanoutRequest& request,
                  int64_t* neighbours, int64_t* counts) {
  const Rows rows(graph, *request.adjacency, request.staged);
  CheckOneNodeSet(rows);
  CheckNodeIds(rows, request.nodes, "start node");
  if (request.staged != nullptr) {
    const base::ThreadLease lease(request.threads);
    WithIdType(*request.adjacency,
               [&]<class Id>() { FanoutStaged<Id>(request, rows, neighbours, counts).Run(); });
    return;
  }
  const auto draw = [&](int, size_t begin, size_t end) {
    WithIdType(*request.adjacency, [&]<class Id>() {
      FanoutRange<Id>(request, rows, neighbours, counts).Run(begin, end);
    });
  };
  store::ReadGuarded(*graph.file(), [&] {
    base::ThreadLease(request.threads).For(request.nodes.size(), kGrain, draw);
  });
}

}  // namespace graphzero::sample
