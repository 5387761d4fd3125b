#include "sample/negatives/negative_candidates.h"

#include <algorithm>
#include <numeric>

#include "sample/rows/row_batches.h"
#include "sample/times/seed_times.h"

namespace graphzero::sample {

Candidates::Candidates(const Rows& rows, base::ThreadLease& lease, const store::NodeType& type,
                       std::span<const int64_t> list, std::span<const int64_t> times)
    : type_(type), list_(list), count_(list.empty() ? type.count : list.size()) {
  if (times.empty() || type.times == nullptr) return;
  counts_.resize(times.size());
  if (all()) {
    by_time_ = type.by_time;
    CountUpTo(rows, lease, {type.sorted_times, type.count}, times, counts_);
    return;
  }
  const base::WorkVector<uint64_t> nodes(list.begin(), list.end());
  base::WorkVector<int64_t> own(nodes.size());
  ReadSlots(rows, lease, type.times, nodes, own.data());
  base::WorkVector<uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  base::CheckedLoop loop;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    loop.Next();
    return own[a] != own[b] ? own[a] < own[b] : a < b;
  });
  base::WorkVector<int64_t> sorted(nodes.size());
  in_order_.resize(nodes.size());
  for (size_t i = 0; i < order.size(); ++i) {
    in_order_[i] = list[order[i]];
    sorted[i] = own[order[i]];
  }
  list_ = in_order_;
  for (size_t i = 0; i < times.size(); ++i) {
    loop.Next();
    counts_[i] = static_cast<uint64_t>(std::upper_bound(sorted.begin(), sorted.end(), times[i]) -
                                       sorted.begin());
  }
}

int64_t Candidates::Earliest(const Rows& rows, base::ThreadLease& lease) const {
  const uint64_t first = all() ? 0 : static_cast<uint64_t>(list_[0]);
  int64_t time = kNoTime;
  ReadSlots(rows, lease, all() ? type_.sorted_times : type_.times, {&first, 1}, &time);
  return time;
}

}  // namespace graphzero::sample
