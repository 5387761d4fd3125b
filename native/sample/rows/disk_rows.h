// Rows of a topology that does not fit into memory: the same interface as mapped_rows.h, but
// nothing is read through the mapping. Its addresses only tell where in the file something lies.
// All reads of a batch, or of all lanes (row_lanes.h), go to the disk together, at full queue
// depth.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/rows/disk_topology.h"
#include "sample/rows/row_search.h"
#include "sample/rows/rows.h"

namespace graphzero::sample {

// What one lane waits for: a short read, or, if `bytes` is 0, ranges.
struct DiskAsked {
  static constexpr size_t kBlockBytes = 512;

  // The short read: `bytes` from the place of the file that has this address in the mapping, to
  // `block`.
  const void* place = nullptr;
  size_t bytes = 0;
  alignas(uint64_t) std::array<std::byte, kBlockBytes> block;
  // Addresses in the mapping while the lane waits; then copies in memory, which are valid for one
  // turn.
  std::array<std::span<const std::byte>, 3> ranges;
  bool waiting = false;

  bool served() const { return !waiting; }
};

// Reads for lanes, in the calling thread, which holds a base::ThreadLease and lends it to others
// meanwhile.
class DiskRounds {
 public:
  explicit DiskRounds(const DiskTopology& disk) : disk_(disk) {}

  // Serves all short reads or, if there are none, the ranges of as many lanes as fit into
  // kLoadBytes. Lanes that ask for the same range share one copy. The ranges of a single lane may
  // be longer than kLoadBytes, so memory grows with the longest row. Throws IoError.
  void Serve(std::span<DiskAsked* const> asked);

 private:
  static constexpr size_t kLoadBytes = size_t{16} << 20;

  bool ServeShort(std::span<DiskAsked* const> asked);
  void ServeRanges(std::vector<DiskAsked*> asked);

  const DiskTopology& disk_;
  base::Buffer<std::byte> loaded_;  // for the lanes that got ranges last
};

// Used by the thread of a call, which holds a ThreadLease. All reads throw IoError with file and
// offset.
template <class IdType>
class DiskRows {
 public:
  using Id = IdType;
  using Asked = DiskAsked;
  // Enough lanes that a round keeps a disk busy to its end and that lanes on the same pages share
  // reads; each takes a kilobyte or two.
  static constexpr size_t kSide = 8192;
  static constexpr uint64_t kBlockBytes = DiskAsked::kBlockBytes;  // a page holds several
  static constexpr size_t kSlotsAtOnce = size_t{1} << 21;
  static constexpr bool kLoadsStay = false;
  // Reading this many bytes costs as much as reading one id.
  static constexpr uint64_t kShortRowBytes = DiskAsked::kBlockBytes;

  explicit DiskRows(const Rows& rows) : rows_(rows), rounds_(*rows.disk) {}

  const Rows& rows() const { return rows_; }

  template <class ForEachAsked>
  void Round(const ForEachAsked& for_each_asked) {
    asked_.clear();
    for_each_asked([&](Asked& asked) { asked_.push_back(&asked); });
    rounds_.Serve(asked_);
  }

  template <class T>
  void AskItems(Asked& asked, std::span<const T> items) const {
    asked.place = items.data();
    asked.bytes = items.size_bytes();
    asked.waiting = true;
  }
  template <class T>
  const T* Items(const Asked& asked, std::span<const T>) const {
    return reinterpret_cast<const T*>(asked.block.data());
  }

  // Whether the bounds of a row of `rows`, which may be other rows of the same file, are known
  // without a read. They are sound then.
  bool KnowsRow(const Rows& rows, uint64_t node, store::SlotRange* row) const {
    const RowStarts* const starts = rows.disk->Starts(rows.adjacency);
    if (starts == nullptr) return false;
    *row = starts->Row(node);
    return true;
  }
  // Whether the last row that begins at the slot or before is known without a read.
  bool KnowsRowOf(uint64_t slot, uint64_t* node) const {
    const RowStarts* const starts = rows_.disk->Starts(rows_.adjacency);
    if (starts == nullptr) return false;
    *node = starts->RowOf(slot);
    return true;
  }

  void ReadBounds(std::span<const uint64_t> nodes, uint64_t* begins, uint64_t* degrees) const {
    if (const RowStarts* const starts = rows_.disk->Starts(rows_.adjacency)) {
      for (size_t first = 0; first < nodes.size(); first += base::CheckedLoop::kItems) {
        if (first > 0) base::CheckPoint();
        const size_t count = std::min(nodes.size() - first, base::CheckedLoop::kItems);
        starts->Rows(nodes.subspan(first, count), begins + first, degrees + first);
      }
      return;
    }
    size_t damaged = 0;
    bool sound = false;
    {
      const base::ThreadLease::Pause pause;
      sound = rows_.disk->ReadRows(rows_.adjacency, nodes, begins, degrees, &damaged);
    }
    if (sound) return;
    rows_.ThrowDamagedRow(nodes[damaged], {begins[damaged], begins[damaged] + degrees[damaged]});
  }

  template <class From, class To>
  void ReadSlots(const From* array, std::span<const uint64_t> slots, To* to) const {
    const base::ThreadLease::Pause pause;
    rows_.disk->ReadSlots(array, slots, to);
  }

  template <class... Range>
  void AskRanges(Asked& asked, const Range&... ranges) const {
    asked.bytes = 0;
    asked.ranges = {std::as_bytes(ranges)...};
    asked.waiting = true;
  }
  template <class T>
  std::span<const T> Loaded(const Asked& asked, size_t place, std::span<const T>) const {
    const std::span<const std::byte> bytes = asked.ranges[place];
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  const Rows& rows_;
  DiskRounds rounds_;
  std::vector<Asked*> asked_;
};

}  // namespace graphzero::sample
