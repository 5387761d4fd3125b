#include "store/verify/verify.h"

#include <deque>
#include <functional>
#include <set>

#include "base/errors.h"
#include "store/topology/topology_format.h"
#include "store/verify/verify_blocks.h"
#include "store/verify/verify_values.h"

namespace graphzero::store {
namespace {

using TitleOf = std::function<std::string(const SectionEntry&)>;

std::string PlainTitle(const SectionEntry& entry) { return SectionName(entry.kind); }

// Bytes between sections, which must be zero. The header and the table were checked at open.
std::vector<Extent> Gaps(const Container& container, const TitleOf& title) {
  std::vector<Extent> gaps;
  uint64_t end =
      container.header().table_offset + container.sections().size() * sizeof(SectionEntry);
  std::string before = "section table";
  const auto gap = [&](uint64_t next) {
    if (next <= end) return;
    gaps.push_back({"padding after " + before, end, next - end, nullptr, CheckZero()});
  };
  for (const SectionEntry& s : container.sections()) {
    gap(s.offset);
    end = s.offset + s.stored_bytes;
    before = title(s);
  }
  gap(container.file()->size());
  return gaps;
}

Extent SectionExtent(const SectionEntry& entry, const TitleOf& title, BlockCheck check) {
  return {title(entry), entry.offset, entry.stored_bytes, &entry, std::move(check)};
}

// The kinds of sections of one direction.
struct Kinds {
  SectionKind indptr, indices, weights, edge_ids, times, slot_times;
};
constexpr Kinds kOut{SectionKind::kOutIndptr,  SectionKind::kOutIndices,
                     SectionKind::kOutWeights, SectionKind::kOutEdgeIds,
                     SectionKind::kOutTimes,   SectionKind::kOutSlotTimes};
constexpr Kinds kIn{SectionKind::kInIndptr,  SectionKind::kInIndices, SectionKind::kInWeights,
                    SectionKind::kInEdgeIds, SectionKind::kInTimes,   SectionKind::kInSlotTimes};

class TopologyVerifier {
 public:
  // `graph` must outlive this object.
  TopologyVerifier(const TopologyReader& graph, const VerifyOptions& options)
      : graph_(graph),
        problems_(graph.file()->path()),
        blocks_(*graph.file(), graph.container(), options, &problems_) {}

  std::vector<std::string> Run() {
    std::vector<Extent> extents;
    bool sound = true;
    for (uint32_t t = 0; t < graph_.types().size(); ++t) AddType(t, &extents);
    for (const Relation& relation : graph_.relations()) {
      if (!relation.is_view) sound &= AddRelation(relation, &extents);
    }
    if (graph_.container()) AddRest(&extents);
    if (blocks_.Check(extents) && sound) {
      for (const RelationSums& sums : sums_) CompareEdges(sums);
    }
    return problems_.Lines();
  }

 private:
  // Sums over the edges of a relation, in both directions. They must be equal.
  struct RelationSums {
    const Relation* relation;
    EdgeSum out{0};
    EdgeSum in{0};
  };

  // The extent of an array: a section or, in a file of GraphZero 0.2, a run of bytes without an
  // entry.
  Extent Array(SectionKind kind, uint32_t relation, const void* data, uint64_t bytes,
               BlockCheck check) {
    const auto* base = graph_.file()->bytes().data();
    const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(data) - base);
    const SectionEntry* entry =
        graph_.container() ? graph_.container()->Find(kind, relation) : nullptr;
    covered_.insert(entry);
    return {graph_.SectionTitle(kind, relation), offset, bytes, entry, std::move(check)};
  }

  void AddType(uint32_t number, std::vector<Extent>* extents) {
    const NodeType& type = graph_.types()[number];
    const auto add = [&](SectionKind kind, const void* data, uint64_t width, BlockCheck check) {
      extents->push_back(Array(kind, number, data, type.count * width, std::move(check)));
    };
    if (type.times == nullptr) return;
    add(SectionKind::kNodeTimes, type.times, sizeof(int64_t), CheckNodeTimes(type));
    if (!type.by_time.present()) return;
    add(SectionKind::kNodesByTime, type.by_time.data, type.by_time.width, CheckNodesByTime(type));
    add(SectionKind::kTimesByTime, type.sorted_times, sizeof(int64_t), CheckTimes());
  }

  // Checks indptr of a relation and adds its other sections to `extents`. Returns false if indptr
  // is damaged.
  bool AddRelation(const Relation& relation, std::vector<Extent>* extents) {
    RelationSums* sums = &sums_.emplace_back(&relation);
    bool sound = true;
    for (const Adjacency* a : {relation.out, relation.in}) {
      if (a == nullptr) continue;
      const Kinds& kinds = a->is_in ? kIn : kOut;
      const bool rows_sound = CheckOffsets(kinds, *a);
      AddEdges(relation, kinds, *a, rows_sound, sums, extents);
      sound &= rows_sound;
    }
    return sound;
  }

  bool CheckOffsets(const Kinds& kinds, const Adjacency& a) {
    const Extent extent =
        Array(kinds.indptr, a.relation, a.indptr, (a.rows + 1) * sizeof(uint64_t), CheckIndptr(a));
    return blocks_.Check({&extent, 1});
  }

  void AddEdges(const Relation& relation, const Kinds& kinds, const Adjacency& a, bool indptr_sound,
                RelationSums* sums, std::vector<Extent>* extents) {
    // In rows sorted by neighbour, edges between the same two nodes at different times lie side by
    // side and are no repeats, so repeats are not looked for if edges have times.
    const bool ordered = a.time_ordered || (a.sorted && a.times == nullptr);
    RowRules rules{.sorted = a.sorted,
                   .time_ordered = a.time_ordered,
                   .no_repeats = ordered && relation.multi_edges_dropped};
    const bool both = relation.out && relation.in;
    if (relation.symmetric || (both && !a.is_in)) rules.from_row = &sums->out;
    if (relation.symmetric || (both && a.is_in)) rules.to_row = &sums->in;
    const auto add = [&](SectionKind kind, const void* data, uint64_t bytes, BlockCheck check) {
      extents->push_back(Array(kind, a.relation, data, bytes, std::move(check)));
    };
    // Without a sound indptr it is unknown where rows begin.
    add(kinds.indices, a.neighbours.data, a.edges * a.neighbours.width,
        indptr_sound ? CheckRows(a, rules) : CheckNeighbours(a));
    if (a.weights) add(kinds.weights, a.weights, a.edges * sizeof(float), CheckWeights());
    if (a.edge_ids.present()) {
      add(kinds.edge_ids, a.edge_ids.data, a.edges * a.edge_ids.width,
          CheckEdgeIds(a, relation.edge_id_bound));
    }
    const int64_t* node_times = graph_.types()[a.is_in ? relation.source : relation.target].times;
    const uint64_t time_bytes = a.edges * sizeof(int64_t);
    if (a.times) {
      add(kinds.times, a.times, time_bytes,
          a.slot_times == a.times ? CheckSlotTimes(a, node_times) : CheckTimes());
    }
    if (a.slot_times != a.times) {
      add(kinds.slot_times, a.slot_times, time_bytes, CheckSlotTimes(a, node_times));
    }
  }

  // Adds padding, and sections that this reader ignores: their checksums must be right whatever
  // they mean.
  void AddRest(std::vector<Extent>* extents) {
    const TitleOf title = [this](const SectionEntry& s) {
      return graph_.SectionTitle(s.kind, s.relation);
    };
    covered_.insert(graph_.container()->Find(SectionKind::kChecksums));
    for (const SectionEntry& s : graph_.container()->sections()) {
      if (!covered_.contains(&s)) extents->push_back(SectionExtent(s, title, {}));
    }
    for (Extent& gap : Gaps(*graph_.container(), title)) extents->push_back(std::move(gap));
  }

  // The edges of both directions, or of a symmetric relation and its reverse, must be the same.
  void CompareEdges(const RelationSums& sums) {
    if (sums.out == sums.in) return;
    const uint32_t number = sums.relation->base;
    const auto title = [&](SectionKind kind) { return graph_.SectionTitle(kind, number); };
    if (sums.relation->symmetric) {
      problems_.Add(graph_.typed() ? title(SectionKind::kOutIndices) : "indices",
                    "an edge without its reverse",
                    "the reverse of every edge, as the symmetric flag says");
    } else {
      problems_.Add("out.indices and " + title(SectionKind::kInIndices), "different edges",
                    "the same in both directions");
    }
  }

  const TopologyReader& graph_;
  Problems problems_;
  BlockVerifier blocks_;
  std::set<const SectionEntry*> covered_;
  std::deque<RelationSums> sums_;  // never move: checks add to them
};

// Puts a line before the problems if the file was cut or could not be read meanwhile: values that
// were read from its mapping may then have been zeros.
std::vector<std::string> WithDamage(const MappedFile& file, std::vector<std::string> problems) {
  try {
    file.ThrowIfDamaged();
  } catch (const IoError& error) {
    problems.insert(problems.begin(), file.path() + ": found " + error.what() +
                                          ", expected a file that stays as it is");
  }
  return problems;
}

}  // namespace

std::vector<std::string> Verify(const TopologyReader& graph, const VerifyOptions& options) {
  const TopologyReader fresh = TopologyReader::OpenMapped(graph.file()->MapAgain());
  return WithDamage(*fresh.file(), TopologyVerifier(fresh, options).Run());
}

std::vector<std::string> Verify(const MatrixReader& opened, const VerifyOptions& options) {
  const MatrixReader matrix = MatrixReader::OpenMapped(opened.file()->MapAgain());
  Problems problems(matrix.file()->path());
  BlockVerifier blocks(*matrix.file(), matrix.container(), options, &problems);
  std::vector<Extent> extents;
  if (const Container* container = matrix.container()) {
    const SectionEntry* rows = container->Find(SectionKind::kRows);
    // Null if the reader skips the section, because it has another encoding or relation. Such a
    // section may have any length and any values.
    const SectionEntry* rows_by_id = container->Find(SectionKind::kRowsById);
    for (const SectionEntry& s : container->sections()) {
      if (&s == container->Find(SectionKind::kChecksums)) continue;
      BlockCheck check;
      if (&s == rows) check = CheckMatrix(matrix);
      if (&s == rows_by_id) check = CheckRowsById(matrix);
      extents.push_back(SectionExtent(s, PlainTitle, std::move(check)));
    }
    for (Extent& gap : Gaps(*container, PlainTitle)) extents.push_back(std::move(gap));
  } else {
    extents.push_back({"data", matrix.data_offset(), matrix.rows() * matrix.row_stride(), nullptr,
                       CheckMatrix(matrix)});
  }
  blocks.Check(extents);
  return WithDamage(*matrix.file(), problems.Lines());
}

}  // namespace graphzero::store
