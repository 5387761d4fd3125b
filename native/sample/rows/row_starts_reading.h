// Reads the row starts of a topology that does not fit into memory, adjacency by adjacency, in
// steps between which requests may use the disk.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/ordered_read.h"
#include "sample/rows/disk_topology.h"
#include "sample/rows/row_starts.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

// Every adjacency that the file has, once: those of in-edges, which samples follow, come first.
std::vector<const store::Adjacency*> StoredAdjacencies(const store::TopologyReader& graph);

// The most memory that the row starts of all adjacencies of the topology can take together.
uint64_t MostRowStartsBytes(const store::TopologyReader& graph);

// Used by one thread at a time. Keeps the topology alive.
class RowStartsReading {
 public:
  RowStartsReading(store::TopologyReader graph, std::shared_ptr<const DiskTopology> disk);

  // Reads the next OrderedRead::kStep bytes; returns true while there are more. Keeps the row
  // starts of an adjacency as soon as all of its indptr is read. Skips adjacencies whose row starts
  // are kept already. Throws IoError and std::bad_alloc.
  bool Step();

  // The first section of indptr that is damaged, or empty if none is. No row starts of such an
  // adjacency are kept: a request for a damaged row gets its error when it reads the row.
  const std::string& damage() const { return damage_; }

 private:
  bool BeginNext();
  void Take(std::span<const std::byte> bytes);

  const store::TopologyReader graph_;
  const std::shared_ptr<const DiskTopology> disk_;
  const std::vector<const store::Adjacency*> adjacencies_;
  size_t next_ = 0;  // index in adjacencies_
  std::optional<io::OrderedRead> read_;
  std::optional<RowStartsBuilder> builder_;
  std::string damage_;
};

}  // namespace graphzero::sample
