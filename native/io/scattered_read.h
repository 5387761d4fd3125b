// Many small items of one file: sorted, merged into fewer reads, read at full depth, handed out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "io/io_counters.h"
#include "io/random_file.h"

namespace graphzero::io {

// Where items lie: item i is `bytes` long and starts at base + i * stride. Items may overlap.
struct ItemLayout {
  uint64_t base;
  uint64_t stride;
  uint32_t bytes;
};

// An item that is wanted, and the caller's number for it.
struct WantedItem {
  uint64_t item;
  uint64_t place;
};

// Takes items as they arrive, in any order, one call at a time.
class ItemSink {
 public:
  virtual ~ItemSink() = default;
  virtual void Take(const WantedItem& wanted, const std::byte* data) noexcept = 0;
  // Where the kernel may write the item directly; Take() is not called after it did. Null to get
  // the item through Take() in any case.
  virtual std::byte* Destination(const WantedItem& wanted) noexcept = 0;
};

// With O_DIRECT, items with a gap of up to this many bytes between them share a read, unless the
// disk was measured (disk_rates.h). On any disk, a read across such a gap takes hardly longer.
inline constexpr uint64_t kDirectGap = 8192;
inline constexpr uint64_t kLeastGap = 4096;
inline constexpr uint64_t kMostGap = 131072;
inline uint64_t ClampGap(uint64_t bytes) { return std::clamp(bytes, kLeastGap, kMostGap); }

// Sorts items by their place in the file. Throws base::Stopped if the thread's call was told to
// stop.
void SortItems(std::span<WantedItem> wanted);

// Reads every wanted item, all of which the caller knows to lie in the file. Reorders `wanted`.
// `gap` is for files with O_DIRECT. Throws IoError with the file and the offset; the sink may have
// got some of the items then.
void ReadItems(const RandomFile& file, const ItemLayout& layout, std::span<WantedItem> wanted,
               ItemSink& sink, IoCounters& counters, uint64_t gap = kDirectGap);

}  // namespace graphzero::io
