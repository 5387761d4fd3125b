// The different ids of an input, integers or texts, sorted, as a matrix file: what a graph with
// arbitrary ids is renumbered by. In bounded memory: a hash set while it fits, then sorted runs in
// a temporary file that are merged at the end. The result does not depend on memory or order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/job.h"
#include "compile/run_file.h"

namespace graphzero::compile {

// Texts one after the other: text i is data[offsets[i] .. offsets[i + 1]).
struct TextView {
  std::span<const int64_t> offsets;
  std::string_view data;

  size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::string_view operator[](size_t i) const {
    return data.substr(static_cast<size_t>(offsets[i]),
                       static_cast<size_t>(offsets[i + 1] - offsets[i]));
  }
  // Throws std::invalid_argument unless the offsets rise and lie inside data.
  void Check() const;
};

// Used by one thread.
class IntegerIdCollector {
 public:
  explicit IntegerIdCollector(const Resources& resources);

  void Add(std::span<const int64_t> ids);
  // Creates `path`: int64, one dimension, ascending. Returns how many there are. Ends the
  // collector.
  uint64_t Write(const std::string& path, Progress* progress);

 private:
  void Insert(int64_t id);
  void Grow();
  std::vector<int64_t> TakeSorted();
  void Spill();

  const Resources resources_;
  const uint64_t most_slots_;
  std::vector<int64_t> slots_;
  uint64_t used_ = 0;
  bool has_marker_ = false;  // the id that stands for a free slot
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
  // from `first_row`, and `name` is what the message calls the input.
  void Add(const TextView& ids, const std::string& name, uint64_t first_row);
  // Creates `path`: uint8, a row for each text, zeros after its end, in the order of the bytes.
  // Returns how many there are. Ends the collector.
  uint64_t Write(const std::string& path, Progress* progress);

 private:
  struct Entry {  // of arena_
    uint64_t offset;
    uint32_t bytes;
    uint32_t tag;  // part of the hash: most different texts are told apart without looking at them
  };

  std::string_view TextOf(const Entry& entry) const {
    return {arena_.data() + entry.offset, entry.bytes};
  }
  void Insert(std::string_view text);
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
