#include "sample/rows/disk_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "base/threads.h"

namespace graphzero::sample {
namespace {

// Every range is aligned for numbers of any type.
size_t RoundedUp(size_t bytes) { return base::AlignUp(bytes, alignof(uint64_t)); }

}  // namespace

void DiskRounds::Serve(std::span<DiskAsked* const> asked) {
  base::CheckPoint();  // with few lanes, RunLanes() checks too seldom
  // Short reads come first: meanwhile more lanes come to wait for ranges, and more of them share a
  // copy.
  if (ServeShort(asked)) return;
  std::vector<DiskAsked*> waiting;
  std::copy_if(asked.begin(), asked.end(), std::back_inserter(waiting),
               [](const DiskAsked* one) { return one->waiting; });
  ServeRanges(std::move(waiting));
}

bool DiskRounds::ServeShort(std::span<DiskAsked* const> asked) {
  std::vector<io::WantedRange> wanted;
  for (DiskAsked* const one : asked) {
    if (!one->waiting || one->bytes == 0) continue;
    wanted.push_back({disk_.OffsetOf(one->place), one->bytes, one->block.data()});
    one->waiting = false;
  }
  if (wanted.empty()) return false;
  const base::ThreadLease::Pause pause;
  disk_.ReadRanges(wanted);
  return true;
}

void DiskRounds::ServeRanges(std::vector<DiskAsked*> asked) {
  // In the order of the file, so that lanes that want the same range come together.
  std::stable_sort(asked.begin(), asked.end(), [](const DiskAsked* a, const DiskAsked* b) {
    return a->ranges[0].data() < b->ranges[0].data();
  });
  std::map<std::pair<const std::byte*, size_t>, size_t> places;  // of ranges in loaded_
  size_t bytes = 0;
  size_t taken = 0;
  for (; taken < asked.size(); ++taken) {
    size_t more = 0;
    for (const auto& range : asked[taken]->ranges) {
      if (!places.contains({range.data(), range.size()})) more += RoundedUp(range.size());
    }
    if (taken > 0 && bytes + more > kLoadBytes) break;
    for (const auto& range : asked[taken]->ranges) {
      const bool fresh = places.try_emplace({range.data(), range.size()}, bytes).second;
      if (fresh) bytes += RoundedUp(range.size());
    }
  }
  if (loaded_.bytes() > 2 * kLoadBytes) loaded_ = {};  // a very long row has made it too large
  loaded_.Reserve(bytes);
  std::vector<io::WantedRange> wanted;
  for (const auto& [range, place] : places) {
    if (range.second == 0) continue;
    wanted.push_back({disk_.OffsetOf(range.first), range.second, loaded_.data() + place});
  }
  {
    const base::ThreadLease::Pause pause;
    disk_.ReadRanges(wanted);
  }
  for (DiskAsked* const one : std::span(asked).first(taken)) {
    for (auto& range : one->ranges) {
      range = {loaded_.data() + places.at({range.data(), range.size()}), range.size()};
    }
    one->waiting = false;
  }
}

}  // namespace graphzero::sample
