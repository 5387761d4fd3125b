#include "compile/order/communities.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

#include "base/hash.h"
#include "base/prefetch.h"
#include "base/team.h"
#include "store/files/mapped_file.h"

namespace graphzero::compile {
namespace {

constexpr int kRounds = 10;
// Propagation ends after a round in which fewer than 1 / kSettledShare of the nodes move.
constexpr uint64_t kSettledShare = 200;
constexpr uint32_t kMostNodes = 1 << 14;  // of a community
constexpr uint64_t kMostSlots = 1024;     // of a row that are looked at
constexpr uint32_t kLeastPiece = 256;
constexpr uint32_t kMostPiece = 1 << 16;
constexpr uint32_t kPiecesWanted = 64;
constexpr uint32_t kNodesAtOnce = 256;  // that a thread takes at a time

// Counts the labels of one node's neighbours. One for each thread.
class LabelCounts {
 public:
  struct Entry {
    uint32_t label;
    uint32_t count;
  };

  void Count(const std::vector<uint32_t>& neighbours, const std::vector<uint32_t>& labels) {
    for (const uint32_t node : neighbours) base::Prefetch(&labels[node]);
    const size_t wanted = std::bit_ceil(2 * neighbours.size() + 2);
    if (table_.size() < wanted) table_.assign(wanted, {0, 0});
    const uint64_t mask = table_.size() - 1;
    for (const uint32_t node : neighbours) {
      const uint32_t label = labels[node];
      uint64_t at = base::Mix64(label) & mask;
      while (table_[at].count != 0 && table_[at].label != label) at = (at + 1) & mask;
      if (table_[at].count++ == 0) {
        table_[at].label = label;
        used_.push_back(at);
      }
    }
  }

  // Calls look(entry) for each label, and forgets all.
  template <class Look>
  void Drain(const Look& look) {
    for (const uint64_t at : used_) {
      look(table_[at]);
      table_[at] = {0, 0};
    }
    used_.clear();
  }

 private:
  std::vector<Entry> table_;
  std::vector<uint64_t> used_;
};

class Propagation {
 public:
  Propagation(const UnionRows& rows, int threads, Progress* progress)
      : rows_(rows),
        threads_(threads),
        progress_(progress),
        piece_(std::clamp(rows.num_nodes() / kPiecesWanted, kLeastPiece, kMostPiece)),
        labels_(rows.num_nodes()),
        sizes_(rows.num_nodes(), 1),
        wanted_(piece_),
        counts_(static_cast<size_t>(threads)),
        neighbours_(static_cast<size_t>(threads)) {
    std::iota(labels_.begin(), labels_.end(), 0u);
  }

  std::vector<uint32_t> Run() {
    progress_->Start("finding communities", uint64_t{kRounds} * rows_.num_nodes());
    for (int round = 0; round < kRounds; ++round) {
      if (Round(round) < rows_.num_nodes() / kSettledShare) break;
    }
    return std::move(labels_);
  }

 private:
  // Whether a node is left out of a round and keeps its label. The last round leaves out none.
  static bool Rests(uint32_t node, int round) {
    const uint64_t number = uint64_t{node} << 8 | static_cast<uint64_t>(round);
    return round + 1 < kRounds && (base::Mix64(number * base::kGoldenRatio) & 1) != 0;
  }

  // Returns how many nodes got another label.
  uint64_t Round(int round) {
    uint64_t moved = 0;
    for (uint64_t first = 0; first < rows_.num_nodes(); first += piece_) {
      progress_->ThrowIfCancelled();
      const auto last =
          static_cast<uint32_t>(std::min<uint64_t>(first + piece_, rows_.num_nodes()));
      Decide(static_cast<uint32_t>(first), last, round);
      moved += GiveOut(static_cast<uint32_t>(first), last);
      progress_->Add(last - first);
    }
    return moved;
  }

  void Decide(uint32_t first, uint32_t last, int round) {
    std::atomic<uint64_t> next{first};
    base::RunTeam(threads_, [&](int rank) {
      for (uint64_t at; (at = next.fetch_add(kNodesAtOnce)) < last;) {
        const uint64_t end = std::min<uint64_t>(at + kNodesAtOnce, last);
        for (uint64_t node = at; node < end; ++node) {
          wanted_[node - first] = Choose(static_cast<uint32_t>(node), round, rank);
        }
      }
    });
  }

  uint32_t Choose(uint32_t node, int round, int rank) {
    const uint32_t own = labels_[node];
    if (Rests(node, round)) return own;
    std::vector<uint32_t>& neighbours = neighbours_[static_cast<size_t>(rank)];
    neighbours.clear();
    rows_.AppendNeighbours(node, kMostSlots, base::Mix64(node + uint64_t{kRounds}), &neighbours);
    LabelCounts& counts = counts_[static_cast<size_t>(rank)];
    counts.Count(neighbours, labels_);
    uint32_t best = own, best_count = 0;
    uint64_t best_draw = 0;
    counts.Drain([&](const LabelCounts::Entry& entry) {
      if (entry.label != own && sizes_[entry.label] >= kMostNodes) return;
      // Among equally frequent labels the node's own wins, else one at random, anew in each round.
      const uint64_t draw =
          entry.label == own
              ? UINT64_MAX
              : base::Mix64(uint64_t{entry.label} << 8 | static_cast<uint64_t>(round)) >> 1;
      if (entry.count < best_count || (entry.count == best_count && draw <= best_draw)) return;
      best = entry.label;
      best_count = entry.count;
      best_draw = draw;
    });
    return best;
  }

  uint64_t GiveOut(uint32_t first, uint32_t last) {
    uint64_t moved = 0;
    for (uint32_t node = first; node < last; ++node) {
      const uint32_t label = wanted_[node - first];
      if (label == labels_[node] || sizes_[label] >= kMostNodes) continue;
      --sizes_[labels_[node]];
      ++sizes_[label];
      labels_[node] = label;
      ++moved;
    }
    return moved;
  }

  const UnionRows& rows_;
  const int threads_;
  Progress* const progress_;
  const uint32_t piece_;
  std::vector<uint32_t> labels_;
  std::vector<uint32_t> sizes_;   // nodes by label
  std::vector<uint32_t> wanted_;  // the labels that the nodes of a piece ask for
  std::vector<LabelCounts> counts_;
  std::vector<std::vector<uint32_t>> neighbours_;
};

}  // namespace

std::vector<uint32_t> FindCommunities(const UnionRows& rows, int threads, Progress* progress) {
  Propagation propagation(rows, threads, progress);
  return store::ReadGuarded(*rows.graph().file(), [&] { return propagation.Run(); });
}

}  // namespace graphzero::compile
