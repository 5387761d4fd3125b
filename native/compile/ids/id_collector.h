// Collects the different ids of an input, integers or texts, and writes them sorted to a matrix
// file, by which a graph with arbitrary ids is renumbered. Works in bounded memory: a hash table
// while it fits, then sorted runs in a temporary file that are merged at the end. The result does
// not depend on memory or on the order of the input.
//
// Each id remembers on which sides it was met. Sides are bits that the caller defines, such as the
// ends of edges.
//
// As long as everything fits into memory, ids are also numbered in the order in which they were
// met, and after Write(), rows() gives the row of each number. A caller that keeps the numbers
// (edge_spool.h) need not read the input a second time to look up the ids.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/prefetch.h"
#include "base/text.h"
#include "compile/job.h"
#include "compile/spill/run_file.h"
#include "store/matrix/matrix_format.h"
#include "store/matrix/matrix_writer.h"

namespace graphzero::compile {

// How many different ids there are in all, and by_sides[sides]: how many were met on exactly these
// sides.
struct IdCounts {
  static constexpr uint8_t kAllSides = 3;

  uint64_t total = 0;
  std::array<uint64_t, kAllSides + 1> by_sides{};

  void Add(uint8_t sides) {
    ++total;
    ++by_sides[sides & kAllSides];
  }
};

// Integers in the order of their numbers.
class IntegerStore {
 public:
  using Value = int64_t;

  size_t size() const { return ids_.size(); }
  uint64_t bytes() const { return ids_.size() * sizeof(int64_t); }
  int64_t operator[](uint32_t number) const { return ids_[number]; }
  void Append(int64_t id) { ids_.push_back(id); }
  void Prefetch(uint32_t number) const { base::Prefetch(&ids_[number]); }
  void PrefetchValue(uint32_t) const {}
  void Clear() { ids_ = {}; }

  static store::MatrixWriter Create(const std::string& path, store::Role role, size_t width);
  static std::span<const std::byte> BytesOf(const int64_t& id) {
    return std::as_bytes(std::span(&id, 1));
  }
  // Write and read one value of a run.
  static void Append(RunFile* file, int64_t id, uint8_t sides);
  static bool Read(RunFile::Reader* reader, int64_t* id, uint8_t* sides);

 private:
  std::vector<int64_t> ids_;
};

// Texts in the order of their numbers.
class TextStore {
 public:
  using Value = std::string;

  size_t size() const { return offsets_.size() - 1; }
  uint64_t bytes() const { return offsets_.size() * sizeof(uint64_t) + arena_.size(); }
  std::string_view operator[](uint32_t number) const {
    return {arena_.data() + offsets_[number], offsets_[number + 1] - offsets_[number]};
  }
  void Append(std::string_view text) {
    arena_.insert(arena_.end(), text.begin(), text.end());
    offsets_.push_back(arena_.size());
  }
  void Prefetch(uint32_t number) const { base::Prefetch(&offsets_[number]); }
  void PrefetchValue(uint32_t number) const { base::Prefetch(arena_.data() + offsets_[number]); }
  void Clear() {
    offsets_ = {0};
    arena_ = {};
  }

  static store::MatrixWriter Create(const std::string& path, store::Role role, size_t width);
  static std::span<const std::byte> BytesOf(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  static void Append(RunFile* file, std::string_view text, uint8_t sides);
  static bool Read(RunFile::Reader* reader, std::string* text, uint8_t* sides);

 private:
  std::vector<uint64_t> offsets_{0};
  std::vector<char> arena_;
};

// Used by one thread.
template <class Store>
class IdCollector {
 public:
  // Whether every id that was added has kept its number: nothing went to the disk yet.
  bool numbered() const { return runs_.empty(); }

  // Creates `path` in the format that the subclass states. No id can be added afterwards.
  IdCounts Write(const std::string& path, store::Role role, Progress* progress);
  // After Write(), if numbered(): the row of each id by its number.
  const std::shared_ptr<const std::vector<uint32_t>>& rows() const { return rows_; }

 protected:
  // Spills when the table takes more than `most_bytes`.
  IdCollector(const Resources& resources, uint64_t most_bytes);

  // Keys is an array of ids. Their numbers go to `numbers` unless it is null.
  template <class Keys>
  void AddAll(const Keys& keys, uint8_t sides, uint32_t* numbers);

 private:
  struct Slot {
    uint32_t number;  // kFree: none
    uint32_t tag;     // part of the hash: most different ids are told apart without looking at them
  };
  static constexpr uint32_t kFree = UINT32_MAX;

  uint64_t bytes(uint64_t slots) const {
    return slots * sizeof(Slot) + sides_.size() + ids_.bytes();
  }
  void MakeRoom(size_t count);
  void Grow();
  template <class Key>
  uint32_t FindOrAdd(const Key& key, uint64_t hash, uint8_t sides);
  // Calls visit(id, sides, number) in ascending order.
  template <class Visit>
  void VisitSorted(const Visit& visit);
  void Spill();

  const std::string temp_dir_;
  const uint64_t most_bytes_;
  std::vector<Slot> slots_;
  Store ids_;
  std::vector<uint8_t> sides_;  // by number
  size_t width_ = 1;            // of the longest id, in bytes
  std::shared_ptr<const std::vector<uint32_t>> rows_;
  std::unique_ptr<RunFile> file_;
  std::vector<RunFile::Run> runs_;
};

// Writes int64, one dimension, ascending.
class IntegerIdCollector : public IdCollector<IntegerStore> {
 public:
  explicit IntegerIdCollector(const Resources& resources);

  void Add(std::span<const int64_t> ids, uint8_t sides = 0, uint32_t* numbers = nullptr);
};

// Writes uint8, with a row for each text that is padded with zeros, in the order of the bytes.
class TextIdCollector : public IdCollector<TextStore> {
 public:
  // A longer id is taken as a mistake: every row of the result is as wide as the longest.
  static constexpr size_t kMaxBytes = 1024;

  explicit TextIdCollector(const Resources& resources);

  // Throws InputError for a text that is empty, too long, or has a zero byte; the message counts
  // its row from `first_row` and calls it `what`, such as "id".
  void Add(const base::TextView& ids, const RowPlaces& places, uint64_t first_row,
           const std::string& what, uint8_t sides = 0, uint32_t* numbers = nullptr);
};

}  // namespace graphzero::compile
