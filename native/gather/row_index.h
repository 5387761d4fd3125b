// Where the rows of one shard lie, and which ones left it lately.
#pragma once

#include <cstdint>
#include <vector>

#include "base/prefetch.h"

namespace graphzero::gather {

// A place in one of the two logs of a shard. Positions have 31 bits.
struct RowPlace {
  uint32_t position;
  bool main;
};

// Open addressing with linear probing and without tombstones. Cells hold part of the hash (a tag)
// beside the place, so that the row itself is read only if the tag agrees.
class RowIndex {
 public:
  // Calls same(place) for candidates until it returns true; false if none did.
  template <class Same>
  bool Find(uint64_t hash, RowPlace* found, const Same& same) const {
    for (size_t at = Home(hash); cells_[at].tag != 0; at = Next(at)) {
      if (cells_[at].tag == Tag(hash) && same(cells_[at].place())) {
        *found = cells_[at].place();
        return true;
      }
    }
    return false;
  }

  // Prefetch the cell that Find() looks at first, or the cells that an insertion or an eviction
  // writes to.
  void PrefetchToFind(uint64_t hash) const { base::Prefetch(&cells_[Home(hash)]); }
  void PrefetchToChange(uint64_t hash) const {
    base::Prefetch<base::Use::kWrite>(&cells_[Home(hash)]);
    base::Prefetch<base::Use::kWrite>(&ghosts_[Home(hash)]);
  }

  // Guesses the place of the row by its tag, without reading the row. False if no tag agrees.
  bool Guess(uint64_t hash, RowPlace* place) const {
    return Find(hash, place, [](RowPlace) { return true; });
  }

  // Throws std::bad_alloc and then changes nothing.
  void MakeRoomForOne() {
    if (2 * (count_ + 1) > cells_.size()) Grow();
  }

  // The row must not be in the index, and MakeRoomForOne() must have been called. Cannot fail: a
  // row that is written to a log and then not entered here could never be evicted.
  void Insert(uint64_t hash, RowPlace place) noexcept {
    InsertCell(Cell(Tag(hash), place));
    ++count_;
  }

  // The row at `place` must be in the index.
  void Erase(uint64_t hash, RowPlace place) {
    size_t hole = Home(hash);
    while (!(cells_[hole].tag == Tag(hash) && cells_[hole].Is(place))) hole = Next(hole);
    // Cells behind the hole move into it, unless that is before their home: no probe then meets an
    // empty cell before the row that it looks for.
    for (size_t at = Next(hole); cells_[at].tag != 0; at = Next(at)) {
      const size_t home = HomeOf(cells_[at].tag);
      const bool may_move = ((at - home) & mask_) >= ((at - hole) & mask_);
      if (!may_move) continue;
      cells_[hole] = cells_[at];
      hole = at;
    }
    cells_[hole] = {};
    --count_;
  }

  // Changes the place of a row, which must be in the index.
  void Move(uint64_t hash, RowPlace from, RowPlace to) {
    size_t at = Home(hash);
    while (!(cells_[at].tag == Tag(hash) && cells_[at].Is(from))) at = Next(at);
    cells_[at] = Cell(Tag(hash), to);
  }

  // A memory of rows that left the shard, with one slot for each cell; a newer row overwrites an
  // older one in the same slot. Recall() tells whether a row is remembered, and forgets it.
  void Remember(uint64_t hash) { ghosts_[Home(hash)] = Tag(hash); }
  bool Recall(uint64_t hash) {
    uint32_t& ghost = ghosts_[Home(hash)];
    const bool known = ghost == Tag(hash);
    if (known) ghost = 0;
    return known;
  }

  uint64_t count() const { return count_; }
  uint64_t bytes() const { return cells_.size() * sizeof(Cell) + ghosts_.size() * 4; }

 private:
  static constexpr size_t kFewestCells = 64;

  struct Cell {
    Cell() = default;
    Cell(uint32_t tag_of_row, RowPlace place)
        : tag(tag_of_row), where(place.position << 1 | (place.main ? 1u : 0u)) {}
    RowPlace place() const { return {where >> 1, (where & 1) != 0}; }
    bool Is(RowPlace other) const { return where == Cell(0, other).where; }

    uint32_t tag = 0;  // 0: empty
    uint32_t where = 0;
  };

  // The tag is the upper bits of the hash, and the home follows from the tag: cells can then be
  // moved without reading their rows, which lie anywhere in memory. The lowest bits of the hash
  // chose the shard.
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 33) + 1; }
  size_t HomeOf(uint32_t tag) const { return tag & mask_; }
  size_t Home(uint64_t hash) const { return HomeOf(Tag(hash)); }
  size_t Next(size_t at) const { return (at + 1) & mask_; }

  void InsertCell(Cell cell) {
    size_t at = HomeOf(cell.tag);
    while (cells_[at].tag != 0) at = Next(at);
    cells_[at] = cell;
  }

  void Grow() {
    const size_t cells = 2 * cells_.size();
    std::vector<Cell> old(cells);
    std::vector<uint32_t> ghosts(cells);
    old.swap(cells_);
    ghosts_.swap(ghosts);
    mask_ = cells - 1;
    for (const Cell& cell : old) {
      if (cell.tag != 0) InsertCell(cell);
    }
  }

  std::vector<Cell> cells_ = std::vector<Cell>(kFewestCells);
  std::vector<uint32_t> ghosts_ = std::vector<uint32_t>(kFewestCells);
  size_t mask_ = kFewestCells - 1;
  uint64_t count_ = 0;
};

}  // namespace graphzero::gather
