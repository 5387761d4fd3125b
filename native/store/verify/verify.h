// Reads a whole file and checks every byte, which would make opening slow.
//
// It checks, beyond all that Open() checks:
// - every block against its checksum, and the checksums against the section table;
// - that bytes which belong to no section, and row padding, are zero;
// - indptr: from 0, never falling, up to the number of edges;
// - neighbours and edge ids: below their bounds; rows sorted by (neighbour, edge id) and without
//   repeats where the flags say so;
// - slot times: the later of the edge's and its neighbour's; rows ordered by (slot time, edge id,
//   neighbour) where the flags say so, and without repeats where the flags say so, which are looked
//   for among the first million slots of one slot time; no time is the smallest int64;
// - node times: ascending, or nodes_by_time has each node once in their order, with its time;
// - that the two adjacencies of a relation hold the same edges at the same times, and that a
//   symmetric one holds the reverse of each (by a 64-bit sum of hashes: damage passes it by chance
//   only);
// - weights: finite and not negative; ids of a split: not negative; bools: 0 or 1.
// Files of GraphZero 0.2 have no checksums and no flags: only their values are checked, and damage
// that leaves a possible value is not found.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/matrix/matrix_reader.h"
#include "store/topology/topology_reader.h"

namespace graphzero::store {

struct VerifyOptions {
  int threads = 1;  // at least 1
  // Must be set. Each thread calls it with the number of bytes that it has just read; it may throw
  // to stop.
  std::function<void(uint64_t bytes)> advance;
};

// Each problem as one line: file, section and block or row, found, expected. Empty: the file is
// sound. A block the disk cannot deliver is a problem too. Long lists are cut with a last line that
// says so. Checks the file, without what this process may have written to views of it. Throws
// FormatError if the header or table has been damaged since the file was opened.
std::vector<std::string> Verify(const TopologyReader& graph, const VerifyOptions& options);
std::vector<std::string> Verify(const MatrixReader& matrix, const VerifyOptions& options);

}  // namespace graphzero::store
