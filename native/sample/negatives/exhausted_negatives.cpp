#include "sample/negatives/exhausted_negatives.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "sample/rows/row_batches.h"
#include "sample/rows/row_search.h"

namespace graphzero::sample {
namespace {

// Negatives that are handled together. Where all rows must be read, they share the reads.
constexpr size_t kCountedAtOnce = 16;
// Rows or candidates that are read at a time, where all of them must be.
constexpr uint64_t kAtOnce = 65536;

// Sorts, and checks meanwhile whether the call is to end: the lists of hubs are long.
template <class Item>
void SortChecked(base::WorkVector<Item>* items) {
  base::CheckedLoop loop;
  std::sort(items->begin(), items->end(), [&](const Item& a, const Item& b) {
    loop.Next();
    return a < b;
  });
}

}  // namespace

void ExhaustedDrawer::Run(std::vector<Exhausted> exhausted) const {
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

void ExhaustedDrawer::RunSome(std::span<Exhausted> exhausted) const {
  std::vector<Negative> left;
  for (Exhausted& one : exhausted) {
    const std::optional<uint64_t> given = context_.Given(one.number);
    const uint64_t first = given ? 0 : one.draws.Below(context_.sources.size(one.number));
    left.push_back({one, given, first});
  }
  while (!left.empty()) {
    ChooseSources(left);
    std::vector<uint64_t> sources;
    for (const Negative& one : left) sources.push_back(one.source);
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    const std::vector<Links> linked = LinkedTargets(sources);
    std::vector<Negative> next;
    for (Negative& one : left) {
      const auto at = std::lower_bound(sources.begin(), sources.end(), one.source);
      if (!DrawAmong(one, linked[static_cast<size_t>(at - sources.begin())])) next.push_back(one);
    }
    left = std::move(next);
  }
}

void ExhaustedDrawer::ChooseSources(std::span<Negative> left) const {
  for (Negative& one : left) {
    if (one.given) {
      one.source = *one.given;
      continue;
    }
    const uint64_t place = (one.first + one.step) % context_.sources.size(one.exhausted.number);
    one.source = context_.sources.must_be_read()
                     ? ReadNodes(context_.sources.by_time(), {&place, 1},
                                 context_.request.source_type->count)[0]
                     : context_.sources[place];
  }
}

bool ExhaustedDrawer::DrawAmong(Negative& one, const Links& linked) const {
  Nodes targets;
  targets.reserve(linked.size() + 1);
  for (const Linked& link : linked) {
    if (context_.Counts(one.exhausted.number, link.since)) targets.push_back(link.target);
  }
  if (context_.one_type) {
    const auto at = std::lower_bound(targets.begin(), targets.end(), one.source);
    if (at == targets.end() || *at != one.source) targets.insert(at, one.source);
  }
  std::optional<uint64_t> target;
  if (!context_.targets.all()) {
    target = DrawAmongListed(targets, one);
  } else if (context_.targets.must_be_read()) {
    target = DrawAmongRead(targets, one);
  } else {
    target = DrawAmongFirst(targets, one);
  }
  if (target) {
    context_.out.Write(one.exhausted.number, one.source, *target);
    return true;
  }
  if (one.given || ++one.step == context_.sources.size(one.exhausted.number)) {
    ThrowNoNegative(one);
  }
  return false;
}

std::optional<uint64_t> ExhaustedDrawer::DrawAmongFirst(const Nodes& linked, Negative& one) const {
  const uint64_t nodes = context_.targets.size(one.exhausted.number);
  const auto among =
      static_cast<uint64_t>(std::lower_bound(linked.begin(), linked.end(), nodes) - linked.begin());
  if (among >= nodes) return std::nullopt;
  const uint64_t chosen = one.exhausted.draws.Below(nodes - among);
  uint64_t skipped = 0;
  for (const uint64_t other : std::span(linked).first(among)) {
    if (other > chosen + skipped) break;
    ++skipped;
  }
  return chosen + skipped;
}

std::optional<uint64_t> ExhaustedDrawer::DrawAmongListed(const Nodes& linked, Negative& one) const {
  base::CheckedLoop loop;
  const uint64_t count = context_.targets.size(one.exhausted.number);
  const auto is_negative = [&](uint64_t i) {
    loop.Next();
    return !std::binary_search(linked.begin(), linked.end(), context_.targets[i]);
  };
  uint64_t left = 0;
  for (uint64_t i = 0; i < count; ++i) left += is_negative(i);
  if (left == 0) return std::nullopt;
  uint64_t chosen = one.exhausted.draws.Below(left);
  uint64_t i = 0;
  while (!is_negative(i) || chosen-- != 0) ++i;
  return context_.targets[i];
}

std::optional<uint64_t> ExhaustedDrawer::DrawAmongRead(const Nodes& linked, Negative& one) const {
  const uint64_t count = context_.targets.size(one.exhausted.number);
  const auto is_negative = [&](uint64_t node) {
    return !std::binary_search(linked.begin(), linked.end(), node);
  };
  uint64_t left = 0;
  ForCandidates(count, [&](uint64_t node) {
    left += is_negative(node);
    return true;
  });
  if (left == 0) return std::nullopt;
  uint64_t chosen = one.exhausted.draws.Below(left);
  std::optional<uint64_t> found;
  ForCandidates(count, [&](uint64_t node) {
    if (!is_negative(node) || chosen-- != 0) return true;
    found = node;
    return false;
  });
  return found;
}

template <class Use>
void ExhaustedDrawer::ForCandidates(uint64_t count, const Use& use) const {
  Nodes places;
  for (uint64_t first = 0; first < count; first += kAtOnce) {
    base::CheckPoint();
    places.resize(std::min(kAtOnce, count - first));
    for (uint64_t i = 0; i < places.size(); ++i) places[i] = first + i;
    const Nodes nodes =
        ReadNodes(context_.targets.by_time(), places, context_.request.target_type->count);
    for (const uint64_t node : nodes) {
      if (!use(node)) return;
    }
  }
}

ExhaustedDrawer::Nodes ExhaustedDrawer::ReadNodes(const store::IntegerArray& array,
                                                  std::span<const uint64_t> places,
                                                  uint64_t bound) const {
  Nodes nodes(places.size());
  WithType(array, [&]<class Node>(const Node* data) {
    ReadSlots(rows_, lease_, data, places, nodes.data());
  });
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] >= bound) rows_.ThrowDamagedOrder(places[i], nodes[i], bound);
  }
  return nodes;
}

base::WorkVector<int64_t> ExhaustedDrawer::OwnTimes(std::span<const uint64_t> slots) const {
  base::WorkVector<int64_t> times(slots.size(), kNoTime);
  if (!context_.request.times.empty() && rows_.adjacency.times != nullptr) {
    ReadSlots(rows_, lease_, rows_.adjacency.times, slots, times.data());
  }
  return times;
}

std::vector<ExhaustedDrawer::Links> ExhaustedDrawer::LinkedTargets(
    const std::vector<uint64_t>& sources) const {
  std::vector<Links> linked(sources.size());
  WithIdType(rows_.adjacency, [&]<class Id>() {
    if (context_.request.rows_are_sources) {
      ReadSourceRows<Id>(sources, &linked);
    } else {
      FindInTargetRows<Id>(sources, &linked);
    }
  });
  const uint64_t bound = context_.request.target_type->count;
  for (Links& links : linked) {
    base::CheckPoint();
    std::erase_if(links, [&](const Linked& link) { return link.target >= bound; });  // damaged
    SortChecked(&links);
    const auto same = [](const Linked& a, const Linked& b) { return a.target == b.target; };
    links.erase(std::unique(links.begin(), links.end(), same), links.end());
  }
  return linked;
}

template <class Id>
void ExhaustedDrawer::ReadSourceRows(const std::vector<uint64_t>& sources,
                                     std::vector<Links>* linked) const {
  std::vector<store::SlotRange> rows(sources.size());
  ForRows<Id>(sources, [&](size_t place, std::span<const Id> ids, const store::SlotRange& row) {
    Links& links = (*linked)[place];
    links.reserve(ids.size());
    for (const Id& id : ids) links.push_back({store::ReadOnce(&id), kNoTime});
    rows[place] = row;
  });
  for (size_t k = 0; k < sources.size(); ++k) {
    Nodes slots((*linked)[k].size());
    base::ForEach(slots.size(), [&](size_t i) { slots[i] = rows[k].begin + i; });
    const auto times = OwnTimes(slots);
    base::ForEach(slots.size(), [&](size_t i) { (*linked)[k][i].since = times[i]; });
  }
}

// Where rows are those of targets, the sources are looked for in the rows of all candidates.
template <class Id>
void ExhaustedDrawer::FindInTargetRows(const std::vector<uint64_t>& sources,
                                       std::vector<Links>* linked) const {
  Nodes listed;
  if (!context_.targets.all()) {
    const auto& list = context_.request.target_candidates;
    listed.assign(list.begin(), list.end());
    SortChecked(&listed);
    listed.erase(std::unique(listed.begin(), listed.end()), listed.end());
  }
  struct Found {
    size_t source;  // its place in `sources`
    uint64_t target;
  };
  base::WorkVector<Found> found;
  Nodes slots;
  const uint64_t count = context_.targets.all() ? rows_.adjacency.rows : listed.size();
  Nodes nodes;
  std::mutex mutex;
  for (uint64_t first = 0; first < count; first += kAtOnce) {
    nodes.resize(std::min(kAtOnce, count - first));
    for (uint64_t i = 0; i < nodes.size(); ++i) {
      nodes[i] = context_.targets.all() ? first + i : listed[first + i];
    }
    ForRows<Id>(nodes, [&](size_t place, std::span<const Id> ids, const store::SlotRange& row) {
      for (size_t k = 0; k < sources.size(); ++k) {
        const auto begin =
            rows_.sorted ? std::lower_bound(ids.begin(), ids.end(), sources[k]) : ids.begin();
        for (auto at = begin; at != ids.end(); ++at) {
          if (rows_.sorted) {
            if (*at != sources[k]) break;
          } else {
            at = std::find(at, ids.end(), sources[k]);
            if (at == ids.end()) break;
          }
          const std::lock_guard lock(mutex);
          found.push_back({k, nodes[place]});
          slots.push_back(row.begin + static_cast<uint64_t>(at - ids.begin()));
          if (rows_.adjacency.times == nullptr) break;  // without times, one edge suffices
        }
      }
    });
  }
  const auto times = OwnTimes(slots);
  base::ForEach(found.size(), [&](size_t i) {
    (*linked)[found[i].source].push_back({found[i].target, times[i]});
  });
}

template <class Id, class Use>
void ExhaustedDrawer::ForRows(std::span<const uint64_t> nodes, const Use& use) const {
  constexpr size_t kRowsGrain = 64;
  Nodes begins(nodes.size());
  Nodes degrees(nodes.size());
  ReadBounds(rows_, lease_, nodes, begins.data(), degrees.data());
  const auto row = [&](size_t i) { return store::SlotRange{begins[i], begins[i] + degrees[i]}; };
  ForRanges(rows_, lease_, rows_.Ids<Id>({}).data(), nodes.size(), kRowsGrain, row,
            [&](int, size_t begin, size_t end, const auto& ids) {
              for (size_t i = begin; i < end; ++i) use(i, ids(i), row(i));
            });
}

void ExhaustedDrawer::ThrowNoNegative(const Negative& one) const {
  const NegativeRequest& request = context_.request;
  const bool listed = !request.target_candidates.empty() || !request.source_candidates.empty();
  const std::string when = request.times.empty()
                               ? ""
                               : " at time " + std::to_string(request.times[one.exhausted.number]);
  const std::string in = rows_.path() + rows_.OfRelation() + when;
  if (one.given) {
    const std::string whom = listed ? "all candidates" : "all other nodes";
    throw InputError("node " + std::to_string(*one.given) + " of " + in + " has edges to " + whom +
                     ": there is no negative for it; draw negatives without rejection");
  }
  const std::string pairs = listed ? "any two candidates" : "any two nodes";
  throw InputError(in + " has an edge between " + pairs +
                   ": there are no negatives; draw them without rejection");
}

}  // namespace graphzero::sample
