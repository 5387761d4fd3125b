#include "sample/neighbours/random_fanout.h"

#include <algorithm>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/pick/uniform_pick.h"
#include "sample/random.h"
#include "sample/rows/row_sources.h"

namespace graphzero::sample {
namespace {

// Nodes that a thread takes at a time.
constexpr size_t kGrain = 1024;

// Writes request.count slots of the row of node i, unless the row is empty, and returns how many
// different slots there are.
int64_t PickSlots(const FanoutRequest& request, const store::SlotRange& row, size_t i,
                  UniformPicker& picker, uint64_t* slots) {
  const auto different = static_cast<int64_t>(std::min(request.count, row.size()));
  if (different == 0) return 0;
  // Keyed by place, not by node: GraphZero 0.2 draws independently for every place.
  const Draws draws = RequestDraws(request.seed, Domain::kFanout).Child(i);
  const int64_t others = static_cast<int64_t>(request.count) - different;
  picker.Pick(row, {different, false}, draws.Child(0), slots);
  picker.Pick(row, {others, true}, draws.Child(1), slots + different);
  return different;
}

// Draws for the nodes [begin, end), some at a time: reads the bounds of their rows, picks slots,
// then reads the neighbours in these.
template <class Source>
class FanoutDrawer {
 public:
  FanoutDrawer(Source& source, const FanoutRequest& request, int64_t* neighbours, int64_t* counts)
      : source_(source), request_(request), neighbours_(neighbours), counts_(counts) {}

  void Run(size_t begin, size_t end) {
    const size_t at_once =
        std::max<size_t>(1, Source::kSlotsAtOnce / std::max<uint64_t>(1, request_.count));
    for (size_t first = begin; first < end; first += at_once) {
      const size_t last = std::min(first + at_once, end);
      base::CheckPoint();
      Pick(first, last);
      Read(first, last);
    }
  }

 private:
  void Pick(size_t begin, size_t end) {
    nodes_.assign(request_.nodes.begin() + static_cast<ptrdiff_t>(begin),
                  request_.nodes.begin() + static_cast<ptrdiff_t>(end));
    begins_.resize(nodes_.size());
    degrees_.resize(nodes_.size());
    source_.ReadBounds(nodes_, begins_.data(), degrees_.data());
    slots_.Reserve(nodes_.size() * request_.count);
    drawn_ = 0;
    for (size_t i = begin; i < end; ++i) {
      const uint64_t first = begins_[i - begin];
      counts_[i] = PickSlots(request_, {first, first + degrees_[i - begin]}, i, picker_,
                             slots_.data() + drawn_);
      if (counts_[i] > 0) drawn_ += request_.count;
    }
  }

  void Read(size_t begin, size_t end) {
    ids_.Reserve(drawn_);
    const Rows& rows = source_.rows();
    source_.ReadSlots(rows.Ids<typename Source::Id>({}).data(),
                      std::span<const uint64_t>(slots_.data(), drawn_), ids_.data());
    size_t at = 0;
    for (size_t i = begin; i < end; ++i) {
      int64_t* const out = neighbours_ + i * request_.count;
      if (counts_[i] == 0) {
        std::fill_n(out, request_.count, request_.nodes[i]);
        continue;
      }
      for (uint64_t e = 0; e < request_.count; ++e, ++at) {
        rows.CheckNeighbour(nodes_[i - begin], slots_[at], ids_[at]);
        out[e] = static_cast<int64_t>(ids_[at]);
      }
    }
  }

  Source& source_;
  const FanoutRequest& request_;
  int64_t* const neighbours_;
  int64_t* const counts_;
  UniformPicker picker_;
  std::vector<uint64_t> nodes_;
  std::vector<uint64_t> begins_;
  std::vector<uint64_t> degrees_;
  base::Buffer<uint64_t> slots_;
  base::Buffer<uint64_t> ids_;  // neighbours in these slots
  size_t drawn_ = 0;            // how many slots were drawn
};

}  // namespace

void RandomFanout(const store::TopologyReader& graph, const FanoutRequest& request,
                  int64_t* neighbours, int64_t* counts) {
  const Rows rows = Rows::Of(graph, *request.adjacency, request.disk);
  CheckOneNodeSet(rows);
  CheckNodeIds(rows, request.nodes, "start node");
  ReadRows(rows, [&] {
    base::ThreadLease lease(request.threads);
    WithRowSource(rows, lease, request.nodes.size(), kGrain,
                  [&]<class Source>(Source& source, size_t begin, size_t end) {
                    FanoutDrawer<Source>(source, request, neighbours, counts).Run(begin, end);
                  });
  });
}

}  // namespace graphzero::sample
