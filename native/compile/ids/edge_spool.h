// Edges by the numbers that an IdCollector gave their ends, kept in an unnamed file until the
// numbering is complete: then they are read back with new ids, and the input need not be read and
// looked up a second time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compile/spill/run_file.h"

namespace graphzero::compile {

// Consecutive edges. There are weights for all edges of an input or for none; row numbers only
// where rows of the input gave no edge.
struct SpooledEdges {
  std::vector<uint32_t> src;
  std::vector<uint32_t> dst;
  std::vector<float> weights;
  std::vector<int64_t> rows;
};

// Used by one thread until Finish().
class EdgeSpool {
 public:
  explicit EdgeSpool(const std::string& temp_dir) : file_(temp_dir) {}

  // Appends a chunk. `weights` and `rows` may be empty.
  void Add(std::span<const uint32_t> src, std::span<const uint32_t> dst,
           std::span<const float> weights, std::span<const int64_t> rows);
  // After the last Add(): new_ids[number] is what each end becomes.
  void Finish(std::vector<uint32_t> new_ids);

  // Reads a chunk back, with new ids. Several threads may.
  SpooledEdges Read(size_t chunk) const;

 private:
  struct Chunk {
    RunFile::Run run;
    size_t edges;
    bool weighted;
    bool numbered;
  };

  RunFile file_;
  std::vector<Chunk> chunks_;
  std::vector<uint32_t> new_ids_;
};

}  // namespace graphzero::compile
