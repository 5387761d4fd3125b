// The edges of one relation: read and divided by row, later sorted and written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/edges/edge_source.h"
#include "compile/edges/node_times.h"
#include "compile/job.h"
#include "compile/spill/extent_store.h"
#include "store/container/container_writer.h"

namespace graphzero::compile {

struct RelationOptions {
  // Stores the reverse of every edge too (a self-loop once); one adjacency then serves both ways.
  bool undirected = false;
  // The source already holds the reverse of every edge: marks the relation symmetric, adds no
  // edges.
  bool symmetric_source = false;
  // Which adjacencies to store. A symmetric relation has only `out`, whatever these say.
  bool out = true;
  bool in = true;
  // Keeps only the first of the edges between the same two nodes (at the same time, if edges have
  // times).
  bool dedup = false;
  // The source has no two edges between the same two nodes (at one time): sets kMultiEdgesDropped.
  bool distinct_source = false;
  // Stores input row numbers as edge ids.
  bool edge_ids = false;
  // The name of the weights in the input; empty: the file records no name.
  std::string weight_name = {};

  bool symmetric() const { return undirected || symmetric_source; }
  bool store_out() const { return symmetric() || out; }
  bool store_in() const { return !symmetric() && in; }
};

// Opens a source whose ids are below the limits. `number_rows`: the compiler needs
// EdgeBatch::Row().
using OpenEdges = std::function<std::shared_ptr<EdgeSource>(const IdLimits&, bool number_rows)>;

// What became of the edges.
struct RelationReport {
  uint64_t num_edges = 0;  // slots of one adjacency
  uint64_t input_rows = 0;
  uint64_t dropped = 0;  // slots that dedup removed
  // Times of the earliest and the latest edge, if there are edges and they have times.
  std::optional<int64_t> first_time;
  std::optional<int64_t> last_time;
};

// One end of a relation: the number of nodes, if it is known before edges are read, the name of
// their type, and their times.
struct RelationEnd {
  std::optional<uint64_t> count;
  std::string type;
  NodeTimes times;
};

// What relations of one graph share, and the relation's own ends.
struct RelationContext {
  uint32_t number = 0;
  RelationEnd source;
  RelationEnd target;
  const Resources* resources = nullptr;
  Progress* progress = nullptr;
  // Holds the buckets. Null: this is the only relation, and it makes a store of its own.
  std::shared_ptr<ExtentStore> extents;
};

class RelationCompiler {
 public:
  virtual ~RelationCompiler() = default;

  const RelationReport& report() const { return report_; }
  const std::string& source_name() const { return source_name_; }
  uint64_t max_id() const { return max_id_; }  // the largest id at either end; 0 without edges
  // Holds the buckets of this relation.
  const std::shared_ptr<ExtentStore>& extents() const { return context_.extents; }

  // Bits of topology_format.h.
  uint32_t flags() const;
  // The sections of the relation, given the number of nodes at each end.
  virtual std::vector<store::SectionSpec> Sections(uint64_t sources, uint64_t targets) const = 0;
  // Sorts the edges and fills those sections: the streams of `file` from `first_section` on. Call
  // it once.
  virtual void Write(uint64_t sources, uint64_t targets, size_t first_section,
                     store::ContainerWriter* file) = 0;

 protected:
  RelationCompiler(RelationOptions options, RelationContext context)
      : options_(std::move(options)), context_(std::move(context)) {}

  // Whether slots of the out-adjacency, or of the in-adjacency, have times.
  bool out_timed() const { return timed_ || context_.target.times.present(); }
  bool in_timed() const { return timed_ || context_.source.times.present(); }

  const RelationOptions options_;
  RelationContext context_;
  RelationReport report_;
  std::string source_name_;
  uint64_t max_id_ = 0;
  bool weighted_ = false;
  bool timed_ = false;
};

// Reads all edges of a relation, and drops repeated ones if the options say so: several threads
// read the source and divide the edges by row into buckets. Throws what the source throws.
std::unique_ptr<RelationCompiler> ReadRelation(const OpenEdges& open,
                                               const RelationOptions& options,
                                               RelationContext context);

}  // namespace graphzero::compile
