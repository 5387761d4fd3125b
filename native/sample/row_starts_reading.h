// Reads the row starts of a topology that does not fit into memory, adjacency by adjacency, in
// steps between which others may have the disk.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/ordered_read.h"
#include "sample/disk_topology.h"
#include "sample/row_starts.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

// Every adjacency that the file has, once: those of in-edges, which samples follow, come first.
std::vector<const store::Adjacency*> StoredAdjacencies(const store::TopologyReader& graph);

// No row starts of that topology take more memory, all adjacencies together.
uint64_t MostRowStartsBytes(const store::TopologyReader& graph);

// Used by one thread at a time. Keeps the topology alive.
class RowStartsReading {
 public:
  RowStartsReading(store::TopologyReader graph, std::shared_ptr<const DiskTopology> disk);

  // Reads the next OrderedRead::kStep bytes; true while there are more. What an adjacency's rows
  // begin with is kept as soon as all of it is known; what is kept already is not read again.
  // Throws IoError and std::bad_alloc.
  bool Step();

  // Of an adjacency whose indptr is damaged nothing is kept: whoever asks for a damaged row is told
  // when it is read. Says where; empty if there is none.
  const std::string& damage() const { return damage_; }

 private:
  bool BeginNext();
  void Take(std::span<const std::byte> bytes);

  const store::TopologyReader graph_;
  const std::shared_ptr<const DiskTopology> disk_;
  const std::vector<const store::Adjacency*> adjacencies_;
  size_t next_ = 0;  // of the adjacencies
  std::optional<io::OrderedRead> read_;
  std::optional<RowStartsBuilder> builder_;
  std::string damage_;
};

}  // namespace graphzero::sample
