// Negatives that had all their pairs rejected: drawn uniformly among all targets that make a
// negative with the source, which takes the edges of the source.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/negative_context.h"

namespace graphzero::sample {

class ExhaustedDrawer {
 public:
  ExhaustedDrawer(const NegativeContext& context, base::ThreadLease& lease)
      : context_(context), rows_(context.rows), lease_(lease) {}

  // Throws InputError if one has no negative.
  void Run(std::vector<Exhausted> exhausted) const;

 private:
  // A node that a source has an edge to, and the own time of the first such edge; kNoTime if edges
  // have none, or it does not matter.
  struct Linked {
    uint64_t target;
    int64_t since;
    auto operator<=>(const Linked&) const = default;
  };
  // By target, each once. As many as the row of a node that a request chooses.
  using Links = base::WorkVector<Linked>;
  using Nodes = base::WorkVector<uint64_t>;

  struct Negative {
    Exhausted exhausted;
    std::optional<uint64_t> given;
    uint64_t first;  // place of the first source that is tried, if none is given
    uint64_t step = 0;
    uint64_t source = 0;
  };

  void RunSome(std::span<Exhausted> exhausted) const;
  void ChooseSources(std::span<Negative> left) const;
  // False if the source has no negative, and the next is to be tried. Throws if there is none.
  bool DrawAmong(Negative& one, const Links& linked) const;
  // `linked` are the targets that are no negatives, rising.
  std::optional<uint64_t> DrawAmongFirst(const Nodes& linked, Negative& one) const;
  std::optional<uint64_t> DrawAmongListed(const Nodes& linked, Negative& one) const;
  std::optional<uint64_t> DrawAmongRead(const Nodes& linked, Negative& one) const;
  // Calls use(node) for candidates of a negative that must be read, in order, until it is false.
  template <class Use>
  void ForCandidates(uint64_t count, const Use& use) const;
  Nodes ReadNodes(const store::IntegerArray& array, std::span<const uint64_t> places,
                  uint64_t bound) const;
  // For each source, the nodes that it has edges to (of these, at least those that are candidates).
  std::vector<Links> LinkedTargets(const std::vector<uint64_t>& sources) const;
  template <class Id>
  void ReadSourceRows(const std::vector<uint64_t>& sources, std::vector<Links>* linked) const;
  template <class Id>
  void FindInTargetRows(const std::vector<uint64_t>& sources, std::vector<Links>* linked) const;
  // Calls use(place, ids, row) with the neighbours of each of the nodes, from the threads of the
  // lease.
  template <class Id, class Use>
  void ForRows(std::span<const uint64_t> nodes, const Use& use) const;
  base::WorkVector<int64_t> OwnTimes(std::span<const uint64_t> slots) const;
  [[noreturn]] void ThrowNoNegative(const Negative& one) const;

  const NegativeContext& context_;
  const Rows& rows_;
  base::ThreadLease& lease_;
};

}  // namespace graphzero::sample
