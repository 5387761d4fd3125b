// Reads that depend on each other, over either source of rows (row_sources.h).
//
// Walks, searches and rejections read a place, look at it, and only then know the next place. Many
// of them run side by side, each in a lane, so that their waits overlap. They take turns: in its
// turn a lane takes what it asked for in the turn before, and asks for the next thing.
//
//   AskRow(source, lane.asked, node);                                // one turn
//   const store::SlotRange row = TakeRow(source, lane.asked, node);  // the next turn of this lane
//
// An algorithm is a template over its source. With MappedRows asking prefetches a cache line and
// taking reads the mapping; with DiskRows a round of reads, between turns, brings what all lanes
// asked for. One thread runs the lanes of a source, so they share state freely within a turn.
//
// Coroutines would be easier to read than turns. They were built over the same sources and
// measured: walks in memory ran at 0.3 to 0.5 of this speed (sample/README.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "sample/rows/row_search.h"
#include "sample/rows/row_sources.h"
#include "sample/rows/rows.h"

namespace graphzero::sample {

// Runs the items [begin, end) of an algorithm, `side` at a time:
//   algorithm.Begin(lane, number)  starts an item; true if it asked for something, false if it has
//                                  ended
//   algorithm.Advance(lane)        takes a turn; returns the same
// A Lane has the member `typename Source::Asked asked`. Of several errors, that of the item with
// the lowest number is thrown; IoError at once if a read fails.
template <class Lane, class Source, class Algorithm>
void RunLanes(Source& source, Algorithm& algorithm, size_t begin, size_t end, size_t side) {
  struct Numbered {
    Lane lane;
    size_t number;
  };
  base::WorkVector<Numbered> lanes(std::min(side, end - begin));
  std::exception_ptr error;
  base::CheckedLoop loop;
  // Returns whether the lane goes on. When an item fails, it and all later items end: only the
  // error of an earlier item may replace its error.
  const auto turn = [&](Numbered& numbered, const auto& take) {
    loop.Next();
    try {
      return take(numbered.lane) && numbered.number < end;
    } catch (...) {
      if (numbered.number < end) {
        error = std::current_exception();
        end = numbered.number;
      }
      return false;
    }
  };
  const auto start = [&](Numbered& numbered) {
    while (begin < end) {
      numbered.number = begin++;
      if (turn(numbered, [&](Lane& lane) { return algorithm.Begin(lane, numbered.number); })) {
        return true;
      }
    }
    return false;
  };
  size_t active = 0;
  while (active < lanes.size() && start(lanes[active])) ++active;
  while (active > 0) {
    source.Round([&](const auto& each) {
      for (size_t i = 0; i < active; ++i) each(lanes[i].lane.asked);
    });
    for (size_t i = 0; i < active;) {
      Numbered& numbered = lanes[i];
      if (!numbered.lane.asked.served() ||
          turn(numbered, [&](Lane& lane) { return algorithm.Advance(lane); }) || start(numbered)) {
        ++i;
      } else {
        numbered = std::move(lanes[--active]);
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

// The slots of a row, which are checked: throws FormatError. Needs node < adjacency.rows.
template <class Source>
[[gnu::always_inline]] inline void AskRow(Source& source, typename Source::Asked& asked,
                                          uint64_t node) {
  source.AskItems(asked, std::span(source.rows().adjacency.indptr + node, 2));
}
template <class Source>
store::SlotRange TakeRow(const Source& source, const typename Source::Asked& asked, uint64_t node) {
  const uint64_t* const pair =
      source.Items(asked, std::span(source.rows().adjacency.indptr + node, 2));
  const store::SlotRange row{store::ReadOnce(pair), store::ReadOnce(pair + 1)};
  source.rows().CheckRow(node, row);
  return row;
}

// The neighbour in a slot, as the file has it.
template <class Source>
[[gnu::always_inline]] inline void AskId(Source& source, typename Source::Asked& asked,
                                         uint64_t slot) {
  source.AskItems(asked, source.rows().template Ids<typename Source::Id>({slot, slot + 1}));
}
template <class Source>
uint64_t TakeId(const Source& source, const typename Source::Asked& asked, uint64_t slot) {
  return store::ReadOnce(
      source.Items(asked, source.rows().template Ids<typename Source::Id>({slot, slot + 1})));
}

// The next block of a search that is not done.
template <class Source, class T>
[[gnu::always_inline]] inline void AskBlock(Source& source, typename Source::Asked& asked,
                                            const RowSearch<T>& search) {
  source.AskItems(asked, search.block());
}
template <class Source, class T>
void TakeBlock(const Source& source, const typename Source::Asked& asked, RowSearch<T>& search) {
  search.Take(source.Items(asked, search.block()));
}

// A search for x among the neighbours of a sorted row; positions are slots.
template <class Source>
auto SearchRow(const Source& source, const store::SlotRange& row, uint64_t x) {
  using Id = typename Source::Id;
  const store::Adjacency& adjacency = source.rows().adjacency;
  return RowSearch<Id>(static_cast<const Id*>(adjacency.neighbours.data), row.begin, row.end, x,
                       adjacency.neighbour_bound, Source::kBlockBytes / sizeof(Id));
}

}  // namespace graphzero::sample
