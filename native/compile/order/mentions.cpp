#include "compile/order/mentions.h"

#include <algorithm>
#include <atomic>

#include "base/team.h"
#include "store/files/mapped_file.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kSlotsAtOnce = uint64_t{1} << 20;
constexpr uint64_t kRowsAtOnce = uint64_t{1} << 16;
// Counts of kHistogram - 1 and more are rare, and share the last entry of the histogram.
constexpr uint32_t kHistogram = 1 << 16;

uint32_t Saturated(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX));
}

// Calls work(first, last) for pieces of `total` on several threads that read the mapping.
template <class Work>
void InPieces(const UnionRows& rows, uint64_t total, uint64_t piece, int threads,
              Progress* progress, const Work& work) {
  std::atomic<uint64_t> next{0};
  store::ReadGuarded(*rows.graph().file(), [&] {
    base::RunTeam(threads, [&](int) {
      for (uint64_t first; (first = next.fetch_add(piece)) < total;) {
        progress->ThrowIfCancelled();
        const uint64_t last = std::min(first + piece, total);
        work(first, last);
      }
    });
  });
}

}  // namespace

std::vector<uint32_t> CountMentions(const UnionRows& rows, int threads, Progress* progress) {
  std::vector<uint32_t> mentions(rows.num_nodes(), 0);
  const auto& begins = rows.type_begins();
  for (const store::Relation& relation : rows.graph().relations()) {
    if (relation.is_view) continue;
    progress->Start("counting neighbours", 0);
    // A node's row in one direction has a slot for each row of the other direction that names the
    // node, so the sizes of rows are the counts. In a symmetric relation, both directions are the
    // same rows.
    const auto add_rows = [&](const store::Adjacency& a, uint64_t begin) {
      InPieces(rows, a.rows, kRowsAtOnce, threads, progress, [&](uint64_t first, uint64_t last) {
        for (uint64_t row = first; row < last; ++row) {
          uint32_t& count = mentions[begin + row];
          count = Saturated(uint64_t{count} + rows.graph().Row(a, row).size());
        }
      });
    };
    if (relation.symmetric || (relation.out && relation.in)) {
      add_rows(relation.any(), begins[relation.source]);
      if (!relation.symmetric) add_rows(*relation.in, begins[relation.target]);
      continue;
    }
    const store::Adjacency& a = relation.any();
    const UnionRows::Part part{&a, 0, begins[a.is_in ? relation.source : relation.target]};
    InPieces(rows, a.edges, kSlotsAtOnce, threads, progress, [&](uint64_t first, uint64_t last) {
      for (uint64_t slot = first; slot < last; ++slot) {
        std::atomic_ref<uint32_t> count(mentions[rows.Neighbour(part, slot)]);
        if (count.load(std::memory_order_relaxed) < UINT32_MAX - 1024) {  // room for 1024 threads
          count.fetch_add(1, std::memory_order_relaxed);
        }
      }
    });
  }
  return mentions;
}

uint32_t MentionsOfShare(const std::vector<uint32_t>& mentions, uint64_t share) {
  std::vector<uint64_t> nodes(kHistogram, 0);
  for (const uint32_t count : mentions) ++nodes[std::min(count, kHistogram - 1)];
  uint64_t above = 0;
  uint32_t count = kHistogram - 1;
  while (count > 0 && above + nodes[count] <= mentions.size() / share) above += nodes[count--];
  return count;
}

}  // namespace graphzero::compile
