// Edges in any order -> a .gl file, in bounded memory.
//
//   read       several threads read the source and divide the edges by row into buckets, which
//              stay in memory while they fit and go to an unnamed file when they do not;
//   dedup      (on request) buckets are sorted, repeats dropped, survivors divided again;
//   write      threads sort buckets and append them to the sections, in order.
//
// The bytes of the result depend on the edges and options only, not on memory or threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compile/edges/edge_source.h"
#include "compile/job.h"
#include "store/container_format.h"

namespace graphzero::compile {

struct TopologyOptions {
  // Stores the reverse of every edge too (a self-loop once); one adjacency then serves both ways.
  bool undirected = false;
  // The source already holds the reverse of every edge: marks the file symmetric as it is.
  bool symmetric_source = false;
  // Which adjacencies to store. A symmetric file has only `out`, whatever these say.
  bool out = true;
  bool in = true;
  // Keeps the first of the edges between the same two nodes.
  bool dedup = false;
  // Stores input row numbers.
  bool edge_ids = false;
  // Without it, the largest id plus one. The source has checked that ids are below it.
  std::optional<uint64_t> num_nodes;
  // What the weights are called where they come from; empty: nothing is said about it.
  std::string weight_name = {};
};

struct TopologyReport {
  uint64_t num_nodes = 0;
  uint64_t num_edges = 0;  // slots of one adjacency
  uint64_t input_rows = 0;
  uint64_t dropped = 0;        // slots that dedup removed
  uint64_t spilled_bytes = 0;  // that did not fit into memory
  store::Fingerprint fingerprint{};
};

// Creates `path`, which must not exist. Row numbers of the source are used when it is weighted or
// edge ids are stored. On any exception a partial file may be left there, which no
// reader accepts.
TopologyReport CompileTopology(EdgeSource* source, const std::string& path,
                               const TopologyOptions& options, const Resources& resources,
                               Progress* progress);

}  // namespace graphzero::compile
