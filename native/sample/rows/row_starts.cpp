#include "sample/rows/row_starts.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <stdexcept>

#include "base/bytes.h"
#include "base/prefetch.h"

namespace graphzero::sample {
namespace {

constexpr uint64_t kWordBits = 64;
// Words for the ones and zeros of a block, which are fewer than 3 x 128.
constexpr uint64_t kMostUnaryWords = 6;
// Rows are prefetched this many rows ahead, so that their cache misses overlap.
constexpr size_t kAhead = 8;
constexpr uint64_t kLineWords = 8;
constexpr uint64_t kPrefetchedLines = 2;  // what a block of usual degrees takes

// Walks over the ones of a string of bits.
class Ones {
 public:
  // Starts at the one with number `at`, which must exist.
  Ones(const uint64_t* words, uint64_t at) : words_(words) {
    word_ = words_[0];
    for (auto count = Count(word_); at >= count; count = Count(word_)) {
      at -= count;
      word_ = words_[++number_];
    }
    for (; at > 0; --at) word_ &= word_ - 1;
  }
  void Next() {
    word_ &= word_ - 1;
    while (word_ == 0) word_ = words_[++number_];
  }
  uint64_t position() const {
    return number_ * kWordBits + static_cast<uint64_t>(std::countr_zero(word_));
  }

 private:
  static uint64_t Count(uint64_t word) { return static_cast<uint64_t>(std::popcount(word)); }

  const uint64_t* const words_;
  uint64_t number_ = 0;
  uint64_t word_;
};

// Returns number `at` of packed numbers of `bits` bits each.
uint64_t PackedNumber(const uint64_t* words, uint64_t at, uint64_t bits) {
  if (bits == 0) return 0;
  const uint64_t first = at * bits;
  const uint64_t shift = first % kWordBits;
  uint64_t number = words[first / kWordBits] >> shift;
  if (shift + bits > kWordBits) number |= words[first / kWordBits + 1] << (kWordBits - shift);
  return number & ((uint64_t{1} << bits) - 1);
}

// Stores number `at` of such numbers. The words must be zero there.
void PackNumber(uint64_t* words, uint64_t at, uint64_t bits, uint64_t number) {
  if (bits == 0) return;
  number &= (uint64_t{1} << bits) - 1;
  const uint64_t first = at * bits;
  const uint64_t shift = first % kWordBits;
  words[first / kWordBits] |= number << shift;
  if (shift + bits > kWordBits) words[first / kWordBits + 1] |= number >> (kWordBits - shift);
}

}  // namespace

void RowStarts::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

// A block whose last row begins at slot u of the block has floor(log2(u / 128)) low bits a row, or
// none: at most log2(1 + u / 128). That is concave in u, and the u of all blocks add up to at most
// `edges`, so that blocks take the most memory if all have the same u.
uint64_t RowStarts::MostBytes(uint64_t rows, uint64_t edges) {
  const uint64_t blocks = base::DivideUp(rows, kBlock);
  const double degree =
      static_cast<double>(edges) / static_cast<double>(std::max<uint64_t>(blocks * kBlock, 1));
  const double low_words = static_cast<double>(kBlock / kWordBits) * std::log2(1 + degree);
  const auto words = static_cast<uint64_t>(std::ceil(static_cast<double>(blocks) * low_words));
  return (blocks + 1) * sizeof(Block) + (words + blocks * kMostUnaryWords) * sizeof(uint64_t);
}

RowStarts::RowStarts(uint64_t rows, uint64_t edges)
    : rows_(rows), memory_(nullptr, Unmap{MostBytes(rows, edges)}) {
  const size_t bytes = memory_.get_deleter().bytes;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_.reset(static_cast<std::byte*>(memory));
  // Rows are looked up at random: with small pages every lookup would miss the TLB.
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  blocks_ = reinterpret_cast<Block*>(memory_.get());
  words_ = reinterpret_cast<uint64_t*>(blocks_ + base::DivideUp(rows, kBlock) + 1);
}

// Goes over rows of one block in order.
class RowStarts::Cursor {
 public:
  Cursor(const RowStarts& starts, uint64_t node)
      : block_(starts.blocks_[node / kBlock]),
        at_(node % kBlock),
        bits_(block_.place & ((1u << kLowBitsWidth) - 1)),
        low_(starts.words_ + (block_.place >> kLowBitsWidth)),
        ones_(low_ + bits_ * kBlock / kWordBits, at_) {}

  uint64_t start() const {
    return block_.start + ((ones_.position() - at_) << bits_ | PackedNumber(low_, at_, bits_));
  }
  // Needs another row in the block.
  void Next() {
    ones_.Next();
    ++at_;
  }

 private:
  const Block& block_;
  uint64_t at_;
  const uint64_t bits_;
  const uint64_t* const low_;
  Ones ones_;
};

store::SlotRange RowStarts::Row(uint64_t node) const {
  Cursor cursor(*this, node);
  const uint64_t begin = cursor.start();
  if (EndsBlock(node)) return {begin, blocks_[node / kBlock + 1].start};
  cursor.Next();
  return {begin, cursor.start()};
}

void RowStarts::Rows(std::span<const uint64_t> nodes, uint64_t* begins, uint64_t* degrees) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    // Prefetches twice, because the Block says where its bits are.
    if (i + 2 * kAhead < nodes.size()) {
      base::Prefetch(blocks_ + nodes[i + 2 * kAhead] / kBlock);
    }
    if (i + kAhead < nodes.size()) {
      const Block& block = blocks_[nodes[i + kAhead] / kBlock];
      const uint64_t* const words = words_ + (block.place >> kLowBitsWidth);
      for (uint64_t line = 0; line < kPrefetchedLines; ++line) {
        base::Prefetch(words + line * kLineWords);
      }
    }
    const store::SlotRange row = Row(nodes[i]);
    begins[i] = row.begin;
    degrees[i] = row.size();
  }
}

void RowStarts::Degrees(uint64_t begin, std::span<int64_t> degrees) const {
  for (size_t i = 0; i < degrees.size();) {
    Cursor cursor(*this, begin + i);
    uint64_t start = cursor.start();
    for (bool last = false; !last && i < degrees.size(); ++i) {
      const uint64_t node = begin + i;
      last = EndsBlock(node);
      if (!last) cursor.Next();
      const uint64_t end = last ? blocks_[node / kBlock + 1].start : cursor.start();
      degrees[i] = static_cast<int64_t>(end - start);
      start = end;
    }
  }
}

uint64_t RowStarts::RowOf(uint64_t slot) const {
  const uint64_t blocks = base::DivideUp(rows_, kBlock);
  const Block* const after =
      std::upper_bound(blocks_, blocks_ + blocks, slot,
                       [](uint64_t wanted, const Block& block) { return wanted < block.start; });
  if (after == blocks_) return 0;
  // Row `first` begins at the slot or before it. Row `last` begins after it or does not exist.
  uint64_t first = static_cast<uint64_t>(after - blocks_ - 1) * kBlock;
  uint64_t last = std::min(first + kBlock, rows_);
  while (last - first > 1) {
    const uint64_t middle = first + (last - first) / 2;
    (Row(middle).begin <= slot ? first : last) = middle;
  }
  return first;
}

RowStartsBuilder::RowStartsBuilder(uint64_t rows, uint64_t edges)
    : edges_(edges), made_(new RowStarts(rows, edges)) {}

bool RowStartsBuilder::Add(std::span<const uint64_t> values) {
  for (const uint64_t value : values) {
    if (value < last_ || value > edges_) return false;
    last_ = value;
    if (taken_++ == made_->rows_) break;  // the end of the last row
    starts_[in_block_++] = value;
    if (in_block_ == RowStarts::kBlock) EndBlock();
  }
  return true;
}

void RowStartsBuilder::EndBlock() {
  const uint64_t count = in_block_;
  const uint64_t longest = starts_[count - 1] - starts_[0];
  const uint64_t blocks_of_it = longest / RowStarts::kBlock;
  const auto bits = static_cast<uint64_t>(blocks_of_it == 0 ? 0 : std::bit_width(blocks_of_it) - 1);
  uint64_t* const low = made_->words_ + words_used_;
  const uint64_t low_words = bits * RowStarts::kBlock / kWordBits;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t value = starts_[i] - starts_[0];
    PackNumber(low, i, bits, value);
    const uint64_t one = (value >> bits) + i;
    low[low_words + one / kWordBits] |= uint64_t{1} << one % kWordBits;
  }
  const uint64_t block = (taken_ - 1) / RowStarts::kBlock;
  made_->blocks_[block] = {starts_[0], words_used_ << RowStarts::kLowBitsWidth | bits};
  words_used_ += low_words + ((longest >> bits) + count - 1) / kWordBits + 1;
  in_block_ = 0;
}

std::unique_ptr<const RowStarts> RowStartsBuilder::Finish() {
  if (!complete()) throw std::logic_error("row starts are not complete");
  --taken_;  // the number of the last row, plus one, as EndBlock() expects it
  if (in_block_ > 0) EndBlock();
  const uint64_t blocks = base::DivideUp(made_->rows_, RowStarts::kBlock);
  made_->blocks_[blocks] = {last_, words_used_ << RowStarts::kLowBitsWidth};
  // Pages that were never written to take no memory, except for the rest of the last huge page.
  made_->bytes_ = (blocks + 1) * sizeof(RowStarts::Block) + words_used_ * sizeof(uint64_t);
  return std::move(made_);
}

}  // namespace graphzero::sample
