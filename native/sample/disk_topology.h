// A topology that does not fit into memory: what a hop or a step needs of it is known before it is
// touched, and is read at full depth (io/) instead of fault by fault.
//
// Reads go through the page cache: hubs are asked for again and again, and their pages stay there.
// Values come straight from the reads and not from the mapping, so that a page which is pushed out
// before its turn costs nothing, and a failing disk is an error and not a signal.
//
// Where rows begin can be kept in memory (row_starts.h): then only what lies in the rows is read.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "io/io_counters.h"
#include "io/random_file.h"
#include "io/range_read.h"
#include "io/scattered_read.h"
#include "sample/row_starts.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

struct DiskCounters {
  std::atomic<uint64_t> calls = 0;
  std::atomic<uint64_t> items = 0;  // rows looked up, neighbours and weights read
  io::IoCounters io;
};

// Thread-safe. Keeps the mapped file alive. All calls throw IoError with file and offset.
class DiskTopology {
 public:
  // Tells the kernel not to read ahead when the mapping is touched after all (views of rows do).
  static std::shared_ptr<const DiskTopology> Open(const store::TopologyReader& graph);

  ~DiskTopology();

  // Where the rows of an adjacency begin, if that is in memory; else null. Stays.
  const RowStarts* Starts(const store::Adjacency& adjacency) const {
    const KeptStarts* const kept = Kept(adjacency);
    return kept == nullptr ? nullptr : kept->starts.load(std::memory_order_acquire);
  }
  // From now on Starts() gives these, unless it has some already.
  void Keep(const store::Adjacency& adjacency, std::unique_ptr<const RowStarts> starts) const;
  // What is kept takes so many bytes.
  uint64_t starts_bytes() const;

  // begins[i] and degrees[i] of the row nodes[i], read from the file, as far as it can be trusted:
  // false if a pair is damaged, and `damaged` is then the first such place. Needs nodes below
  // adjacency.rows.
  bool ReadRows(const store::Adjacency& adjacency, std::span<const uint64_t> nodes,
                uint64_t* begins, uint64_t* degrees, size_t* damaged) const;

  // to[i] = the value at slots[i] of an array in the file. Unsigned integers become To; times and
  // floats stay what they are.
  template <class From, class To>
  void ReadSlots(const From* array, std::span<const uint64_t> slots, To* to) const;

  // Copies ranges of the file to places of the caller's. Reorders them.
  void ReadRanges(std::span<io::WantedRange> ranges) const;

  // The place in the file of something in its mapping.
  uint64_t OffsetOf(const void* in_mapping) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(in_mapping) -
                                 file_.file().bytes().data());
  }

  const DiskCounters& counters() const { return counters_; }

 private:
  // Owned by the topology. No lock guards it, which a forked child could find held.
  struct KeptStarts {
    explicit KeptStarts(const uint64_t* of) : indptr(of) {}
    const uint64_t* const indptr;  // of the adjacency, which it is known by
    mutable std::atomic<const RowStarts*> starts = nullptr;
  };

  DiskTopology(const store::TopologyReader& graph, io::RandomFile file);
  const KeptStarts* Kept(const store::Adjacency& adjacency) const;
  void Read(const io::ItemLayout& layout, std::span<io::WantedItem> wanted,
            io::ItemSink& sink) const;

  io::RandomFile file_;
  std::deque<KeptStarts> starts_;  // one for each stored adjacency, by the address of its indptr
  mutable DiskCounters counters_;
};

}  // namespace graphzero::sample
