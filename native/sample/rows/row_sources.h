// The seam between algorithms and the way a topology is read: each algorithm is a template over its
// source, a MappedRows or a DiskRows, and exists once.
//
//   row_batches.h  reads that are known beforehand: bounds of rows, whole rows, single slots
//   row_lanes.h    reads that depend on each other: walks, searches, rejections
#pragma once

#include "base/threads.h"
#include "sample/rows/disk_rows.h"
#include "sample/rows/mapped_rows.h"
#include "sample/rows/rows.h"

namespace graphzero::sample {

// Calls body(source, begin, end) for ranges that make up [0, count), where `source` is a MappedRows
// or a DiskRows. In memory the threads of the lease call it, for at most `grain` items at a time;
// from disk the calling thread calls it once, for all items.
template <class Body>
void WithRowSource(const Rows& rows, base::ThreadLease& lease, size_t count, size_t grain,
                   const Body& body) {
  WithIdType(rows.adjacency, [&]<class Id>() {
    if (rows.disk != nullptr) {
      DiskRows<Id> source(rows);
      body(source, size_t{0}, count);
      return;
    }
    lease.For(count, grain, [&](int, size_t begin, size_t end) {
      MappedRows<Id> source(rows);
      body(source, begin, end);
    });
  });
}

}  // namespace graphzero::sample
