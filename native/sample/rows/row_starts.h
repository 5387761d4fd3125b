// Where each row of an adjacency begins, in about one byte a row, where indptr takes eight.
//
// A topology that does not fit into memory is read in steps that depend on each other: first where
// a row begins and ends, then its neighbours. With this in memory, the first of the two reads is
// not needed.
//
// Elias-Fano coding, block by block. A block has 128 rows. Let v be the begin of a row, relative to
// the begin of its block. The low bits of all v are stored one after the other, and the high bits
// in unary: the i-th one of a bit string is at position (v >> low bits) + i. The number of low bits
// is chosen so that a block has fewer than twice as many zeros as ones: 2 + log2(degree) bits a row
// in all. Each block chooses its own number, so that a hub costs its own block a few bits and other
// blocks nothing, and the bit of a row is found in at most six words, however the degrees are
// spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "store/topology/topology_reader.h"

namespace graphzero::sample {

// Thread-safe: nothing changes after Finish(). Forked children may use it, too.
class RowStarts {
 public:
  // The most memory that an adjacency with this many rows and edges can take.
  static uint64_t MostBytes(uint64_t rows, uint64_t edges);

  // Needs node < rows. Sound: begin <= end <= edges.
  store::SlotRange Row(uint64_t node) const;
  // begins[i] and degrees[i] of the row nodes[i].
  void Rows(std::span<const uint64_t> nodes, uint64_t* begins, uint64_t* degrees) const;
  // degrees[i] of the row begin + i, in less time than one by one. Needs begin + count <= rows.
  void Degrees(uint64_t begin, std::span<int64_t> degrees) const;
  // The last row that begins at the slot or before; 0 if none does. Needs at least one row.
  uint64_t RowOf(uint64_t slot) const;

  uint64_t bytes() const { return bytes_; }

 private:
  friend class RowStartsBuilder;
  static constexpr uint64_t kBlock = 128;  // rows
  static constexpr int kLowBitsWidth = 6;

  struct Block {
    uint64_t start;
    // The number of the word where the block's bits begin and, in the lowest kLowBitsWidth bits,
    // how many low bits its rows have.
    uint64_t place;
  };

  struct Unmap {
    size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };

  class Cursor;

  RowStarts(uint64_t rows, uint64_t edges);  // throws std::bad_alloc
  bool EndsBlock(uint64_t node) const { return node % kBlock == kBlock - 1 || node + 1 == rows_; }

  const uint64_t rows_;
  // First a Block for each block and one with the end of the last row; then the bits of all blocks.
  std::unique_ptr<std::byte, Unmap> memory_;
  Block* blocks_;
  uint64_t* words_;
  uint64_t bytes_ = 0;
};

// Builds a RowStarts from the values of indptr, in order.
class RowStartsBuilder {
 public:
  // Memory is taken as it fills. Throws std::bad_alloc.
  RowStartsBuilder(uint64_t rows, uint64_t edges);

  // Adds the next values. Returns false if one is below the one before it or above `edges`: the
  // file is damaged, and the builder cannot be finished.
  bool Add(std::span<const uint64_t> values);

  // Whether all rows + 1 values have come.
  bool complete() const { return taken_ == made_->rows_ + 1; }
  // Needs complete(). The builder cannot be used afterwards.
  std::unique_ptr<const RowStarts> Finish();

 private:
  void EndBlock();

  const uint64_t edges_;
  std::unique_ptr<RowStarts> made_;
  uint64_t taken_ = 0;  // values so far
  uint64_t last_ = 0;
  uint64_t in_block_ = 0;
  uint64_t words_used_ = 0;
  uint64_t starts_[RowStarts::kBlock] = {};
};

}  // namespace graphzero::sample
