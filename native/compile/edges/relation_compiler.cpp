#include "compile/edges/relation_compiler.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <type_traits>
#include <utility>

#include "base/errors.h"
#include "base/team.h"
#include "compile/edges/adjacency_compiler.h"
#include "compile/edges/adjacency_writer.h"
#include "compile/edges/edge_dedup.h"
#include "compile/edges/edge_partition.h"
#include "compile/edges/memory_plan.h"
#include "store/topology/topology_format.h"

namespace graphzero::compile {
namespace {

// Thrown when 32-bit records meet a larger id; the relation then starts over with 64-bit ones.
struct IdsNeed64Bits {};

template <class Record>
class RelationCompilerOf final : public RelationCompiler {
 public:
  RelationCompilerOf(std::shared_ptr<EdgeSource> source, const RelationOptions& options,
                     RelationContext context)
      : RelationCompiler(options, std::move(context)),
        source_(std::move(source)),
        estimate_(source_->Estimate()),
        plan_(PlanMemory(*context_.resources, estimate_.edges * (options.undirected ? 2 : 1),
                         sizeof(Record), Directions(),
                         context_.extents ? context_.extents->extent_bytes() : 0)) {
    if (!context_.extents) {
      context_.extents = std::make_shared<ExtentStore>(plan_.extents_budget, plan_.extent_bytes,
                                                       context_.resources->temp_dir);
    }
    source_name_ = source_->name();
    weighted_ = source_->weighted();
    timed_ = source_->timed();
  }

  // Reads the source to its end and lets go of it.
  void Read();

  std::vector<store::SectionSpec> Sections(uint64_t sources, uint64_t targets) const override;
  void Write(uint64_t sources, uint64_t targets, size_t first_section,
             store::ContainerWriter* file) override;

 private:
  using Edges = EdgePartition<Record>;

  uint64_t Directions() const {
    return uint64_t{options_.store_out()} + uint64_t{options_.store_in()};
  }

  std::unique_ptr<Edges> NewPartition(const RelationEnd& rows) const {
    const uint64_t max_id = rows.count ? std::max<uint64_t>(*rows.count, 1) - 1 : estimate_.max_id;
    return std::make_unique<Edges>(context_.extents.get(), max_id, plan_.buckets,
                                   context_.resources->threads);
  }

  void NewPartitions() {
    if (options_.store_out()) out_ = NewPartition(context_.source);
    if (options_.store_in()) in_ = NewPartition(context_.target);
  }

  // Ends writing. bounds_ are those of (source, target) pairs, so the in-partition gets them
  // turned.
  void ClosePartitions() {
    if (out_) out_->Close(SlotBounds(bounds_, context_.target.times));
    if (in_) in_->Close(SlotBounds(Turned(bounds_), context_.source.times));
    report_.num_edges = (out_ ? *out_ : *in_).total_records();
  }

  KeyBounds SlotBounds(KeyBounds bounds, const NodeTimes& neighbours) const;
  void Divide(const EdgeBatch& batch, int rank, KeyBounds* bounds);
  void NoteTimes(const EdgeBatch& batch);
  void NoteTime(const Record& record);
  void Dedup();
  AdjacencyLayout OutLayout(uint64_t sources, uint64_t targets) const;
  AdjacencyLayout InLayout(uint64_t sources, uint64_t targets) const;
  AdjacencyLayout Layout(uint64_t rows, uint64_t neighbours, bool timed, bool differs) const;
  void WriteEdges(std::unique_ptr<Edges>* edges, const AdjacencyLayout& layout,
                  const int64_t* neighbour_times, bool by_time, size_t first_section,
                  store::ContainerWriter* file, const char* phase);

  std::shared_ptr<EdgeSource> source_;
  const EdgeEstimate estimate_;
  const MemoryPlan plan_;
  KeyBounds bounds_;  // of (source, target) pairs
  // Whether any slot of the adjacency is later than its edge. Set only if edges have times.
  std::atomic<bool> out_differs_{false};
  std::atomic<bool> in_differs_{false};
  std::unique_ptr<Edges> out_;
  std::unique_ptr<Edges> in_;
};

template <class Record>
void RelationCompilerOf<Record>::Read() {
  Progress& progress = *context_.progress;
  // Dedup drops repeats from the out-partition and divides the remaining edges again for both
  // directions.
  if (options_.dedup) {
    out_ = NewPartition(context_.source);
  } else {
    NewPartitions();
  }
  progress.Start("reading edges", estimate_.input_units);
  std::mutex mutex;
  std::atomic<bool> failed{false};
  base::RunTeam(context_.resources->threads, [&](int rank) {
    EdgeBatch batch;
    KeyBounds bounds;
    try {
      while (!failed && source_->Next(&batch)) {
        progress.ThrowIfCancelled();
        Divide(batch, rank, &bounds);
        progress.Add(batch.input_units);
      }
    } catch (...) {
      failed = true;
      throw;
    }
    std::lock_guard lock(mutex);
    bounds_ = Joined(bounds_, bounds);
  });
  source_->ThrowIfFailed();
  if (options_.undirected) bounds_ = Joined(bounds_, Turned(bounds_));
  max_id_ = std::max(bounds_.max_row, bounds_.max_neighbour);
  report_.input_rows = source_->input_rows();
  if (bounds_.min_time <= bounds_.max_time) {
    report_.first_time = TimeOfKey(bounds_.min_time);
    report_.last_time = TimeOfKey(bounds_.max_time);
  }
  source_.reset();
  if (options_.dedup) {
    Dedup();
  } else {
    ClosePartitions();
  }
}

// Returns `bounds` with the bounds of slot times in place of those of edge times.
template <class Record>
KeyBounds RelationCompilerOf<Record>::SlotBounds(KeyBounds bounds,
                                                 const NodeTimes& neighbours) const {
  if (!neighbours.present()) return bounds;
  if (Record::kTimed) {
    bounds.min_time = std::max(bounds.min_time, neighbours.min_key);
  } else {
    bounds.min_time = neighbours.min_key;
  }
  bounds.max_time = std::max(bounds.max_time, neighbours.max_key);
  return bounds;
}

template <class Record>
void RelationCompilerOf<Record>::Divide(const EdgeBatch& batch, int rank, KeyBounds* bounds) {
  for (size_t i = 0; i < batch.size; ++i) {
    bounds->max_row = std::max(bounds->max_row, batch.src[i]);
    bounds->max_neighbour = std::max(bounds->max_neighbour, batch.dst[i]);
  }
  if (sizeof(typename Record::Id) == 4 &&
      std::max(bounds->max_row, bounds->max_neighbour) > UINT32_MAX) {
    throw IdsNeed64Bits();
  }
  const auto push = [&](Edges* to, uint64_t row, uint64_t neighbour, size_t i) {
    EdgeValues values;
    if constexpr (Record::kRich) {
      values.edge = batch.Row(i);
      values.weight = weighted_ ? batch.weight[i] : 0.0f;
    }
    if constexpr (Record::kTimed) values.time = batch.time[i];
    to->Push(to->writer(rank), Record::Make(row, neighbour, values));
  };
  if constexpr (Record::kRich) {
    for (size_t i = 0; i < batch.size; ++i) {
      bounds->max_edge = std::max(bounds->max_edge, batch.Row(i));
    }
  }
  if constexpr (Record::kTimed) {
    for (size_t i = 0; i < batch.size; ++i) {
      bounds->min_time = std::min(bounds->min_time, TimeKey(batch.time[i]));
      bounds->max_time = std::max(bounds->max_time, TimeKey(batch.time[i]));
    }
    if (!options_.dedup) NoteTimes(batch);
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

// Notes whether slots are later than their edges: only then do edges with times need slot times
// too.
template <class Record>
void RelationCompilerOf<Record>::NoteTimes(const EdgeBatch& batch) {
  const auto later = [&](const NodeTimes& times, const std::vector<uint64_t>& nodes) {
    bool any = false;
    if (!times.present()) return any;
    for (size_t i = 0; i < batch.size; ++i) any |= times.values[nodes[i]] > batch.time[i];
    return any;
  };
  const bool target_later = later(context_.target.times, batch.dst);
  const bool source_later = later(context_.source.times, batch.src);
  // Both ends of an undirected edge are neighbours in the out-adjacency.
  if (target_later || (options_.undirected && source_later)) out_differs_ = true;
  if (source_later) in_differs_ = true;
}

// Does the same as NoteTimes() for an out-edge that dedup keeps.
template <class Record>
void RelationCompilerOf<Record>::NoteTime(const Record& record) {
  if constexpr (Record::kTimed) {
    const auto later = [&](const NodeTimes& times, uint64_t node) {
      return times.present() && times.values[node] > record.rest.time();
    };
    if (later(context_.target.times, record.rest.neighbour)) out_differs_ = true;
    if (later(context_.source.times, record.row)) in_differs_ = true;
  }
}

template <class Record>
void RelationCompilerOf<Record>::Dedup() {
  std::unique_ptr<Edges> from = std::move(out_);
  from->Close(bounds_);
  const uint64_t before = from->total_records();
  NewPartitions();
  context_.progress->Start("dropping repeated edges", before);
  DropRepeatedEdges(from.get(), plan_.leaf, context_.resources->threads, context_.progress,
                    [this](int rank, const Record& record) {
                      NoteTime(record);
                      if (out_) out_->Push(out_->writer(rank), record);
                      if (in_) in_->Push(in_->writer(rank), Turned(record));
                    });
  ClosePartitions();
  report_.dropped = before - report_.num_edges;
}

template <class Record>
AdjacencyLayout RelationCompilerOf<Record>::Layout(uint64_t rows, uint64_t neighbours, bool timed,
                                                   bool differs) const {
  constexpr uint64_t kNarrow = uint64_t{1} << 32;
  return {.rows = rows,
          .edges = report_.num_edges,
          .wide_neighbours = neighbours > kNarrow,
          .weights = weighted_,
          .edge_ids = options_.edge_ids,
          .wide_edge_ids = report_.input_rows > kNarrow,
          .times = timed_,
          .slot_times = timed && (!timed_ || differs)};
}

template <class Record>
AdjacencyLayout RelationCompilerOf<Record>::OutLayout(uint64_t sources, uint64_t targets) const {
  return Layout(sources, targets, out_timed(), out_differs_);
}

template <class Record>
AdjacencyLayout RelationCompilerOf<Record>::InLayout(uint64_t sources, uint64_t targets) const {
  return Layout(targets, sources, in_timed(), in_differs_);
}

template <class Record>
std::vector<store::SectionSpec> RelationCompilerOf<Record>::Sections(uint64_t sources,
                                                                     uint64_t targets) const {
  using store::SectionKind;
  std::vector<store::SectionSpec> sections;
  const auto add = [&](const AdjacencyLayout& layout, SectionKind indptr) {
    for (const store::SectionSpec& spec : SectionsOf(layout, indptr, context_.number)) {
      sections.push_back(spec);
    }
  };
  if (out_) add(OutLayout(sources, targets), SectionKind::kOutIndptr);
  if (in_) add(InLayout(sources, targets), SectionKind::kInIndptr);
  const std::string& name = options_.weight_name;
  if (weighted_ && !name.empty()) {
    sections.push_back({SectionKind::kWeightName, store::DType::kUInt8, name.size(), name.size(),
                        /*optional=*/true, context_.number});
  }
  return sections;
}

template <class Record>
void RelationCompilerOf<Record>::Write(uint64_t sources, uint64_t targets, size_t first_section,
                                       store::ContainerWriter* file) {
  const std::string& name = options_.weight_name;
  if (weighted_ && !name.empty()) {
    const size_t last = first_section + Sections(sources, targets).size() - 1;
    file->stream(last).Append(std::as_bytes(std::span(name)));
  }
  if (out_) {
    const AdjacencyLayout layout = OutLayout(sources, targets);
    WriteEdges(&out_, layout, context_.target.times.values, out_timed(), first_section, file,
               options_.symmetric() ? "writing edges" : "writing out-edges");
    first_section += SectionsOf(layout, store::SectionKind::kOutIndptr, 0).size();
  }
  if (in_) {
    WriteEdges(&in_, InLayout(sources, targets), context_.source.times.values, in_timed(),
               first_section, file, "writing in-edges");
  }
}

template <class Record>
void RelationCompilerOf<Record>::WriteEdges(std::unique_ptr<Edges>* edges,
                                            const AdjacencyLayout& layout,
                                            const int64_t* neighbour_times, bool by_time,
                                            size_t first_section, store::ContainerWriter* file,
                                            const char* phase) {
  context_.progress->Start(phase, report_.num_edges);
  AdjacencyWriter writer(layout, file, first_section);
  const auto write = [&](const auto& order) {
    WriteAdjacency(edges->get(), order, layout, plan_.leaf, context_.resources->threads, &writer,
                   context_.progress);
  };
  if constexpr (Record::kRich) {
    if (by_time) {
      write(ByTime<Record>{neighbour_times});
    } else if constexpr (!Record::kTimed) {
      write(ByNeighbour<Record>{});
    }
  } else {
    write(ByNeighbour<Record>{});
  }
  edges->reset();
}

template <class Record>
std::unique_ptr<RelationCompiler> Run(const std::shared_ptr<EdgeSource>& source,
                                      const RelationOptions& options,
                                      const RelationContext& context) {
  auto compiler = std::make_unique<RelationCompilerOf<Record>>(source, options, context);
  compiler->Read();
  return compiler;
}

template <class Id>
std::unique_ptr<RelationCompiler> RunWith(const std::shared_ptr<EdgeSource>& source,
                                          const RelationOptions& options,
                                          const RelationContext& context, bool numbered) {
  if (source->timed()) return Run<TimedRecord<Id>>(source, options, context);
  if (source->weighted() || numbered) return Run<RichRecord<Id>>(source, options, context);
  return Run<PlainRecord<Id>>(source, options, context);
}

}  // namespace

uint32_t RelationCompiler::flags() const {
  uint32_t flags = 0;
  if (options_.store_out()) flags |= out_timed() ? store::kTimeOrdered : store::kSortedRows;
  if (options_.store_in()) flags |= in_timed() ? store::kTimeOrdered : store::kSortedRows;
  if (options_.symmetric()) flags |= store::kSymmetric;
  if (options_.dedup || options_.distinct_source) flags |= store::kMultiEdgesDropped;
  return flags;
}

std::unique_ptr<RelationCompiler> ReadRelation(const OpenEdges& open,
                                               const RelationOptions& options,
                                               RelationContext context) {
  const IdLimits limits{.source = context.source.count.value_or(kIdLimit),
                        .target = context.target.count.value_or(kIdLimit),
                        .source_type = context.source.type,
                        .target_type = context.target.type};
  // Rows that are ordered by their neighbours' times need row numbers too, to order equal times.
  const bool numbered = options.edge_ids ||
                        (options.store_out() && context.target.times.present()) ||
                        (options.store_in() && context.source.times.present());
  const std::shared_ptr<EdgeSource> source = open(limits, numbered);
  if (!context.resources->wide_records && source->Estimate().max_id <= UINT32_MAX) {
    try {
      return RunWith<uint32_t>(source, options, context, numbered);
    } catch (const IdsNeed64Bits&) {
      source->Rewind();
    }
  }
  return RunWith<uint64_t>(source, options, context, numbered);
}

}  // namespace graphzero::compile
