// A topology that does not fit into memory: what a hop needs of it is known before it is touched,
// and is read at full depth (io/) instead of fault by fault.
//
// Reads go through the page cache: hubs are asked for again and again, and their pages stay there.
// Values come straight from the reads and not from the mapping, so that a page which is pushed out
// before its turn costs nothing, and a failing disk is an error and not a signal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "io/io_counters.h"
#include "io/random_file.h"
#include "io/scattered_read.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

struct StagedCounters {
  std::atomic<uint64_t> calls = 0;
  std::atomic<uint64_t> items = 0;  // rows looked up, neighbours and weights read
  io::IoCounters io;
};

// Thread-safe. Keeps the mapped file alive. All calls throw IoError with file and offset.
class StagedTopology {
 public:
  // Tells the kernel not to read ahead when the mapping is touched after all (walks do).
  static std::shared_ptr<const StagedTopology> Open(const store::TopologyReader& graph);

  // begins[i] and degrees[i] of the row nodes[i], as far as it can be trusted: false if a pair is
  // damaged, and `damaged` is then its place. Needs nodes below adjacency.rows.
  bool ReadRows(const store::Adjacency& adjacency, std::span<const uint64_t> nodes,
                uint64_t* begins, uint64_t* degrees, size_t* damaged) const;

  // to[i] = the value of `width` bytes at slots[i] of an array in the file. Unsigned integers
  // become To; 4 bytes of float stay 4 bytes.
  template <class From, class To>
  void ReadSlots(const From* array, std::span<const uint64_t> slots, To* to) const;

  // Brings the pages of these bytes of the mapping into memory, for access that is not known value
  // by value.
  void Touch(std::span<const std::span<const std::byte>> ranges) const;

  const StagedCounters& counters() const { return counters_; }

 private:
  explicit StagedTopology(io::RandomFile file) : file_(std::move(file)) {}
  uint64_t OffsetOf(const void* in_mapping) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(in_mapping) -
                                 file_.file().bytes().data());
  }
  void Read(const io::ItemLayout& layout, std::span<io::WantedItem> wanted,
            io::ItemSink& sink) const;

  io::RandomFile file_;
  mutable StagedCounters counters_;
};

}  // namespace graphzero::sample
