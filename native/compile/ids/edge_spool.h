// Keeps edges in an unnamed file, as the numbers that an IdCollector gave their ends, until the
// numbering is complete. Then the edges are read back with new ids, so that the input need not be
// read and its ids looked up a second time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/spill/run_file.h"

namespace graphzero::compile {

// Consecutive edges. There are weights and times for all edges of an input or for none; there are
// row numbers only if some rows of the input gave no edge.
struct SpooledEdges {
  std::vector<uint32_t> src;
  std::vector<uint32_t> dst;
  std::vector<float> weights;
  std::vector<int64_t> rows;
  std::vector<int64_t> times;
};

// New ids, indexed by the numbers of an IdCollector. Shared, because several relations may have the
// same nodes.
using NewIds = std::shared_ptr<const std::vector<uint32_t>>;

// Used by one thread until Finish().
class EdgeSpool {
 public:
  explicit EdgeSpool(const std::string& temp_dir) : file_(temp_dir) {}

  // Appends a chunk. `weights`, `rows` and `times` may be empty.
  void Add(std::span<const uint32_t> src, std::span<const uint32_t> dst,
           std::span<const float> weights, std::span<const int64_t> rows,
           std::span<const int64_t> times);
  // Call it after the last Add(). (*sources)[number] is the new id of the source with that number.
  void Finish(NewIds sources, NewIds targets);

  // Reads a chunk back, with new ids. Several threads may call it at once.
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
