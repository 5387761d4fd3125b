#include "io/sweep.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/bytes.h"
#include "base/call.h"
#include "base/errors.h"
#include "base/threads.h"
#include "io/call_job.h"

namespace graphzero::io {
namespace {

// Through the page cache, only items on one page, or this close to each other, share a read: every
// page in a wider gap would evict a page that somebody wants.
constexpr uint64_t kCachedGap = 1024;
constexpr uint64_t kPage = 4096;
// A read has at most this many bytes, or two gaps if that is more, unless a single item is longer.
constexpr uint64_t kMostMerged = 32768;
// The same where wanted items lie so close to each other that most of the file is read. Volumes in
// a cloud count a read of up to this length as one.
constexpr uint64_t kMostDense = uint64_t{256} << 10;
constexpr uint32_t kLeastDepth = 4;
// Items of at most this length fit into every read.
constexpr uint32_t kShortItem = kMostMerged / 2;
// Fewer items are not worth going around the page cache for.
constexpr size_t kLeastDense = 4096;
// Items that are looked for in the page cache, to learn how many of all are there.
constexpr size_t kLooks = 64;
// A call reads by itself if the longest of the calls that wait wants this many times as many items.
constexpr size_t kFewTimes = 16;
// Calls of one sweep. Bounds the memory of a read.
constexpr size_t kMostCallers = 32;
// Sweeps wait for draws where at least this gap is worth reading across: on disks with few reads a
// second, whose time draws take, too.
constexpr uint64_t kDearGap = 65536;
constexpr std::chrono::seconds kLongestWait{15};
// Time between two checks whether the waiting call was told to stop.
constexpr std::chrono::milliseconds kLook{20};

uint64_t NextPage(uint64_t at) { return (at / kPage + 1) * kPage; }

}  // namespace

// The reads of a sweep while one caller leads it.
class Sweeps::Job : public CallJob {
 public:
  // The mutex is held.
  Job(Sweeps& sweeps, Caller& leader, const SweepFile& from) : sweeps_(sweeps), leader_(leader) {
    uint64_t longest_item = 0;
    for (const Caller* caller : sweeps.callers_) {
      longest_item = std::max<uint64_t>(longest_item, caller->layout.bytes);
    }
    const bool dense = is_dense_ = IsDense(from);
    file_ = dense && from.direct != nullptr ? from.direct : &from.file;
    align_ = file_->offset_align();
    gap_ = file_->direct() ? from.gap : kCachedGap;
    most_ = dense && file_->direct() ? kMostDense : std::max(kMostMerged, 2 * gap_);
    // Rounding both ends of an item out to whole sectors adds less than two sectors.
    slot_bytes_ = base::AlignUp(std::max(most_, longest_item + 2 * uint64_t{align_}), kBounceAlign);
    depth_ = static_cast<uint32_t>(
        std::clamp<uint64_t>(kBounceBytes / slot_bytes_, kLeastDepth, ReadQueue::kMostDepth));
    is_lone_ = sweeps.callers_.size() == 1 && leader.left() < depth_;
    if (is_lone_) depth_ = static_cast<uint32_t>(leader.left());
    bounce_ = BounceMemory(depth_ * slot_bytes_);
    groups_.resize(depth_);
  }

  bool is_dense() const { return is_dense_; }

  void Read(IoCounters& counters) { Run(*file_, depth_, counters); }

  // After Run() has thrown: reads that were handed out and did not come are failures of all calls
  // that wanted them. The mutex is held. Returns whether the leader was the only one.
  bool Fail() noexcept {
    bool only_leader = true;
    for (const Group& group : groups_) {
      if (!group.under_way) continue;
      for (size_t i = 0; i < group.pieces_count; ++i) {
        Caller& caller = *group.pieces[i].caller;
        --caller.under_way;
        caller.next = caller.wanted.size();
        caller.failed = true;
        only_leader = only_leader && &caller == &leader_;
      }
    }
    return only_leader;
  }

 private:
  // The items [first, last) of one caller.
  struct Piece {
    Caller* caller;
    size_t first;
    size_t last;
  };
  // What one read brings.
  struct Group {
    std::array<Piece, kMostCallers> pieces;
    size_t pieces_count = 0;
    uint64_t begin = 0;
    std::byte* to = nullptr;
    bool straight = false;
    bool under_way = false;
  };

  // Whether what the calls want lies so close together that reads will merge into long ones.
  bool IsDense(const SweepFile& from) const {
    uint64_t items = 0;
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    for (const Caller* caller : sweeps_.callers_) {
      if (caller->left() == 0) continue;
      items += caller->left();
      begin = std::min(begin, caller->Offset(caller->next));
      end = std::max(end, caller->End(caller->wanted.size() - 1));
    }
    const RandomFile* const file = from.file.direct() ? &from.file : from.direct;
    if (items < kLeastDense || file == nullptr) return false;
    if ((end - begin) / items > from.gap) return false;
    if (from.file.direct()) return true;
    // Around the page cache, what lies in it would be read again.
    size_t there = 0;
    const size_t step = std::max<size_t>(1, leader_.left() / kLooks);
    size_t looks = 0;
    for (size_t i = leader_.next; i < leader_.wanted.size(); i += step, ++looks) {
      std::byte byte;
      there += from.file.file().TryRead(leader_.Offset(i), {&byte, 1}) ? 1 : 0;
    }
    const uint64_t missing = items * (looks - there) / std::max<size_t>(looks, 1);
    return missing > 0 && (end - begin) / missing <= from.gap;
  }

  bool Prepare(uint32_t slot, struct Read* read) noexcept override {
    const std::lock_guard lock(sweeps_.mutex_);
    if (leader_.left() == 0) return false;
    if (is_lone_ && sweeps_.callers_.size() > 1) return false;  // the others need more depth
    Group& group = groups_[slot];
    uint64_t begin = UINT64_MAX;
    for (const Caller* caller : sweeps_.callers_) {
      if (caller->left() > 0) begin = std::min(begin, caller->Offset(caller->next));
    }
    group.begin = begin & ~uint64_t{align_ - 1};
    group.pieces_count = 0;
    for (Caller* caller : sweeps_.callers_) {
      group.pieces[group.pieces_count++] = {caller, caller->next, caller->next};
    }
    const uint64_t needed = Grow(group);
    const uint64_t end = base::AlignUp(needed, align_);
    sweeps_.position_ = std::max(sweeps_.position_, end);
    DropEmptyPieces(group);
    group.to = bounce_ + slot * slot_bytes_;
    group.straight = end == needed && GoesStraight(group);
    if (group.straight) group.to = Destination(group);
    group.under_way = true;
    read->offset = group.begin;
    read->to = group.to;
    read->bytes = static_cast<uint32_t>(end - group.begin);
    read->least = static_cast<uint32_t>(needed - group.begin);
    return true;
  }

  // Takes items of all calls into the group until the next one is too far away, or the read would
  // be too long. The first item is always taken. Returns where the last one ends.
  uint64_t Grow(Group& group) noexcept {
    uint64_t needed = 0;
    uint64_t end = group.begin + 1;
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t i = 0; i < group.pieces_count; ++i) {
        Caller& caller = *group.pieces[i].caller;
        for (; caller.left() > 0; ++caller.next) {
          const uint64_t at = caller.Offset(caller.next) & ~uint64_t{align_ - 1};
          const uint64_t with = base::AlignUp(caller.End(caller.next), align_);
          const bool near = at <= end + gap_ || at < NextPage(end - 1);
          const bool is_first = needed == 0 && at == group.begin;
          // Inside of what is read anyway, which is longer if the first item is.
          const bool fits = with <= end || with - group.begin <= most_;
          if (!is_first && (needed == 0 || !near || !fits)) break;
          needed = std::max(needed, caller.End(caller.next));
          end = std::max(end, with);
          grown = true;
        }
      }
    }
    return needed;
  }

  static void DropEmptyPieces(Group& group) noexcept {
    size_t kept = 0;
    for (size_t i = 0; i < group.pieces_count; ++i) {
      Piece piece = group.pieces[i];
      piece.last = piece.caller->next;
      if (piece.first == piece.last) continue;
      ++piece.caller->under_way;
      group.pieces[kept++] = piece;
    }
    group.pieces_count = kept;
  }

  // A read of exactly one item may write to where that item is to go.
  bool GoesStraight(const Group& group) const noexcept {
    const Piece& piece = group.pieces[0];
    if (group.pieces_count != 1 || piece.last - piece.first != 1) return false;
    if (group.begin != piece.caller->Offset(piece.first)) return false;
    const auto address = reinterpret_cast<uintptr_t>(Destination(group));
    return address != 0 && address % file_->memory_align() == 0;
  }
  static std::byte* Destination(const Group& group) noexcept {
    const Piece& piece = group.pieces[0];
    return piece.caller->sink.Destination(piece.caller->wanted[piece.first]);
  }

  void Deliver(uint32_t slot) noexcept override {
    Group& group = groups_[slot];
    const auto pieces = std::span(group.pieces).first(group.pieces_count);
    if (!group.straight) {
      for (const Piece& piece : pieces) {
        const Caller& caller = *piece.caller;
        for (size_t i = piece.first; i < piece.last; ++i) {
          caller.sink.Take(caller.wanted[i], group.to + (caller.Offset(i) - group.begin));
        }
      }
    }
    bool ended = false;
    {
      const std::lock_guard lock(sweeps_.mutex_);
      group.under_way = false;
      for (const Piece& piece : pieces) {
        --piece.caller->under_way;
        ended = ended || (piece.caller != &leader_ && piece.caller->done());
      }
    }
    if (ended) sweeps_.changed_.notify_all();
  }

  Sweeps& sweeps_;
  Caller& leader_;
  const RandomFile* file_;
  uint32_t align_;
  uint64_t gap_;
  uint64_t most_;
  uint64_t slot_bytes_;
  uint32_t depth_;
  bool is_dense_;
  bool is_lone_;  // the depth is that of the leader's few reads
  std::byte* bounce_;
  std::vector<Group> groups_;
};

void SortItems(std::span<WantedItem> wanted) {
  SortWanted(wanted, [](const WantedItem& a, const WantedItem& b) { return a.item < b.item; });
}

size_t Sweeps::ReadSome(const SweepFile& from, const ItemLayout& layout,
                        std::span<const WantedItem> wanted, ItemSink& sink, IoCounters& counters) {
  if (wanted.empty()) return 0;
  if (forks_ != base::ForkCount() || !base::MayWaitOnThisThread()) {
    ReadAlone(from, layout, wanted, sink, counters);
    return 0;
  }
  std::unique_lock lock(mutex_);
  if (!MayRide(layout, wanted.size())) {
    lock.unlock();
    ReadAlone(from, layout, wanted, sink, counters);
    return 0;
  }
  SendAway(wanted.size());
  const auto ahead = std::partition_point(wanted.begin(), wanted.end(), [&](const WantedItem& one) {
    return layout.base + one.item * layout.stride < position_;
  });
  const auto passed = static_cast<size_t>(ahead - wanted.begin());
  const uint64_t sweep = sweep_;
  Caller caller{.layout = layout, .wanted = wanted.subspan(passed), .sink = sink};
  if (caller.left() > 0) Ride(caller, from, counters, lock);
  const size_t alone_from = caller.failed ? 0 : caller.alone_from;
  if (alone_from < caller.wanted.size()) {
    lock.unlock();
    ReadAlone(from, layout, wanted.first(passed), sink, counters);
    ReadAlone(from, layout, caller.wanted.subspan(alone_from), sink, counters);
    return 0;
  }
  if (passed == 0 || WaitForEnd(sweep, wanted.size(), lock)) return passed;
  lock.unlock();
  ReadAlone(from, layout, wanted.first(passed), sink, counters);
  return 0;
}

void Sweeps::ReadAlone(const SweepFile& from, const ItemLayout& layout,
                       std::span<const WantedItem> wanted, ItemSink& sink, IoCounters& counters) {
  if (wanted.empty()) return;
  Sweeps own;
  std::unique_lock lock(own.mutex_);
  Caller caller{.layout = layout, .wanted = wanted, .sink = sink};
  SweepFile at_once = from;
  at_once.draws = nullptr;
  own.Ride(caller, at_once, counters, lock);
}

void Sweeps::ReadAll(const SweepFile& from, const ItemLayout& layout, std::span<WantedItem> wanted,
                     ItemSink& sink, IoCounters& counters) {
  SortItems(wanted);
  wanted = wanted.first(ReadSome(from, layout, wanted, sink, counters));
  wanted = wanted.first(ReadSome(from, layout, wanted, sink, counters));
  ReadAlone(from, layout, wanted, sink, counters);
}

// The mutex is held.
bool Sweeps::MayRide(const ItemLayout& layout, size_t wanted) const {
  if (callers_.size() >= kMostCallers || AnyWantsMany(wanted)) return false;
  // Reads under way have room for items of the length that was known when the leader began.
  return std::ranges::all_of(callers_, [&](const Caller* caller) {
    return layout.bytes <= std::max(caller->layout.bytes, kShortItem);
  });
}

// Whether a call that wants this few items should not wait for the sweep. The mutex is held.
bool Sweeps::AnyWantsMany(size_t few) const {
  return std::ranges::any_of(
      callers_, [&](const Caller* caller) { return caller->wanted.size() / kFewTimes > few; });
}

// A caller that wants few items beside a newcomer gets no more of them from this sweep. The mutex
// is held.
void Sweeps::SendAway(size_t newcomers_wanted) {
  for (Caller* caller : callers_) {
    if (caller->left() == 0 || caller->wanted.size() >= newcomers_wanted / kFewTimes) continue;
    caller->alone_from = caller->next;
    caller->next = caller->wanted.size();
  }
  changed_.notify_all();
}

// Takes part in the sweep until the caller has everything, leads it where nobody else does.
void Sweeps::Ride(Caller& caller, const SweepFile& from, IoCounters& counters,
                  std::unique_lock<std::mutex>& lock) {
  const base::DiskWaitScope waiting;
  callers_.push_back(&caller);
  try {
    while (!caller.done()) {
      if (!led_) {
        Lead(caller, from, counters, lock);
      } else {
        CountDiskWait();
        changed_.wait_for(lock, kLook);
        base::CheckStopped();
      }
    }
  } catch (...) {
    Leave(caller, lock);
    throw;
  }
  Leave(caller, lock);
}

// Reads for all callers until this one needs no more reads.
void Sweeps::Lead(Caller& caller, const SweepFile& from, IoCounters& counters,
                  std::unique_lock<std::mutex>& lock) {
  std::optional<Job> job;
  job.emplace(*this, caller, from);
  led_ = true;
  if (position_ == 0) {
    dense_ = job->is_dense();
    if (dense_ && from.draws != nullptr && from.gap >= kDearGap) {
      try {
        WaitForDraws(*from.draws, caller, lock);
        job.emplace(*this, caller, from);  // for all who have come meanwhile
      } catch (...) {
        led_ = dense_ = false;
        changed_.notify_all();
        throw;
      }
    }
    began_ = std::chrono::steady_clock::now();
  }
  lock.unlock();
  try {
    job->Read(counters);
  } catch (const IoError&) {
    lock.lock();
    led_ = false;
    const bool only_leader = job->Fail();
    changed_.notify_all();
    if (only_leader) throw;
    return;
  } catch (...) {
    lock.lock();
    led_ = false;
    job->Fail();
    changed_.notify_all();
    throw;
  }
  lock.lock();
  led_ = false;
  changed_.notify_all();
}

void Sweeps::WaitForDraws(const DiskDraws& draws, const Caller& caller,
                          std::unique_lock<std::mutex>& lock) {
  const auto until = std::chrono::steady_clock::now() +
                     std::min<std::chrono::steady_clock::duration>(last_dense_, kLongestWait);
  // A caller that was sent away wants nothing more of this sweep.
  while (caller.left() > 0 && draws.any() && std::chrono::steady_clock::now() < until) {
    changed_.wait_for(lock, kLook);
    base::CheckStopped();
  }
}

// A caller that was stopped waits here for reads under way, which write to its memory.
void Sweeps::Leave(Caller& caller, std::unique_lock<std::mutex>& lock) {
  caller.next = caller.wanted.size();
  while (caller.under_way > 0) changed_.wait_for(lock, kLook);
  std::erase(callers_, &caller);
  if (!callers_.empty()) return;
  if (dense_) last_dense_ = std::chrono::steady_clock::now() - began_;
  dense_ = false;
  position_ = 0;
  ++sweep_;
  changed_.notify_all();
}

bool Sweeps::WaitForEnd(uint64_t sweep, size_t wanted, std::unique_lock<std::mutex>& lock) {
  const base::DiskWaitScope waiting;
  CountDiskWait();
  while (sweep_ == sweep) {
    if (AnyWantsMany(wanted)) return false;
    changed_.wait_for(lock, kLook);
    base::CheckStopped();
  }
  return true;
}

}  // namespace graphzero::io
