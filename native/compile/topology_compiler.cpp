#include "compile/topology_compiler.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

#include "compile/adjacency_writer.h"
#include "compile/edge_partition.h"
#include "compile/memory_plan.h"
#include "compile/row_sorter.h"
#include "store/bytes.h"
#include "store/errors.h"
#include "store/topology_format.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kRepeatedAtOnce = uint64_t{1} << 14;
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
  void WriteAdjacency(Edges* edges, AdjacencyWriter* writer, const char* phase);

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
  RunTeam(resources_.threads, [&](int rank) {
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
    throw InputError("the input has no edges; give the number of nodes (--num-nodes)");
  } else {
    report_.num_nodes = max_id + 1;
    if (max_id >= kPlausibleNodes && max_id / kNodesPerEdge > slots) {
      throw InputError("the largest node id is " + std::to_string(max_id) + " but there are only " +
                       std::to_string(slots) +
                       " edges: ids are expected to run from 0 to the number "
                       "of nodes; if they do, give it (--num-nodes)");
    }
  }
  if (report_.num_nodes > kMostNodes) {
    throw InputError("found " + std::to_string(report_.num_nodes) + " nodes, expected at most " +
                     std::to_string(kMostNodes) + ", for which one file has room");
  }
}

template <class Record>
void Compiler<Record>::Dedup() {
  std::unique_ptr<Edges> from = std::move(out_);
  const uint64_t before = from->total_records();
  if (StoreOut()) out_ = NewPartition();
  if (StoreIn()) in_ = NewPartition();
  progress_.Start("dropping repeated edges", before);
  std::atomic<size_t> next{0};
  RunTeam(resources_.threads, [&](int rank) {
    RowSorter<Record> sorter;
    const auto push = [&](uint64_t row, const typename Record::Slot& slot) {
      Record record{static_cast<typename Record::Id>(row), {}};
      if constexpr (Record::kRich) {
        record.rest = slot;
      } else {
        record.neighbour = slot.neighbour;
      }
      if (out_) out_->Push(out_->writer(rank), record);
      if (!in_) return;
      Record turned = record;
      turned.row = slot.neighbour;
      if constexpr (Record::kRich) {
        turned.rest.neighbour = record.row;
      } else {
        turned.neighbour = record.row;
      }
      in_->Push(in_->writer(rank), turned);
    };
    for (size_t bucket; (bucket = next++) < from->buckets();) {
      progress_.ThrowIfCancelled();
      const uint64_t records = from->records(bucket);
      // Edge numbers divide the last level, so its first leaf has the first of all repeats.
      std::optional<std::pair<uint64_t, uint64_t>> last_pair;
      from->ForEachLeaf(
          bucket, plan_.leaf,
          [&](const Leaf<Record>& leaf) {
            progress_.ThrowIfCancelled();
            sorter.Sort(leaf);
            sorter.DropRepeats();
            auto slot = sorter.slots().begin();
            for (const RowCount& row : sorter.rows()) {
              for (uint64_t i = 0; i < row.count; ++i, ++slot) {
                const std::pair<uint64_t, uint64_t> pair{row.row, slot->neighbour};
                if (last_pair == pair) continue;
                last_pair = pair;
                push(row.row, *slot);
              }
            }
          },
          [&](const Record& record, uint64_t) { push(record.row, record.slot()); });
      progress_.Add(records);
    }
  });
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
  store::ContainerWriter file(path_, store::kTopologyMagic, sections);
  if (StoreOut()) {
    AdjacencyWriter writer(layout, &file, out_first);
    WriteAdjacency(out_.get(), &writer, symmetric_ ? "writing edges" : "writing out-edges");
  }
  if (StoreIn()) {
    AdjacencyWriter writer(layout, &file, in_first);
    WriteAdjacency(in_.get(), &writer, "writing in-edges");
  }
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

// One thread's columns of a sorted leaf, ready to be appended.
template <class Record>
struct Columns {
  std::vector<float> weights;
  std::vector<uint64_t> edge_ids;

  void Fill(std::span<const typename Record::Slot> slots, const AdjacencyLayout& layout) {
    if constexpr (Record::kRich) {
      if (layout.weights) {
        weights.resize(slots.size());
        for (size_t i = 0; i < slots.size(); ++i) weights[i] = slots[i].weight;
      }
      if (layout.edge_ids) {
        edge_ids.resize(slots.size());
        for (size_t i = 0; i < slots.size(); ++i) edge_ids[i] = slots[i].edge();
      }
    }
  }
};

template <class Record>
void Compiler<Record>::WriteAdjacency(Edges* edges, AdjacencyWriter* writer, const char* phase) {
  using Id = typename Record::Id;
  const AdjacencyLayout layout = Layout(report_.num_edges);
  progress_.Start(phase, report_.num_edges);
  std::atomic<size_t> next{0};
  Turnstile turn;
  const auto append_ids = [&](std::span<const Id> ids) {
    if constexpr (sizeof(Id) == 8) {
      if (!layout.wide_neighbours) {
        const std::vector<uint32_t> narrow(ids.begin(), ids.end());
        return writer->AppendNeighbours(std::span<const uint32_t>(narrow));
      }
      writer->AppendNeighbours(ids);
    } else {
      if (layout.wide_neighbours) {
        const std::vector<uint64_t> wide(ids.begin(), ids.end());
        return writer->AppendNeighbours(std::span<const uint64_t>(wide));
      }
      writer->AppendNeighbours(ids);
    }
  };
  RunTeam(resources_.threads, [&](int) {
    RowSorter<Record> sorter;
    Columns<Record> columns;
    std::vector<Id> ids;
    try {
      for (size_t bucket; (bucket = next++) < edges->buckets();) {
        progress_.ThrowIfCancelled();
        edges->ForEachLeaf(
            bucket, plan_.leaf,
            [&](const Leaf<Record>& leaf) {
              progress_.ThrowIfCancelled();
              sorter.Sort(leaf);
              const auto slots = sorter.slots();
              columns.Fill(slots, layout);
              if constexpr (Record::kRich) {
                ids.resize(slots.size());
                for (size_t i = 0; i < slots.size(); ++i) ids[i] = slots[i].neighbour;
              }
              if (!turn.Wait(bucket)) throw StoppedByOther();
              writer->StartRows(sorter.rows());
              if constexpr (Record::kRich) {
                append_ids(ids);
              } else {
                append_ids({&slots.data()->neighbour, slots.size()});
              }
              if (layout.weights) writer->AppendWeights(columns.weights);
              if (layout.edge_ids) writer->AppendEdgeIds(columns.edge_ids);
              progress_.Add(slots.size());
            },
            [&](const Record& record, uint64_t count) {
              if (!turn.Wait(bucket)) throw StoppedByOther();
              const RowCount row{record.row, count};
              writer->StartRows({&row, 1});
              ids.assign(std::min(count, kRepeatedAtOnce), record.slot().neighbour);
              for (uint64_t left = count; left > 0;) {
                const uint64_t now = std::min<uint64_t>(left, ids.size());
                append_ids(std::span<const Id>(ids).first(now));
                left -= now;
              }
              progress_.Add(count);
            });
        if (!turn.Wait(bucket)) throw StoppedByOther();
        turn.Done(bucket);
      }
    } catch (...) {
      turn.Abort();
      throw;
    }
  });
  writer->Finish();
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
