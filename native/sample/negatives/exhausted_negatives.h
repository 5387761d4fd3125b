// Negatives that had all their pairs rejected. Each is drawn uniformly among all targets that make
// a negative with its source, for which all edges of the source must be known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/negatives/negative_context.h"

namespace graphzero::sample {

class ExhaustedDrawer {
 public:
  ExhaustedDrawer(const NegativeContext& context, base::ThreadLease& lease)
      : context_(context), rows_(context.rows), lease_(lease) {}

  // Draws all of them. Throws InputError if there is no negative for one of them.
  void Run(std::vector<Exhausted> exhausted) const;

 private:
  // A node that a source has an edge to, and the own time of the earliest such edge; kNoTime if
  // edges have no times or the request has none.
  struct Linked {
    uint64_t target;
    int64_t since;
    auto operator<=>(const Linked&) const = default;
  };
  // Sorted by target, each once. The request chooses the source and so how many there are.
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
  // Draws a target for one.source. Returns false if that has no negative and the next source must
  // be tried; throws if there is no next one.
  bool DrawAmong(Negative& one, const Links& linked) const;
  // `linked` are the targets that make no negative, rising. Each returns nothing if no other
  // target is left.
  std::optional<uint64_t> DrawAmongFirst(const Nodes& linked, Negative& one) const;
  std::optional<uint64_t> DrawAmongListed(const Nodes& linked, Negative& one) const;
  std::optional<uint64_t> DrawAmongRead(const Nodes& linked, Negative& one) const;
  // Reads the first `count` targets in the order of their times and calls use(node) for each, until
  // that returns false.
  template <class Use>
  void ForCandidates(uint64_t count, const Use& use) const;
  Nodes ReadNodes(const store::IntegerArray& array, std::span<const uint64_t> places,
                  uint64_t bound) const;
  // For each source, the nodes that it has edges to. Nodes that are no candidates may be missing.
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
