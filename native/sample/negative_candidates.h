// The nodes that an end of a negative can be: all of a type, or a list; those of them that exist at
// a time.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/rows.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

// Positions are those of the list, or node ids. With times, they are those of the nodes, or the
// list, in the order of their times, so that what exists at a time are the first ones.
// Thread-safe after the constructor.
class Candidates {
 public:
  // `times` has one for each negative, or is empty. Does not own the list.
  Candidates(const Rows& rows, base::ThreadLease& lease, const store::NodeType& type,
             std::span<const int64_t> list, std::span<const int64_t> times);

  bool all() const { return list_.empty(); }
  // How many there are for a negative.
  uint64_t size(size_t negative) const { return counts_.empty() ? count_ : counts_[negative]; }
  // Whether nodes must be read, with place() as their place in by_time().
  bool must_be_read() const { return by_time_.present(); }
  const store::IntegerArray& by_time() const { return by_time_; }
  // Of others, the node at a position.
  uint64_t operator[](uint64_t position) const {
    return all() ? position : static_cast<uint64_t>(list_[position]);
  }

 private:
  std::span<const int64_t> list_;
  base::WorkVector<int64_t> in_order_;  // the list by time, if that matters
  uint64_t count_;
  base::WorkVector<uint64_t> counts_;  // by negative, with times
  store::IntegerArray by_time_;
};

}  // namespace graphzero::sample
