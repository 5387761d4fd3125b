#include "io/scattered_read.h"

#include <algorithm>

#include "base/bytes.h"
#include "io/call_job.h"

namespace graphzero::io {
namespace {

// Through the page cache, only items on one page, or this close to each other, share a read: every
// page in a wider gap would evict a page that somebody wants.
constexpr uint64_t kCachedGap = 1024;
constexpr uint64_t kPage = 4096;
// A read has at most this many bytes, or two gaps if that is more, unless a single item is longer.
constexpr uint64_t kMostMerged = 32768;
constexpr uint32_t kLeastDepth = 4;

class ItemJob : public CallJob {
 public:
  ItemJob(const RandomFile& file, const ItemLayout& layout, std::span<const WantedItem> wanted,
          ItemSink& sink, uint64_t gap)
      : align_(file.offset_align()),
        memory_align_(file.memory_align()),
        gap_(file.direct() ? gap : kCachedGap),
        most_(std::max(kMostMerged, 2 * gap_)),
        layout_(layout),
        wanted_(wanted),
        sink_(sink) {
    // Rounding both ends of an item out to whole sectors adds less than two sectors.
    const uint64_t longest = std::max<uint64_t>(most_, layout.bytes + 2 * uint64_t{align_});
    slot_bytes_ = base::AlignUp(longest, kBounceAlign);
    depth_ = static_cast<uint32_t>(
        std::clamp<uint64_t>(kBounceBytes / slot_bytes_, kLeastDepth, ReadQueue::kMostDepth));
    depth_ = static_cast<uint32_t>(std::min<uint64_t>(depth_, wanted.size()));
    bounce_ = BounceMemory(depth_ * slot_bytes_);
    groups_.resize(depth_);
  }

  uint32_t depth() const { return depth_; }

 private:
  // The items [first, last) of one read.
  struct Group {
    size_t first = 0;
    size_t last = 0;
    uint64_t begin = 0;
    std::byte* to = nullptr;
    bool straight = false;
  };

  bool Prepare(uint32_t slot, Read* read) noexcept override {
    if (next_ == wanted_.size()) return false;
    Group& group = groups_[slot];
    group.first = next_;
    group.begin = Begin(next_);
    uint64_t needed = End(next_);
    uint64_t end = base::AlignUp(needed, align_);
    for (++next_; next_ < wanted_.size(); ++next_) {
      const uint64_t grown = base::AlignUp(End(next_), align_);
      const bool near = Begin(next_) <= end + gap_ || Begin(next_) < NextPage(end - 1);
      if (!near || grown - group.begin > most_) break;
      needed = std::max(needed, End(next_));
      end = std::max(end, grown);
    }
    group.last = next_;
    group.to = bounce_ + slot * slot_bytes_;
    group.straight = false;
    if (group.last - group.first == 1 && end == needed && group.begin == Offset(group.first)) {
      std::byte* const destination = sink_.Destination(wanted_[group.first]);
      const auto address = reinterpret_cast<uintptr_t>(destination);
      group.straight = destination != nullptr && address % memory_align_ == 0;
      if (group.straight) group.to = destination;
    }
    read->offset = group.begin;
    read->to = group.to;
    read->bytes = static_cast<uint32_t>(end - group.begin);
    read->least = static_cast<uint32_t>(needed - group.begin);
    return true;
  }

  void Deliver(uint32_t slot) noexcept override {
    const Group& group = groups_[slot];
    if (group.straight) return;
    for (size_t i = group.first; i < group.last; ++i) {
      sink_.Take(wanted_[i], group.to + (Offset(i) - group.begin));
    }
  }

  static uint64_t NextPage(uint64_t at) { return (at / kPage + 1) * kPage; }
  uint64_t Offset(size_t i) const { return layout_.base + wanted_[i].item * layout_.stride; }
  uint64_t Begin(size_t i) const { return Offset(i) & ~uint64_t{align_ - 1}; }
  uint64_t End(size_t i) const { return Offset(i) + layout_.bytes; }

  const uint32_t align_;
  const uint32_t memory_align_;
  const uint64_t gap_;
  const uint64_t most_;
  const ItemLayout layout_;
  const std::span<const WantedItem> wanted_;
  ItemSink& sink_;
  uint64_t slot_bytes_ = 0;
  uint32_t depth_ = 0;
  std::byte* bounce_ = nullptr;
  std::vector<Group> groups_;
  size_t next_ = 0;
};

}  // namespace

void SortItems(std::span<WantedItem> wanted) {
  SortWanted(wanted, [](const WantedItem& a, const WantedItem& b) { return a.item < b.item; });
}

void ReadItems(const RandomFile& file, const ItemLayout& layout, std::span<WantedItem> wanted,
               ItemSink& sink, IoCounters& counters, uint64_t gap) {
  if (wanted.empty()) return;
  SortItems(wanted);
  ItemJob job(file, layout, wanted, sink, gap);
  job.Run(file, job.depth(), counters);
}

}  // namespace graphzero::io
