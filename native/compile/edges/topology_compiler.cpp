#include "compile/edges/topology_compiler.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/team.h"
#include "compile/edges/adjacency_compiler.h"
#include "compile/edges/adjacency_writer.h"
#include "compile/edges/edge_dedup.h"
#include "compile/edges/edge_partition.h"
#include "compile/edges/memory_plan.h"
#include "store/topology_format.h"

namespace graphzero::compile {
namespace {

// More nodes than this for one edge look like ids that were not meant to be dense.
constexpr uint64_t kNodesPerEdge = 1000;
constexpr uint64_t kPlausibleNodes = 100'000'000;
// Sizes of files are signed 64-bit numbers, and a node takes 8 bytes in each direction.
constexpr uint64_t kMostNodes = uint64_t{1} << 58;

// Thrown when 32-bit records meet a larger id; the job then starts over with 64-bit ones.
struct IdsNeed64Bits {};

template <class Record>
class Compiler {
 public:
  Compiler(EdgeSource* source, const std::string& path, const TopologyOptions& options,
           const Resources& resources, Progress* progress)
      : source_(*source),
        path_(path),
        options_(options),
        resources_(resources),
        progress_(*progress),
        estimate_(source->Estimate()),
        symmetric_(options.undirected || options.symmetric_source),
        plan_(PlanMemory(resources, estimate_.edges * (options.undirected ? 2 : 1), sizeof(Record),
                         Directions())),
        extents_(plan_.extents_budget, plan_.extent_bytes, resources.temp_dir) {}

  TopologyReport Run() {
    Read();
    if (options_.dedup) Dedup();
    Write();
    report_.input_rows = source_.input_rows();
    report_.spilled_bytes = extents_.spilled_bytes();
    return report_;
  }

 private:
  using Edges = EdgePartition<Record>;

  bool StoreOut() const { return symmetric_ || options_.out; }
  bool StoreIn() const { return !symmetric_ && options_.in; }
  uint64_t Directions() const { return uint64_t{StoreOut()} + uint64_t{StoreIn()}; }

  std::unique_ptr<Edges> NewPartition() {
    uint64_t max_id = estimate_.max_id;
    if (options_.num_nodes) max_id = std::max<uint64_t>(*options_.num_nodes, 1) - 1;
    return std::make_unique<Edges>(&extents_, max_id, plan_.buckets, resources_.threads);
  }

  void Read();
  void Divide(const EdgeBatch& batch, int rank, KeyBounds* bounds);
  void SetNumNodes(const KeyBounds& bounds);
  void Dedup();
  void Write();
  AdjacencyLayout Layout(uint64_t edges) const;
  void WriteEdges(Edges* edges, size_t first_section, store::ContainerWriter* file,
                  const char* phase);

  EdgeSource& source_;
  const std::string& path_;
  const TopologyOptions& options_;
  const Resources& resources_;
  Progress& progress_;
  const EdgeEstimate estimate_;
  const bool symmetric_;
  const MemoryPlan plan_;
  ExtentStore extents_;
  KeyBounds bounds_;  // of (source, target) pairs
  std::unique_ptr<Edges> out_;
  std::unique_ptr<Edges> in_;
  TopologyReport report_;
};

KeyBounds Turned(const KeyBounds& bounds) {
  return {bounds.max_neighbour, bounds.max_row, bounds.max_edge};
}

KeyBounds Joined(const KeyBounds& a, const KeyBounds& b) {
  return {std::max(a.max_row, b.max_row), std::max(a.max_neighbour, b.max_neighbour),
          std::max(a.max_edge, b.max_edge)};
}

template <class Record>
void Compiler<Record>::Read() {
  // Repeats are dropped from the out-partition, and what is left divided again for both directions.
  if (StoreOut() || options_.dedup) out_ = NewPartition();
  if (StoreIn() && !options_.dedup) in_ = NewPartition();
  progress_.Start("reading edges", estimate_.input_units);
  std::mutex mutex;
  std::atomic<bool> failed{false};
  base::RunTeam(resources_.threads, [&](int rank) {
    EdgeBatch batch;
    KeyBounds bounds;
    try {
      while (!failed && source_.Next(&batch)) {
        progress_.ThrowIfCancelled();
        Divide(batch, rank, &bounds);
        progress_.Add(batch.input_units);
      }
    } catch (...) {
      failed = true;
      throw;
    }
    std::lock_guard lock(mutex);
    bounds_ = Joined(bounds_, bounds);
  });
  source_.ThrowIfFailed();
  if (options_.undirected) bounds_ = Joined(bounds_, Turned(bounds_));
  if (out_) out_->Close(bounds_);
  if (in_) in_->Close(Turned(bounds_));
  SetNumNodes(bounds_);
}

template <class Record>
void Compiler<Record>::Divide(const EdgeBatch& batch, int rank, KeyBounds* bounds) {
  for (size_t i = 0; i < batch.size; ++i) {
    bounds->max_row = std::max(bounds->max_row, batch.src[i]);
    bounds->max_neighbour = std::max(bounds->max_neighbour, batch.dst[i]);
  }
  if (sizeof(typename Record::Id) == 4 &&
      std::max(bounds->max_row, bounds->max_neighbour) > UINT32_MAX) {
    throw IdsNeed64Bits();
  }
  const bool weighted = source_.weighted();
  const auto push = [&](Edges* to, uint64_t row, uint64_t neighbour, size_t i) {
    const uint64_t edge = Record::kRich ? batch.Row(i) : 0;
    const float weight = Record::kRich && weighted ? batch.weight[i] : 0.0f;
    to->Push(to->writer(rank), Record::Make(row, neighbour, edge, weight));
  };
  if (Record::kRich) {
    for (size_t i = 0; i < batch.size; ++i) {
      bounds->max_edge = std::max(bounds->max_edge, batch.Row(i));
    }
  }
  if (out_) {
    for (size_t i = 0; i < batch.size; ++i) push(out_.get(), batch.src[i], batch.dst[i], i);
  }
  if (in_) {
    for (size_t i = 0; i < batch.size; ++i) push(in_.get(), batch.dst[i], batch.src[i], i);
  }
  if (options_.undirected) {
    for (size_t i = 0; i < batch.size; ++i) {
      if (batch.src[i] != batch.dst[i]) push(out_.get(), batch.dst[i], batch.src[i], i);
    }
  }
}

template <class Record>
void Compiler<Record>::SetNumNodes(const KeyBounds& bounds) {
  const Edges& edges = out_ ? *out_ : *in_;
  const uint64_t slots = edges.total_records();
  const uint64_t max_id = std::max(bounds.max_row, bounds.max_neighbour);
  if (options_.num_nodes) {
    report_.num_nodes = *options_.num_nodes;
  } else if (slots == 0) {
    throw InputError(source_.name() +
                     ": found no edges, expected some; if there are none, give the number of nodes "
                     "(--num-nodes)");
  } else {
    report_.num_nodes = max_id + 1;
    if (max_id >= kPlausibleNodes && max_id / kNodesPerEdge > slots) {
      throw InputError(source_.name() + ": the largest node id is " + std::to_string(max_id) +
                       " but there are only " + std::to_string(slots) +
                       " edges: ids are expected to run from 0 to the number "
                       "of nodes; if they do, give it (--num-nodes)");
    }
  }
  if (report_.num_nodes > kMostNodes) {
    throw InputError(source_.name() + ": found " + std::to_string(report_.num_nodes) +
                     " nodes, expected at most " + std::to_string(kMostNodes) +
                     ", for which one file has room");
  }
}

template <class Record>
void Compiler<Record>::Dedup() {
  std::unique_ptr<Edges> from = std::move(out_);
  const uint64_t before = from->total_records();
  if (StoreOut()) out_ = NewPartition();
  if (StoreIn()) in_ = NewPartition();
  progress_.Start("dropping repeated edges", before);
  DropRepeatedEdges(from.get(), out_.get(), in_.get(), plan_.leaf, resources_.threads, &progress_);
  if (out_) out_->Close(bounds_);
  if (in_) in_->Close(Turned(bounds_));
  report_.dropped = before - (out_ ? *out_ : *in_).total_records();
}

template <class Record>
AdjacencyLayout Compiler<Record>::Layout(uint64_t edges) const {
  constexpr uint64_t kNarrow = uint64_t{1} << 32;
  return {report_.num_nodes,           edges,
          report_.num_nodes > kNarrow, source_.weighted(),
          options_.edge_ids,           source_.input_rows() > kNarrow};
}

template <class Record>
void Compiler<Record>::Write() {
  report_.num_edges = (out_ ? *out_ : *in_).total_records();
  const AdjacencyLayout layout = Layout(report_.num_edges);
  std::vector<store::SectionSpec> sections;
  const auto add = [&](store::SectionKind indptr) {
    const size_t first = sections.size();
    for (const store::SectionSpec& spec : SectionsOf(layout, indptr)) sections.push_back(spec);
    return first;
  };
  const size_t out_first = StoreOut() ? add(store::SectionKind::kOutIndptr) : 0;
  const size_t in_first = StoreIn() ? add(store::SectionKind::kInIndptr) : 0;
  const std::string& name = options_.weight_name;
  const bool has_name = layout.weights && !name.empty();
  if (has_name) {
    sections.push_back({store::SectionKind::kWeightName, store::DType::kUInt8, name.size(),
                        name.size(), /*optional=*/true});
  }
  store::ContainerWriter file(path_, store::kTopologyMagic, sections);
  if (has_name) file.stream(sections.size() - 1).Append(std::as_bytes(std::span(name)));
  if (StoreOut()) {
    WriteEdges(out_.get(), out_first, &file, symmetric_ ? "writing edges" : "writing out-edges");
  }
  if (StoreIn()) WriteEdges(in_.get(), in_first, &file, "writing in-edges");
  progress_.Start("making durable", 0);
  store::TopologyProperties properties{};
  properties.num_src = properties.num_dst = report_.num_nodes;
  properties.num_edges = report_.num_edges;
  properties.edge_id_bound = source_.input_rows();
  uint32_t flags = store::kSortedRows;
  if (symmetric_) flags |= store::kSymmetric;
  if (options_.dedup) flags |= store::kMultiEdgesDropped;
  report_.fingerprint = file.Finish(std::bit_cast<store::Properties>(properties), flags);
}

template <class Record>
void Compiler<Record>::WriteEdges(Edges* edges, size_t first_section, store::ContainerWriter* file,
                                  const char* phase) {
  const AdjacencyLayout layout = Layout(report_.num_edges);
  progress_.Start(phase, report_.num_edges);
  AdjacencyWriter writer(layout, file, first_section);
  WriteAdjacency(edges, layout, plan_.leaf, resources_.threads, &writer, &progress_);
}

template <class Id>
TopologyReport Compile(EdgeSource* source, const std::string& path, const TopologyOptions& options,
                       const Resources& resources, Progress* progress) {
  if (source->weighted() || options.edge_ids) {
    return Compiler<RichRecord<Id>>(source, path, options, resources, progress).Run();
  }
  return Compiler<PlainRecord<Id>>(source, path, options, resources, progress).Run();
}

}  // namespace

TopologyReport CompileTopology(EdgeSource* source, const std::string& path,
                               const TopologyOptions& options, const Resources& resources,
                               Progress* progress) {
  if (options.num_nodes.value_or(0) >= kIdLimit) {
    throw InputError("found " + std::to_string(*options.num_nodes) +
                     " nodes, expected at most 2^63 - 1");
  }
  if (!options.weight_name.empty() && !store::IsWeightName(options.weight_name)) {
    throw InputError("weights called '" + options.weight_name +
                     "': expected 1 to 64 letters, digits and underscores");
  }
  if (!resources.wide_records && source->Estimate().max_id <= UINT32_MAX) {
    try {
      return Compile<uint32_t>(source, path, options, resources, progress);
    } catch (const IdsNeed64Bits&) {
      source->Rewind();
    }
  }
  return Compile<uint64_t>(source, path, options, resources, progress);
}

}  // namespace graphzero::compile
