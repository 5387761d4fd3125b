#include "sample/negatives.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/errors.h"
#include "sample/random.h"
#include "sample/row_batches.h"
#include "sample/row_lanes.h"
#include "sample/row_search.h"

namespace graphzero::sample {
namespace {

// Negatives that a thread draws at a time.
constexpr size_t kGrain = 4096;
// Rejected pairs after which those that are left are counted. A source with edges to nine in ten of
// all nodes gets there once in a thousand times.
constexpr int kMaxRejected = 64;
// Negatives that count what is left at a time: where that takes all rows, they share the reads.
constexpr size_t kCountedAtOnce = 16;
// Rows whose bounds are held at a time where all rows are gone through.
constexpr uint64_t kRowsAtOnce = 65536;

// The nodes that an end of a negative can be: all of the graph, or a list.
class Candidates {
 public:
  Candidates(std::span<const int64_t> list, uint64_t nodes) : list_(list), nodes_(nodes) {}

  bool all() const { return list_.empty(); }
  uint64_t size() const { return all() ? nodes_ : list_.size(); }
  uint64_t operator[](uint64_t position) const {
    return all() ? position : static_cast<uint64_t>(list_[position]);
  }

 private:
  std::span<const int64_t> list_;
  uint64_t nodes_;
};

// Throws InputError: for this source, or for any, all pairs are edges.
[[noreturn]] void ThrowNoNegative(const Rows& rows, const NegativeRequest& request,
                                  const std::optional<uint64_t>& source) {
  const bool listed = !request.target_candidates.empty() || !request.source_candidates.empty();
  const std::string whom = listed ? "all candidates" : "all other nodes";
  const std::string pairs = listed ? "any two candidates" : "any two nodes";
  throw InputError(source ? "node " + std::to_string(*source) + " of " + rows.path() +
                                " has edges to " + whom +
                                ": there is no negative for it; "
                                "draw negatives without rejection"
                          : rows.path() + " has an edge between " + pairs +
                                ": there are no "
                                "negatives; draw them without rejection");
}

// Where a negative is written to, by its number.
struct Pairs {
  std::span<int64_t> sources;
  std::span<int64_t> targets;

  void Write(size_t number, uint64_t source, uint64_t target) const {
    sources[number] = static_cast<int64_t>(source);
    targets[number] = static_cast<int64_t>(target);
  }
};

// A negative whose pairs were all rejected.
struct Exhausted {
  size_t number;
  Draws draws;  // those that follow
};

// What all negatives of a request share. Thread-safe.
struct NegativeContext {
  const NegativeRequest& request;
  const Rows& rows;
  const Pairs out;
  const Candidates sources{request.source_candidates, rows.adjacency.rows};
  const Candidates targets{request.target_candidates, rows.adjacency.rows};
  const Draws draws = RequestDraws(request.seed, Domain::kNegatives);

  // The source of a negative if the request gives it.
  std::optional<uint64_t> Given(size_t number) const {
    if (request.sources.empty()) return std::nullopt;
    return static_cast<uint64_t>(request.sources[number]);
  }
};

// Draws pairs until one is accepted; see row_lanes.h.
template <class Source>
class PairDrawer {
 public:
  PairDrawer(const NegativeContext& context, Source& source)
      : context_(context),
        request_(context.request),
        adjacency_(context.rows.adjacency),
        source_(source) {}

  // Returns the negatives that had all their pairs rejected.
  std::vector<Exhausted> Run(size_t begin, size_t end) {
    RunLanes<Lane>(source_, *this, begin, end, Source::kSide);
    return std::move(exhausted_);
  }

  struct Lane {
    // What the next turn takes.
    enum class Turn {
      kSlotRow,  // a block of indptr, to find the row that a drawn slot lies in
      kSlotId,   // the neighbour in a drawn slot
      kRow,      // the bounds of the row that the edge of the pair would be in
      kSearch,   // a block of that row, to see whether it has the edge
      kWholeRow  // all of that row, for the same, where rows are not sorted
    };

    typename Source::Asked asked;
    size_t number;
    Draws draws{0};
    int rejected;
    Turn turn;
    bool draws_source;  // with kSlotRow, kSlotId: which end is drawn
    uint64_t source;
    uint64_t target;
    uint64_t slot;
    bool damaged;  // the slot's neighbour is; the row is looked for to say so
    RowSearch<uint64_t> slot_row;
    store::SlotRange row;
    RowSearch<typename Source::Id> search;
  };

  bool Begin(Lane& n, size_t number) {
    n.number = number;
    n.draws = context_.draws.Child(number);
    n.rejected = 0;
    return DrawPair(n);
  }

  bool Advance(Lane& n) {
    switch (n.turn) {
      case Turn::kSlotRow:
        TakeBlock(source_, n.asked, n.slot_row);
        return FindSlotRow(n);
      case Turn::kSlotId:
        return UseSlotId(n, TakeId(source_, n.asked, n.slot));
      case Turn::kRow:
        n.row = TakeRow(source_, n.asked, RowNode(n));
        return LookForEdge(n);
      case Turn::kSearch:
        TakeBlock(source_, n.asked, n.search);
        return SearchOn(n);
      case Turn::kWholeRow:
        break;
    }
    base::CheckPoint();  // a turn that reads a whole row
    return Settle(n, Contains(source_.Loaded(n.asked, 0, RowIds(n)), false, Neighbour(n)));
  }

 private:
  using Id = typename Source::Id;
  using Turn = typename Lane::Turn;

  // The edge of the pair would be in the row of one end.
  uint64_t RowNode(const Lane& n) const { return request_.rows_are_sources ? n.source : n.target; }
  uint64_t Neighbour(const Lane& n) const {
    return request_.rows_are_sources ? n.target : n.source;
  }
  std::span<const Id> RowIds(const Lane& n) const { return context_.rows.Ids<Id>(n.row); }

  static bool Wait(Lane& n, Turn turn) {
    n.turn = turn;
    return true;
  }

  bool DrawPair(Lane& n) {
    const std::optional<uint64_t> given = context_.Given(n.number);
    n.source = given.value_or(0);
    if (request_.weights == NegativeWeights::kDegree) return DrawByDegree(n, !given);
    if (!given) n.source = context_.sources[n.draws.Below(context_.sources.size())];
    n.target = context_.targets[n.draws.Below(context_.targets.size())];
    return Judge(n);
  }

  // The source or the target of a random edge: a node in proportion to its degree.
  bool DrawByDegree(Lane& n, bool source) {
    n.draws_source = source;
    n.damaged = false;
    n.slot = n.draws.Below(adjacency_.edges);
    if (source == request_.rows_are_sources) return SearchSlotRow(n);
    AskId(source_, n.asked, n.slot);
    return Wait(n, Turn::kSlotId);
  }

  bool UseSlotId(Lane& n, uint64_t id) {
    if (id < adjacency_.neighbour_bound) return UseEnd(n, id);
    (n.draws_source ? n.source : n.target) = id;
    n.damaged = true;
    return SearchSlotRow(n);
  }

  // The row that a slot lies in is the last that starts at it or before; some row if the file is
  // damaged.
  bool SearchSlotRow(Lane& n) {
    n.slot_row = RowSearch<uint64_t>(adjacency_.indptr, 1, adjacency_.rows, n.slot + 1,
                                     adjacency_.edges, Source::kBlockBytes / sizeof(uint64_t));
    return FindSlotRow(n);
  }

  bool FindSlotRow(Lane& n) {
    if (!n.slot_row.done()) {
      AskBlock(source_, n.asked, n.slot_row);
      return Wait(n, Turn::kSlotRow);
    }
    const uint64_t node = n.slot_row.position() - 1;
    if (n.damaged) {
      context_.rows.ThrowDamagedNeighbour(node, n.slot, n.draws_source ? n.source : n.target);
    }
    return UseEnd(n, node);
  }

  bool UseEnd(Lane& n, uint64_t node) {
    if (n.draws_source) {
      n.source = node;
      return DrawByDegree(n, false);
    }
    n.target = node;
    return Judge(n);
  }

  bool Judge(Lane& n) {
    if (!request_.reject) return Settle(n, false);
    if (n.source == n.target) return Settle(n, true);
    AskRow(source_, n.asked, RowNode(n));
    return Wait(n, Turn::kRow);
  }

  bool LookForEdge(Lane& n) {
    if (context_.rows.sorted) {
      n.search = SearchRow(source_, n.row, Neighbour(n));
      return SearchOn(n);
    }
    source_.AskRanges(n.asked, RowIds(n));
    return Wait(n, Turn::kWholeRow);
  }

  bool SearchOn(Lane& n) {
    if (n.search.done()) return Settle(n, n.search.found());
    AskBlock(source_, n.asked, n.search);
    return Wait(n, Turn::kSearch);
  }

  bool Settle(Lane& n, bool rejected) {
    if (!rejected) {
      context_.out.Write(n.number, n.source, n.target);
      return false;
    }
    if (++n.rejected < kMaxRejected) return DrawPair(n);
    exhausted_.push_back({n.number, n.draws});
    return false;
  }

  const NegativeContext& context_;
  const NegativeRequest& request_;
  const store::Adjacency& adjacency_;
  Source& source_;
  std::vector<Exhausted> exhausted_;
};

// Draws negatives [begin, end) for which nothing is read. In lanes, which PairDrawer needs for its
// reads, they would take 1.3 times as long.
void DrawWithoutReading(const NegativeContext& context, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    Draws draws = context.draws.Child(i);
    const std::optional<uint64_t> given = context.Given(i);
    const uint64_t source = given ? *given : context.sources[draws.Below(context.sources.size())];
    context.out.Write(i, source, context.targets[draws.Below(context.targets.size())]);
  }
}

// Draws negatives that had all their pairs rejected: uniformly among all targets that make a
// negative with the source, which takes the edges of the source.
class ExhaustedDrawer {
 public:
  ExhaustedDrawer(const NegativeContext& context, base::ThreadLease& lease)
      : context_(context), rows_(context.rows), lease_(lease) {}

  void Run(std::vector<Exhausted> exhausted) {
    base::CheckedLoop loop;
    std::sort(exhausted.begin(), exhausted.end(), [&](const Exhausted& a, const Exhausted& b) {
      loop.Next();
      return a.number < b.number;
    });
    for (size_t begin = 0; begin < exhausted.size(); begin += kCountedAtOnce) {
      const size_t end = std::min(begin + kCountedAtOnce, exhausted.size());
      RunSome(std::span(exhausted).subspan(begin, end - begin));
    }
  }

 private:
  // Their size follows the row of a node that a request chooses.
  using Targets = base::WorkVector<uint64_t>;

  // Of hubs, these are long.
  static void Sort(Targets* targets) {
    base::CheckedLoop loop;
    std::sort(targets->begin(), targets->end(), [&](uint64_t a, uint64_t b) {
      loop.Next();
      return a < b;
    });
  }

  struct Negative {
    Exhausted exhausted;
    std::optional<uint64_t> given;
    uint64_t first;  // place of the first source that is tried, if none is given
    uint64_t step = 0;
    uint64_t source = 0;
  };

  void RunSome(std::span<Exhausted> exhausted) {
    std::vector<Negative> left;
    for (Exhausted& one : exhausted) {
      const std::optional<uint64_t> given = context_.Given(one.number);
      const uint64_t first = given ? 0 : one.draws.Below(context_.sources.size());
      left.push_back({one, given, first});
    }
    while (!left.empty()) {
      std::vector<uint64_t> sources;
      for (Negative& one : left) {
        const uint64_t place = (one.first + one.step) % context_.sources.size();
        one.source = one.given ? *one.given : context_.sources[place];
        sources.push_back(one.source);
      }
      std::sort(sources.begin(), sources.end());
      sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
      const std::vector<Targets> linked = LinkedTargets(sources);
      std::vector<Negative> next;
      for (Negative& one : left) {
        const auto at = std::lower_bound(sources.begin(), sources.end(), one.source);
        if (!DrawAmong(one, linked[static_cast<size_t>(at - sources.begin())])) next.push_back(one);
      }
      left = std::move(next);
    }
  }

  // False if the source has no negative, and the next is to be tried. Throws if there is none.
  bool DrawAmong(Negative& one, const Targets& linked) const {
    const std::optional<uint64_t> target = context_.targets.all()
                                               ? DrawAmongAll(linked, one.exhausted.draws)
                                               : DrawAmongListed(linked, one.exhausted.draws);
    if (target) {
      context_.out.Write(one.exhausted.number, one.source, *target);
      return true;
    }
    if (one.given || ++one.step == context_.sources.size()) {
      ThrowNoNegative(rows_, context_.request, one.given);
    }
    return false;
  }

  std::optional<uint64_t> DrawAmongAll(const Targets& linked, Draws& draws) const {
    const uint64_t nodes = rows_.adjacency.rows;
    if (linked.size() >= nodes) return std::nullopt;
    const uint64_t chosen = draws.Below(nodes - linked.size());
    uint64_t skipped = 0;
    for (const uint64_t other : linked) {
      if (other > chosen + skipped) break;
      ++skipped;
    }
    return chosen + skipped;
  }

  std::optional<uint64_t> DrawAmongListed(const Targets& linked, Draws& draws) const {
    base::CheckedLoop loop;
    const auto is_negative = [&](uint64_t i) {
      loop.Next();
      return !std::binary_search(linked.begin(), linked.end(), context_.targets[i]);
    };
    uint64_t left = 0;
    for (uint64_t i = 0; i < context_.targets.size(); ++i) left += is_negative(i);
    if (left == 0) return std::nullopt;
    uint64_t chosen = draws.Below(left);
    uint64_t i = 0;
    while (!is_negative(i) || chosen-- != 0) ++i;
    return context_.targets[i];
  }

  // For each source, the source itself and the nodes that it has edges to (of these, at least those
  // that are candidates): rising, each once.
  std::vector<Targets> LinkedTargets(const std::vector<uint64_t>& sources) const {
    std::vector<Targets> linked(sources.size());
    WithIdType(rows_.adjacency, [&]<class Id>() {
      if (context_.request.rows_are_sources) {
        ForRows<Id>(sources, [&](size_t place, std::span<const Id> ids) {
          linked[place].assign(ids.begin(), ids.end());
        });
      } else {
        FindInTargetRows<Id>(sources, &linked);
      }
    });
    for (size_t k = 0; k < sources.size(); ++k) {
      Targets& targets = linked[k];
      base::CheckPoint();
      std::erase_if(targets, [&](uint64_t id) { return id >= rows_.adjacency.rows; });  // damaged
      targets.push_back(sources[k]);
      Sort(&targets);
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    }
    return linked;
  }

  // Where rows are those of targets, the rows of all candidates are gone through.
  template <class Id>
  void FindInTargetRows(const std::vector<uint64_t>& sources, std::vector<Targets>* linked) const {
    Targets listed;
    if (!context_.targets.all()) {
      const auto& list = context_.request.target_candidates;
      listed.assign(list.begin(), list.end());
      Sort(&listed);
      listed.erase(std::unique(listed.begin(), listed.end()), listed.end());
    }
    const uint64_t count = context_.targets.all() ? rows_.adjacency.rows : listed.size();
    std::vector<uint64_t> nodes;
    std::mutex mutex;
    for (uint64_t first = 0; first < count; first += kRowsAtOnce) {
      nodes.resize(std::min(kRowsAtOnce, count - first));
      for (uint64_t i = 0; i < nodes.size(); ++i) {
        nodes[i] = context_.targets.all() ? first + i : listed[first + i];
      }
      ForRows<Id>(nodes, [&](size_t place, std::span<const Id> ids) {
        for (size_t k = 0; k < sources.size(); ++k) {
          if (!Contains(ids, rows_.sorted, sources[k])) continue;
          const std::lock_guard lock(mutex);
          (*linked)[k].push_back(nodes[place]);
        }
      });
    }
  }

  // Calls use(place, ids) with the neighbours of each of the nodes, from the threads of the lease.
  template <class Id, class Use>
  void ForRows(const std::vector<uint64_t>& nodes, const Use& use) const {
    constexpr size_t kRowsGrain = 64;
    std::vector<uint64_t> begins(nodes.size());
    std::vector<uint64_t> degrees(nodes.size());
    ReadBounds(rows_, lease_, nodes, begins.data(), degrees.data());
    ForRanges(
        rows_, lease_, rows_.Ids<Id>({}).data(), nodes.size(), kRowsGrain,
        [&](size_t i) { return store::SlotRange{begins[i], begins[i] + degrees[i]}; },
        [&](int, size_t begin, size_t end, const auto& ids) {
          for (size_t i = begin; i < end; ++i) use(i, ids(i));
        });
  }

  const NegativeContext& context_;
  const Rows& rows_;
  base::ThreadLease& lease_;
};

void Check(const Rows& rows, const NegativeRequest& request, size_t count) {
  CheckOneNodeSet(rows);
  CheckNodeIds(rows, request.sources, "source");
  CheckNodeIds(rows, request.target_candidates, "candidate");
  CheckNodeIds(rows, request.source_candidates, "candidate for sources");
  const bool chosen = !request.target_candidates.empty() || !request.source_candidates.empty();
  if (chosen && request.weights != NegativeWeights::kUniform) {
    throw std::invalid_argument(
        "negatives from candidates are drawn uniformly: expected no other weights");
  }
  if (count == 0) return;
  if (rows.adjacency.rows == 0) throw std::invalid_argument(rows.path() + " has no nodes");
  if (request.weights == NegativeWeights::kDegree && rows.adjacency.edges == 0) {
    throw std::invalid_argument(rows.path() +
                                " has no edges, so no node can be drawn by its degree; draw "
                                "negatives uniformly");
  }
}

}  // namespace

void DrawNegatives(const store::TopologyReader& graph, const NegativeRequest& request,
                   std::span<int64_t> sources, std::span<int64_t> targets) {
  const Rows rows = Rows::Of(graph, *request.adjacency, request.disk);
  Check(rows, request, targets.size());
  const NegativeContext context{request, rows, {sources, targets}};
  ReadRows(rows, [&] {
    base::ThreadLease lease(request.threads);
    if (!request.reject && request.weights == NegativeWeights::kUniform) {
      lease.For(targets.size(), kGrain,
                [&](int, size_t begin, size_t end) { DrawWithoutReading(context, begin, end); });
      return;
    }
    std::mutex mutex;
    std::vector<Exhausted> exhausted;
    WithRowSource(rows, lease, targets.size(), kGrain,
                  [&]<class Source>(Source& source, size_t begin, size_t end) {
                    const auto more = PairDrawer<Source>(context, source).Run(begin, end);
                    const std::lock_guard lock(mutex);
                    exhausted.insert(exhausted.end(), more.begin(), more.end());
                  });
    ExhaustedDrawer(context, lease).Run(std::move(exhausted));
  });
}

}  // namespace graphzero::sample
