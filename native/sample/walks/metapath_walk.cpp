#include "sample/walks/metapath_walk.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/buffer.h"
#include "base/call.h"
#include "base/text.h"
#include "base/threads.h"
#include "sample/pick/weighted_pick.h"
#include "sample/random.h"
#include "sample/rows/row_batches.h"
#include "sample/rows/rows.h"

namespace graphzero::sample {
namespace {

using base::Number;

// Walks that run together. All of them take a step before the first takes the next, so that all
// reads of a step are known beforehand; from disk, each kind of read is one batch. The more walks
// take a step from disk together, the closer to each other lie the edges that they follow: a
// million walks want an edge in every 7 KB of a graph of 7 GB, and reads merge into long ones.
constexpr size_t kSide = 65536;
constexpr size_t kMostFromDisk = size_t{1} << 21;
// Working memory of a walk while it takes a step from disk.
constexpr uint64_t kWalkBytes = 64;
// Walks from disk take at most this part of the working memory of the process.
constexpr uint64_t kPartOfWork = 8;
// Walks that a thread takes at a time.
constexpr size_t kGrain = 1024;

class StepWalker {
 public:
  StepWalker(const MetapathRequest& request, std::span<const Rows> rows, base::ThreadLease& lease,
             const WalkDestination& out)
      : request_(request), rows_(rows), lease_(lease), out_(out) {
    scratch_.resize(static_cast<size_t>(lease.max_team()));
  }

  // Runs the walkers [begin, end).
  void Run(size_t begin, size_t end) {
    active_.clear();
    nodes_.clear();
    base::CheckedLoop loop;
    for (size_t walker = begin; walker < end; ++walker) {
      loop.Next();
      active_.push_back(walker);
      nodes_.push_back(static_cast<uint64_t>(request_.starts[walker]));
      Walk(walker)[0] = request_.starts[walker];
    }
    for (uint64_t step = 0; step < request_.length && !active_.empty(); ++step) {
      base::CheckPoint();
      Step(step);
    }
    base::ForEach(active_.size(), [&](size_t i) { Finish(active_[i], request_.length); });
  }

 private:
  int64_t* Walk(size_t walker) const { return out_.Walk(walker, request_.length); }
  void Finish(size_t walker, uint64_t steps) const { out_.Finish(walker, steps, request_.length); }

  void Step(uint64_t step) {
    const size_t turn = step % rows_.size();
    const Rows& rows = rows_[turn];
    const Draws draws =
        RequestDraws(request_.seed, Domain::kWalks, request_.relations[turn]).Child(step);
    begins_.resize(active_.size());
    degrees_.resize(active_.size());
    ReadBounds(rows, lease_, nodes_, begins_.data(), degrees_.data());
    slots_.resize(active_.size());
    if (request_.weighted) {
      ChooseByWeight(rows, draws);
    } else {
      lease_.For(active_.size(), kGrain, [&](int, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          slots_[i] = kNone;
          if (degrees_[i] > 0) slots_[i] = begins_[i] + draws.Child(active_[i]).Below(degrees_[i]);
        }
      });
    }
    DropEnded(step);
    Move(rows, step);
  }

  void ChooseByWeight(const Rows& rows, const Draws& draws) {
    ForRanges(
        rows, lease_, rows.adjacency.weights, active_.size(), kGrain,
        [&](size_t i) { return store::SlotRange{begins_[i], begins_[i] + degrees_[i]}; },
        [&](int rank, size_t begin, size_t end, const auto& weights) {
          WeightedPicker& picker = scratch_[static_cast<size_t>(rank)];
          for (size_t i = begin; i < end; ++i) {
            slots_[i] = kNone;
            if (degrees_[i] == 0) continue;
            try {
              picker.Load(weights(i));
            } catch (const BadWeight& bad) {
              rows.ThrowBadWeight(nodes_[i], begins_[i] + bad.position, bad.weight);
            }
            Draws own = draws.Child(active_[i]);
            if (picker.positive() > 0) slots_[i] = begins_[i] + picker.Draw(own);
          }
        });
  }

  // Walks that found no edge end.
  void DropEnded(uint64_t step) {
    size_t kept = 0;
    base::CheckedLoop loop;
    for (size_t i = 0; i < active_.size(); ++i) {
      loop.Next();
      if (slots_[i] == kNone) {
        Finish(active_[i], step);
        continue;
      }
      active_[kept] = active_[i];
      nodes_[kept] = nodes_[i];
      slots_[kept++] = slots_[i];
    }
    active_.resize(kept);
    nodes_.resize(kept);
    slots_.resize(kept);
  }

  void Move(const Rows& rows, uint64_t step) {
    found_.resize(active_.size());
    WithIdType(rows.adjacency, [&]<class Id>() {
      ReadSlots(rows, lease_, rows.Ids<Id>({}).data(), slots_, found_.data());
    });
    base::ForEach(active_.size(), [&](size_t i) {
      rows.CheckNeighbour(nodes_[i], slots_[i], found_[i]);
      Walk(active_[i])[step + 1] = static_cast<int64_t>(found_[i]);
    });
    std::swap(nodes_, found_);
  }

  static constexpr uint64_t kNone = UINT64_MAX;

  const MetapathRequest& request_;
  const std::span<const Rows> rows_;
  base::ThreadLease& lease_;
  const WalkDestination out_;
  std::vector<WeightedPicker> scratch_;  // by thread
  base::WorkVector<size_t> active_;      // walkers that have not ended
  base::WorkVector<uint64_t> nodes_;     // where they are
  base::WorkVector<uint64_t> begins_;
  base::WorkVector<uint64_t> degrees_;
  base::WorkVector<uint64_t> slots_;
  base::WorkVector<uint64_t> found_;
};

size_t WalksAtATime(const Rows& rows) {
  if (rows.disk == nullptr) return kSide;
  const uint64_t walks = base::GetWorkMemory().limit / kPartOfWork / kWalkBytes;
  return static_cast<size_t>(std::clamp<uint64_t>(walks, kSide, kMostFromDisk));
}

std::vector<Rows> CheckedRows(const store::TopologyReader& graph, const MetapathRequest& request) {
  if (request.relations.empty()) {
    throw std::invalid_argument("the metapath has no relation, expected at least one");
  }
  std::vector<Rows> rows;
  const size_t count = request.relations.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t number = request.relations[i];
    if (number >= graph.relations().size()) {
      throw std::invalid_argument("relation " + Number(number) + " of the metapath is not one of " +
                                  Number(graph.relations().size()) + " of the graph");
    }
    const store::Relation& relation = graph.relations()[number];
    const std::string name = graph.Title(static_cast<uint32_t>(number));
    const store::Adjacency* const out =
        relation.out == nullptr && relation.symmetric ? relation.in : relation.out;
    if (out == nullptr) {
      throw std::invalid_argument(graph.file()->path() + " stores no out-edges of " + name +
                                  ", which walks follow; convert it with both directions");
    }
    if (i > 0 || request.length > count) {
      const size_t before = request.relations[(i + count - 1) % count];
      if (graph.relations()[before].target != relation.source) {
        throw std::invalid_argument("the metapath goes on with " + name + " after " +
                                    graph.Title(static_cast<uint32_t>(before)) +
                                    ", expected a relation that starts where that one ends");
      }
    }
    rows.push_back(Rows::Of(graph, *out, request.disk, name));
    CheckHasWeights(rows.back(), request.weighted);
  }
  CheckNodeIds(rows.front(), request.starts, "start");
  return rows;
}

}  // namespace

void MetapathWalk(const store::TopologyReader& graph, const MetapathRequest& request,
                  const WalkDestination& destination) {
  WalkTogether(CheckedRows(graph, request), request, destination);
}

void WalkTogether(std::span<const Rows> rows, const MetapathRequest& request,
                  const WalkDestination& destination) {
  ReadRows(rows.front(), [&] {
    base::ThreadLease lease(request.threads);
    StepWalker walker(request, rows, lease, destination);
    const size_t side = WalksAtATime(rows.front());
    for (size_t begin = 0; begin < request.starts.size(); begin += side) {
      walker.Run(begin, std::min(begin + side, request.starts.size()));
    }
  });
}

}  // namespace graphzero::sample
