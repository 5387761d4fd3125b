// Edges in any order -> a .gl file, in bounded memory.
//
//   read       relation by relation, several threads read the source and divide the edges by row
//              into buckets, which stay in memory while they fit and go to an unnamed file when
//              they do not;
//   dedup      (on request) buckets are sorted, repeats dropped, survivors divided again;
//   write      threads sort buckets and append them to the sections, in order.
//
// All relations are divided before the first is written, because the sizes of all sections must be
// known to write the file once; they share one budget of memory. The bytes of the result depend on
// the edges and options only, not on memory or threads. A graph without types is one relation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/edges/edge_source.h"
#include "compile/edges/relation_compiler.h"
#include "compile/job.h"
#include "store/container/container_format.h"

namespace graphzero::compile {

// A graph without types.
struct TopologyOptions : RelationOptions {
  // If absent: the number of node times or, without those, the largest id plus one.
  std::optional<uint64_t> num_nodes = {};
  // One time for each node, if nodes have times. Not owned.
  std::optional<std::span<const int64_t>> node_times = {};
  // The unit of all times: D, s, ms, us, ns; empty: the file records no unit.
  std::string time_unit = {};
};

struct TopologyReport : RelationReport {
  uint64_t num_nodes = 0;
  uint64_t spilled_bytes = 0;  // bytes that did not fit into memory
  store::Fingerprint fingerprint{};
};

// Creates `path`, which must not exist. Row numbers of the source are used when it is weighted or
// timed, nodes have times, or edge ids are stored. On any exception a partial file may be left
// there, which no reader accepts. Throws InputError for what the user can correct.
TopologyReport CompileTopology(const OpenEdges& open, const std::string& path,
                               const TopologyOptions& options, const Resources& resources,
                               Progress* progress);

// One type of a typed graph.
struct TypeInput {
  std::string name;
  uint64_t count = 0;
  std::optional<std::span<const int64_t>> times = {};  // one for each node. Not owned
};

struct RelationInput {
  uint32_t source = 0;  // number of a type
  std::string name;
  uint32_t target = 0;
  OpenEdges open;
  RelationOptions options = {};
};

// A view: a stored relation with its ends exchanged.
struct ViewInput {
  std::string name;
  uint32_t base = 0;  // number of a relation
};

struct GraphInput {
  std::vector<TypeInput> types;
  std::vector<RelationInput> relations;
  std::vector<ViewInput> views;
  // Pairs of relations that hold each other's edges reversed.
  std::vector<std::pair<uint32_t, uint32_t>> inverses;
  std::string time_unit = {};
};

struct GraphReport {
  std::vector<RelationReport> relations;
  uint64_t spilled_bytes = 0;
  store::Fingerprint fingerprint{};
};

GraphReport CompileGraph(const GraphInput& graph, const std::string& path,
                         const Resources& resources, Progress* progress);

}  // namespace graphzero::compile
