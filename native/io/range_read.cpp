#include "io/range_read.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "io/call_job.h"

namespace graphzero::io {
namespace {

constexpr uint64_t kPage = 4096;
// Short ranges on one page, or this close to each other, share a read. Wider gaps would bring in
// whole pages that nobody wants, and evict pages that somebody wants.
constexpr uint64_t kGap = 1024;
constexpr uint64_t kMostMerged = 32768;
// A longer range becomes several reads, which a disk serves in parallel.
constexpr uint64_t kMostAtOnce = 131072;

class RangeJob : public CallJob {
 public:
  explicit RangeJob(std::span<const WantedRange> wanted)
      : wanted_(wanted),
        depth_(static_cast<uint32_t>(std::min<uint64_t>(Reads(wanted), ReadQueue::kMostDepth))),
        bounce_(BounceMemory(depth_ * kMostMerged)),
        groups_(depth_) {
    static_assert(ReadQueue::kMostDepth * kMostMerged <= kBounceBytes);
  }

  uint32_t depth() const { return depth_; }

 private:
  // The ranges [first, last) that one read brings to the bounce buffer; none if the read goes
  // straight to its destination.
  struct Group {
    size_t first = 0;
    size_t last = 0;
    uint64_t begin = 0;
  };

  bool Prepare(uint32_t slot, Read* read) noexcept override {
    while (next_ < wanted_.size() && wanted_[next_].bytes == 0) ++next_;
    if (next_ == wanted_.size()) return false;
    Group& group = groups_[slot];
    group = {};
    if (wanted_[next_].bytes > kMostMerged) {
      NextPiece(read);
    } else {
      NextGroup(slot, group, read);
    }
    read->least = read->bytes;
    return true;
  }

  void Deliver(uint32_t slot) noexcept override {
    const Group& group = groups_[slot];
    const std::byte* const from = bounce_ + slot * kMostMerged;
    for (size_t i = group.first; i < group.last; ++i) {
      std::memcpy(wanted_[i].to, from + (wanted_[i].offset - group.begin), wanted_[i].bytes);
    }
  }

  // An upper bound on the number of reads; merged ranges need fewer.
  static uint64_t Reads(std::span<const WantedRange> wanted) {
    uint64_t reads = 0;
    for (const WantedRange& range : wanted) reads += range.bytes / kMostAtOnce + 1;
    return reads;
  }

  void NextPiece(Read* read) noexcept {
    const WantedRange& range = wanted_[next_];
    const uint64_t bytes = std::min(range.bytes - piece_, kMostAtOnce);
    read->offset = range.offset + piece_;
    read->to = range.to + piece_;
    read->bytes = static_cast<uint32_t>(bytes);
    piece_ += bytes;
    if (piece_ < range.bytes) return;
    piece_ = 0;
    ++next_;
  }

  void NextGroup(uint32_t slot, Group& group, Read* read) noexcept {
    const WantedRange& first = wanted_[next_];
    group.first = next_;
    group.begin = first.offset;
    uint64_t end = first.offset + first.bytes;
    for (++next_; next_ < wanted_.size(); ++next_) {
      const WantedRange& range = wanted_[next_];
      const bool near = range.offset <= end + kGap || range.offset / kPage == (end - 1) / kPage;
      if (!near || range.bytes > kMostMerged) break;
      const uint64_t grown = std::max(end, range.offset + range.bytes);
      if (grown - group.begin > kMostMerged) break;
      end = grown;
    }
    group.last = next_;
    read->offset = group.begin;
    read->bytes = static_cast<uint32_t>(end - group.begin);
    read->to = bounce_ + slot * kMostMerged;
    if (group.last - group.first > 1) return;
    read->to = first.to;
    group.last = group.first;
  }

  const std::span<const WantedRange> wanted_;
  const uint32_t depth_;
  std::byte* const bounce_;
  std::vector<Group> groups_;
  size_t next_ = 0;
  uint64_t piece_ = 0;  // bytes of wanted_[next_] for which reads were handed out
};

}  // namespace

void ReadRanges(const RandomFile& file, std::span<WantedRange> wanted, IoCounters& counters) {
  if (wanted.empty()) return;
  if (file.direct()) throw std::logic_error("ranges are read through the page cache");
  SortWanted(wanted,
             [](const WantedRange& a, const WantedRange& b) { return a.offset < b.offset; });
  RangeJob job(wanted);
  job.Run(file, job.depth(), counters);
}

}  // namespace graphzero::io
