#include "io/scattered_read.h"

#include "io/call_job.h"
#include "io/sweep.h"

namespace graphzero::io {

void SortItems(std::span<WantedItem> wanted) {
  SortWanted(wanted, [](const WantedItem& a, const WantedItem& b) { return a.item < b.item; });
}

void ReadItems(const RandomFile& file, const ItemLayout& layout, std::span<WantedItem> wanted,
               ItemSink& sink, IoCounters& counters, uint64_t gap) {
  Sweeps().ReadAll({.file = file, .direct = nullptr, .gap = gap}, layout, wanted, sink, counters);
}

}  // namespace graphzero::io
