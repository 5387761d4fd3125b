#include "sample/row_batches.h"

namespace graphzero::sample {
namespace {

// Rows that a thread takes at a time, and how long before their turn they are asked for.
constexpr size_t kGrain = 2048;
constexpr size_t kAhead = 24;

}  // namespace

void ReadBounds(const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> nodes,
                uint64_t* begins, uint64_t* degrees) {
  if (rows.disk != nullptr) {
    size_t damaged = 0;
    bool sound = false;
    {
      const base::ThreadLease::Pause pause;
      sound = rows.disk->ReadRows(rows.adjacency, nodes, begins, degrees, &damaged);
    }
    if (sound) return;
    rows.ThrowDamagedRow(nodes[damaged], {begins[damaged], begins[damaged] + degrees[damaged]});
  }
  lease.For(nodes.size(), kGrain, [&](int, size_t begin, size_t end) {
    const size_t primed = std::min(begin + kAhead, end);
    for (size_t i = begin; i < primed; ++i) rows.PrefetchRow(nodes[i]);
    for (size_t i = begin; i < end; ++i) {
      if (i + kAhead < end) rows.PrefetchRow(nodes[i + kAhead]);
      const store::SlotRange row = rows.Row(nodes[i]);
      begins[i] = row.begin;
      degrees[i] = row.size();
    }
  });
}

}  // namespace graphzero::sample
