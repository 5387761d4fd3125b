// A topology that does not fit into memory: all reads of a hop or a step are known beforehand and
// go to the disk at full queue depth (io/), instead of one page fault after the other.
//
// Reads go through the page cache: hubs are read again and again, and their pages stay there. Only
// where calls together want most of the file, and it is not in memory, they go around it.
// Values are taken from the reads and not from the mapping, so that a page that is evicted before
// its values are used costs nothing, and a failing disk is an error and not a signal.
//
// Where rows begin can be kept in memory (row_starts.h): then only what lies in the rows is read.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "io/disk_draws.h"
#include "io/disk_rates.h"
#include "io/io_counters.h"
#include "io/random_file.h"
#include "io/range_read.h"
#include "io/sweep.h"
#include "sample/rows/row_starts.h"
#include "store/topology/topology_reader.h"

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

  // Where the rows of an adjacency begin, if that is in memory; else null. Valid as long as this
  // object.
  const RowStarts* Starts(const store::Adjacency& adjacency) const {
    const KeptStarts* const kept = Kept(adjacency);
    return kept == nullptr ? nullptr : kept->starts.load(std::memory_order_acquire);
  }
  // Makes Starts() return these from now on, unless it has some already.
  void Keep(const store::Adjacency& adjacency, std::unique_ptr<const RowStarts> starts) const;
  // The memory that all kept row starts take.
  uint64_t starts_bytes() const;

  // Reads begins[i] and degrees[i] of the row nodes[i] from the file. Returns false if a pair of
  // bounds is damaged; `damaged` is then the first such i. Needs nodes below adjacency.rows.
  bool ReadRows(const store::Adjacency& adjacency, std::span<const uint64_t> nodes,
                uint64_t* begins, uint64_t* degrees, size_t* damaged) const;

  // to[i] = the value at slots[i] of an array in the file. Unsigned integers are converted to To;
  // times and floats keep their type.
  template <class From, class To>
  void ReadSlots(const From* array, std::span<const uint64_t> slots, To* to) const;

  // Copies ranges of the file to the caller's memory; many short ones in sweeps, together with the
  // reads of other calls. Reorders `ranges`.
  void ReadRanges(std::span<io::WantedRange> ranges) const;

  // Samples that are being drawn from the disk of the file.
  io::DiskDraws* draws() const { return draws_; }

  // The place in the file of something in its mapping.
  uint64_t OffsetOf(const void* in_mapping) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(in_mapping) -
                                 file_.file().bytes().data());
  }

  // As those of gather::Column. Nothing is measured where there is no way around the page cache.
  std::optional<io::DiskRates> MeasureDisk() const;
  // Around the page cache, items with a gap of up to this many bytes between them share a read.
  void SetMergeGap(uint64_t bytes) const { merge_gap_ = io::ClampGap(bytes); }
  uint64_t merge_gap() const { return merge_gap_.load(std::memory_order_relaxed); }

  const DiskCounters& counters() const { return counters_; }

 private:
  // Owned by the topology. No lock guards it, because a forked child could find the lock held.
  struct KeptStarts {
    explicit KeptStarts(const uint64_t* of) : indptr(of) {}
    const uint64_t* const indptr;  // identifies the adjacency
    mutable std::atomic<const RowStarts*> starts = nullptr;
  };

  DiskTopology(const store::TopologyReader& graph, io::RandomFile file);
  const KeptStarts* Kept(const store::Adjacency& adjacency) const;
  void Read(const io::ItemLayout& layout, std::span<io::WantedItem> wanted,
            io::ItemSink& sink) const;
  void ReadInSweeps(std::span<const io::WantedRange> ranges) const;

  io::RandomFile file_;
  std::optional<io::RandomFile> direct_;  // the same, around the page cache, where that is possible
  mutable io::Sweeps sweeps_;
  mutable std::atomic<uint64_t> merge_gap_ = io::kDirectGap;
  std::deque<KeptStarts> starts_;  // one for each stored adjacency, by the address of its indptr
  io::DiskDraws* const draws_;
  mutable DiskCounters counters_;
};

}  // namespace graphzero::sample
