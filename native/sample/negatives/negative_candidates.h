// The nodes that an end of a negative is drawn from: all nodes of a type, or a list; with a time,
// those of them that exist at that time.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/rows/rows.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

// A position is a place in the list or, without a list, a node id. With times, the nodes or the
// list are put in the order of their times first, so that the candidates that exist at a time are
// the first positions. Thread-safe after the constructor.
class Candidates {
 public:
  // `times` has one for each negative, or is empty. Does not own the list.
  Candidates(const Rows& rows, base::ThreadLease& lease, const store::NodeType& type,
             std::span<const int64_t> list, std::span<const int64_t> times);

  bool all() const { return list_.empty(); }
  // How many candidates there are for a negative.
  uint64_t size(size_t negative) const { return counts_.empty() ? count_ : counts_[negative]; }
  // The time of the earliest candidate, if the candidates have times. Reads it from the file.
  int64_t Earliest(const Rows& rows, base::ThreadLease& lease) const;
  // Whether the node at a position must be read from the file, at this position of by_time().
  bool must_be_read() const { return by_time_.present(); }
  const store::IntegerArray& by_time() const { return by_time_; }
  // The node at a position, unless it must be read.
  uint64_t operator[](uint64_t position) const {
    return all() ? position : static_cast<uint64_t>(list_[position]);
  }

 private:
  const store::NodeType& type_;
  std::span<const int64_t> list_;
  base::WorkVector<int64_t> in_order_;  // with times, the list in their order
  uint64_t count_;
  base::WorkVector<uint64_t> counts_;  // with times, by negative
  store::IntegerArray by_time_;
};

}  // namespace graphzero::sample
