// Edges by the numbers that an IdCollector gave their ends, kept in an unnamed file until the
// numbering is complete: then they are read back with new ids, and the input need not be read and
// looked up a second time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/spill/run_file.h"

namespace graphzero::compile {

// Consecutive edges. There are weights and times for all edges of an input or for none; row numbers
// only where rows of the input gave no edge.
struct SpooledEdges {
  std::vector<uint32_t> src;
  std::vector<uint32_t> dst;
  std::vector<float> weights;
  std::vector<int64_t> rows;
  std::vector<int64_t> times;
};

// What the numbers of an IdCollector become. Shared: several relations number the same nodes.
using NewIds = std::shared_ptr<const std::vector<uint32_t>>;

// Used by one thread until Finish().
class EdgeSpool {
 public:
  explicit EdgeSpool(const std::string& temp_dir) : file_(temp_dir) {}

  // Appends a chunk. `weights`, `rows` and `times` may be empty.
  void Add(std::span<const uint32_t> src, std::span<const uint32_t> dst,
           std::span<const float> weights, std::span<const int64_t> rows,
           std::span<const int64_t> times);
  // After the last Add(): (*sources)[number] is what the source of an edge becomes.
  void Finish(NewIds sources, NewIds targets);

  // Reads a chunk back, with new ids. Several threads may.
  SpooledEdges Read(size_t chunk) const;

 private:
  struct Chunk {
    RunFile::Run run;
    size_t edges;
    bool weighted;
    bool numbered;
    bool timed;
  };

  RunFile file_;
  std::vector<Chunk> chunks_;
  NewIds source_ids_;
  NewIds target_ids_;
};

}  // namespace graphzero::compile
