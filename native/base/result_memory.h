// The memory of result arrays, kept for the results of the next call.
//
// glibc's malloc returns the memory of arrays beyond 32 MiB to the system when they die, and that
// of smaller ones if more is free than twice the largest of them. The kernel then has to find and
// clear the same pages again in the next call: gathering 53 MB of rows took 15 to 130 ms of CPU
// time (most when little memory was free), and takes 11 to 15 ms in memory that was kept. So the
// memory of dead arrays is kept here, up to a limit, and given to new arrays of about that size.
//
// Thread-safe. A forked child keeps its own.
#pragma once

#include <cstddef>
#include <memory>

namespace graphzero::base {

struct KeepResultMemory {
  size_t bytes = 0;
  void operator()(std::byte* memory) const;
};
using ResultMemory = std::unique_ptr<std::byte[], KeepResultMemory>;

// Memory of at least `bytes` bytes, with undefined values. Throws std::bad_alloc.
ResultMemory TakeResultMemory(size_t bytes);

// The most bytes that are kept while no array uses them. Memory beyond that goes back to the
// system, the oldest first. A daemon, whose memory is divided beforehand, keeps nothing
// (ReturnFreedMemory, call.h).
inline constexpr size_t kMostResultMemoryKept = size_t{128} << 20;

// Replaces kMostResultMemoryKept. Takes effect when the next array dies.
void SetResultMemoryLimit(size_t bytes);
size_t ResultMemoryKept();

}  // namespace graphzero::base
