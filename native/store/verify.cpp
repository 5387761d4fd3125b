#include "store/verify.h"

#include <algorithm>

#include "base/errors.h"
#include "store/topology_format.h"
#include "store/verify_blocks.h"
#include "store/verify_values.h"

namespace graphzero::store {
namespace {

// Bytes between sections, which must be zero. The header and the table were checked at open.
std::vector<Extent> Gaps(const Container& container) {
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
    before = SectionName(s.kind);
  }
  gap(container.file()->size());
  return gaps;
}

Extent SectionExtent(const SectionEntry& entry, BlockCheck check) {
  return {SectionName(entry.kind), entry.offset, entry.stored_bytes, &entry, std::move(check)};
}

// The kinds of one direction's sections, side by side in the format.
struct Kinds {
  SectionKind indptr, indices, weights, edge_ids, times;
};
constexpr Kinds kOut{SectionKind::kOutIndptr, SectionKind::kOutIndices, SectionKind::kOutWeights,
                     SectionKind::kOutEdgeIds, SectionKind::kOutTimes};
constexpr Kinds kIn{SectionKind::kInIndptr, SectionKind::kInIndices, SectionKind::kInWeights,
                    SectionKind::kInEdgeIds, SectionKind::kInTimes};

class TopologyVerifier {
 public:
  // `graph` must outlive this object.
  TopologyVerifier(const TopologyReader& graph, const VerifyOptions& options)
      : graph_(graph),
        problems_(graph.file()->path()),
        blocks_(*graph.file(), graph.container(), options, &problems_) {}

  std::vector<std::string> Run() {
    const bool out_sound = !graph_.out() || CheckOffsets(kOut, *graph_.out());
    const bool in_sound = !graph_.in() || CheckOffsets(kIn, *graph_.in());
    std::vector<Extent> extents;
    if (graph_.out()) AddEdges(kOut, *graph_.out(), out_sound, &extents);
    if (graph_.in()) AddEdges(kIn, *graph_.in(), in_sound, &extents);
    if (graph_.container()) AddRest(&extents);
    if (blocks_.Check(extents) && out_sound && in_sound) CompareEdges();
    return problems_.Lines();
  }

 private:
  // An array of one adjacency: a section, or in a file of GraphZero 0.2 a bare run of bytes.
  Extent Array(SectionKind kind, const void* data, uint64_t bytes, BlockCheck check) {
    const auto* base = graph_.file()->bytes().data();
    const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(data) - base);
    const SectionEntry* entry = graph_.container() ? graph_.container()->Find(kind) : nullptr;
    covered_.push_back(entry);
    return {SectionName(kind), offset, bytes, entry, std::move(check)};
  }

  bool CheckOffsets(const Kinds& kinds, const Adjacency& a) {
    const Extent extent =
        Array(kinds.indptr, a.indptr, (a.rows + 1) * sizeof(uint64_t), CheckIndptr(a));
    return blocks_.Check({&extent, 1});
  }

  void AddEdges(const Kinds& kinds, const Adjacency& a, bool indptr_sound,
                std::vector<Extent>* extents) {
    RowRules rules{.sorted = graph_.sorted(),
                   .no_repeats = graph_.sorted() && graph_.multi_edges_dropped()};
    const bool both = graph_.out() && graph_.in();
    if (graph_.symmetric() || (both && &a == graph_.out())) rules.from_row = &out_sum_;
    if (graph_.symmetric() || (both && &a == graph_.in())) rules.to_row = &in_sum_;
    // Without a sound indptr nobody knows where rows begin.
    extents->push_back(Array(kinds.indices, a.neighbours.data, a.edges * a.neighbours.width,
                             indptr_sound ? CheckRows(a, rules) : CheckNeighbours(a)));
    if (a.weights) {
      extents->push_back(Array(kinds.weights, a.weights, a.edges * sizeof(float), CheckWeights()));
    }
    if (a.edge_ids.present()) {
      extents->push_back(Array(kinds.edge_ids, a.edge_ids.data, a.edges * a.edge_ids.width,
                               CheckEdgeIds(a, graph_.edge_id_bound())));
    }
    if (a.times) {
      extents->push_back(Array(kinds.times, a.times, a.edges * sizeof(int64_t), {}));
    }
  }

  // Padding, and sections that this reader ignores: their checksums hold whatever they mean.
  void AddRest(std::vector<Extent>* extents) {
    covered_.push_back(graph_.container()->Find(SectionKind::kChecksums));
    for (const SectionEntry& s : graph_.container()->sections()) {
      if (std::find(covered_.begin(), covered_.end(), &s) != covered_.end()) continue;
      extents->push_back(SectionExtent(s, {}));
    }
    for (Extent& gap : Gaps(*graph_.container())) extents->push_back(std::move(gap));
  }

  // The edges of both directions, or of a symmetric graph and its reverse, must be the same.
  void CompareEdges() {
    if (out_sum_ == in_sum_) return;
    if (graph_.symmetric()) {
      problems_.Add("indices", "an edge without its reverse",
                    "the reverse of every edge, as the symmetric flag says");
    } else {
      problems_.Add("out.indices and in.indices", "different edges", "the same in both directions");
    }
  }

  const TopologyReader& graph_;
  Problems problems_;
  BlockVerifier blocks_;
  std::vector<const SectionEntry*> covered_;
  EdgeSum out_sum_{0};
  EdgeSum in_sum_{0};
};

// The problems, after one line about a file that was cut or could not be read meanwhile: values
// that were looked up in its mapping then were zeros.
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
    for (const SectionEntry& s : container->sections()) {
      if (&s == container->Find(SectionKind::kChecksums)) continue;
      extents.push_back(SectionExtent(s, &s == rows ? CheckMatrix(matrix) : BlockCheck{}));
    }
    for (Extent& gap : Gaps(*container)) extents.push_back(std::move(gap));
  } else {
    extents.push_back({"data", matrix.data_offset(), matrix.rows() * matrix.row_stride(), nullptr,
                       CheckMatrix(matrix)});
  }
  blocks.Check(extents);
  return WithDamage(*matrix.file(), problems.Lines());
}

}  // namespace graphzero::store
