// The different ids of an input, integers or texts, sorted, as a matrix file: what a graph with
// arbitrary ids is renumbered by. In bounded memory: a hash set while it fits, then sorted runs in
// a temporary file that are merged at the end. The result does not depend on memory or order.
//
// Each id remembers on which sides it was met, as bits of the caller's: at which ends of edges.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "compile/job.h"
#include "compile/spill/run_file.h"
#include "store/matrix_format.h"

namespace graphzero::compile {

// How many different ids there are in all, and with exactly these sides: counts[sides].
struct IdCounts {
  static constexpr uint8_t kAllSides = 3;

  uint64_t total = 0;
  std::array<uint64_t, kAllSides + 1> by_sides{};

  void Add(uint8_t sides) {
    ++total;
    ++by_sides[sides & kAllSides];
  }
};

// Used by one thread.
class IntegerIdCollector {
 public:
  explicit IntegerIdCollector(const Resources& resources);

  void Add(std::span<const int64_t> ids, uint8_t sides = 0);
  // Creates `path`: int64, one dimension, ascending. Ends the collector.
  IdCounts Write(const std::string& path, store::Role role, Progress* progress);

 private:
  struct Entry {
    int64_t id;
    uint8_t sides;
  };

  void Insert(int64_t id, uint8_t sides);
  void Grow();
  std::vector<Entry> TakeSorted();
  void Spill();

  const Resources resources_;
  const uint64_t most_slots_;
  std::vector<int64_t> slots_;
  std::vector<uint8_t> sides_;  // of the ids in slots_
  uint64_t used_ = 0;
  bool has_marker_ = false;  // the id that stands for a free slot
  uint8_t marker_sides_ = 0;
  std::unique_ptr<RunFile> file_;
  std::vector<RunFile::Run> runs_;
};

// Used by one thread.
class TextIdCollector {
 public:
  // A longer id is taken as a mistake: every row of the result is as wide as the longest.
  static constexpr size_t kMaxBytes = 1024;

  explicit TextIdCollector(const Resources& resources);

  // Throws InputError for a text that is empty, too long, or has a zero byte; its position counts
  // from `first_row`, and `what` is what the message calls it: "id".
  void Add(const base::TextView& ids, const RowPlaces& places, uint64_t first_row,
           const std::string& what, uint8_t sides = 0);
  // Creates `path`: uint8, a row for each text, zeros after its end, in the order of the bytes.
  // Ends the collector.
  IdCounts Write(const std::string& path, store::Role role, Progress* progress);

 private:
  struct Entry {  // of arena_
    uint64_t offset;
    uint16_t bytes;  // at most kMaxBytes
    uint8_t sides;
    uint32_t tag;  // part of the hash: most different texts are told apart without looking at them
  };

  std::string_view TextOf(const Entry& entry) const {
    return {arena_.data() + entry.offset, entry.bytes};
  }
  void Insert(std::string_view text, uint8_t sides);
  void Grow();
  std::vector<Entry> TakeSorted();
  void Spill();

  const Resources resources_;
  const uint64_t most_bytes_;
  std::vector<Entry> slots_;  // of zero bytes: free
  uint64_t used_ = 0;
  std::vector<char> arena_;
  size_t width_ = 0;
  std::unique_ptr<RunFile> file_;
  std::vector<RunFile::Run> runs_;
};

}  // namespace graphzero::compile
