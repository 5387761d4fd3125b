#include "sample/permutation.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "sample/random.h"

namespace graphzero::sample {
namespace {

// Smallest r with r * r >= n. The root is a guess to start from: it is corrected in integers, so
// that its rounding does not matter.
uint64_t CeilRoot(uint64_t n) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(n)));
  const auto square = [](uint64_t r) { return static_cast<unsigned __int128>(r) * r; };
  while (square(root) >= n && root > 1) --root;
  while (square(root) < n) ++root;
  return root;
}

// A hash of `half` below `size`. The bias of multiply-shift, size / 2^64, is too small to matter
// here.
uint64_t Hash(uint64_t key, uint64_t half, uint64_t size) {
  const uint64_t mixed = base::Mix64(key + (half + 1) * base::kGoldenRatio);
  return static_cast<uint64_t>(static_cast<unsigned __int128>(mixed) * size >> 64);
}

uint64_t AddModulo(uint64_t a, uint64_t b, uint64_t size) {
  const uint64_t sum = a + b;  // sizes are near 2^32: no overflow
  return sum >= size ? sum - size : sum;
}

std::vector<uint64_t> Shuffled(uint64_t n, Draws draws) {
  std::vector<uint64_t> order(n);
  std::iota(order.begin(), order.end(), uint64_t{0});
  for (uint64_t left = n; left > 1; --left) std::swap(order[left - 1], order[draws.Below(left)]);
  return order;
}

}  // namespace

Permutation::Permutation(uint64_t n, uint64_t seed, uint64_t epoch) : n_(n) {
  Draws draws = RequestDraws(seed, Domain::kShuffles).Child(epoch);
  if (n <= kExact) {
    order_ = Shuffled(n, draws);
    return;
  }
  left_size_ = CeilRoot(n);
  right_size_ = (n + left_size_ - 1) / left_size_;
  for (uint64_t& key : keys_) key = draws.Next();
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  uint64_t left = value / right_size_;
  uint64_t right = value % right_size_;
  for (int round = 0; round < kRounds; round += 2) {
    left = AddModulo(left, Hash(keys_[round], right, left_size_), left_size_);
    right = AddModulo(right, Hash(keys_[round + 1], left, right_size_), right_size_);
  }
  return left * right_size_ + right;
}

uint64_t Permutation::At(uint64_t position) const {
  if (!order_.empty()) return order_[position];
  uint64_t value = Encrypt(position);
  while (value >= n_) value = Encrypt(value);
  return value;
}

void Permutation::Fill(uint64_t first, std::span<int64_t> out) const {
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(At(first + i));
}

uint64_t BatchSeed(uint64_t loader_seed, uint64_t epoch, uint64_t batch) {
  return RequestDraws(loader_seed, Domain::kBatchSeeds).Child(epoch).Child(batch).Next();
}

}  // namespace graphzero::sample
