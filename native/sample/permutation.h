// A random order of [0, n) of which any part can be computed alone, and the seeds of its batches.
//
// A loader over all nodes of a graph needs the k-th piece of an epoch's order without holding the
// order: eight bytes a node would take more memory than the rest of a trainer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace graphzero::sample {

// Item p of the order is At(p): a bijection of [0, n), a function of (seed, epoch, n) alone.
//
// Case 1, n <= kExact: a Fisher-Yates shuffle, so that every order is equally likely as far as the
// draws go. In a short order, anything less would show.
// Case 2: a Feistel network on pairs (left, right) of [0, a) x [0, b) with a * b >= n, a and b next
// to the root of n. A round adds a keyed hash of one half to the other, modulo its size, which can
// be undone, so the whole is a bijection of [0, a * b). Values of n or more, at most one in 64, are
// sent through the network again until the result is below n (cycle walking), which makes it a
// bijection of [0, n).
//
// Thread-safe: nothing changes after the constructor.
class Permutation {
 public:
  static constexpr uint64_t kExact = 4096;

  Permutation(uint64_t n, uint64_t seed, uint64_t epoch);  // n > 0

  uint64_t At(uint64_t position) const;  // position < n
  // out[i] = At(first + i).
  void Fill(uint64_t first, std::span<int64_t> out) const;

 private:
  // Four rounds make a Feistel network with random rounds hard to tell from a random bijection; the
  // other four are margin, at 3 ns each.
  static constexpr int kRounds = 8;

  uint64_t Encrypt(uint64_t value) const;

  uint64_t n_;
  uint64_t left_size_ = 0;
  uint64_t right_size_ = 0;
  std::array<uint64_t, kRounds> keys_{};
  std::vector<uint64_t> order_;  // case 1
};

// The seed of a loader's batch. Batches of one epoch never share it, and different loader seeds or
// epochs give unrelated ones.
uint64_t BatchSeed(uint64_t loader_seed, uint64_t epoch, uint64_t batch);

}  // namespace graphzero::sample
