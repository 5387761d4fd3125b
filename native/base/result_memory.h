// The memory of result arrays, kept for the results of the next call.
//
// glibc's malloc returns the memory of arrays beyond 32 MiB to the system when they die, and that
// of smaller ones if more is free than twice the largest of them. The kernel then has to find and
// clear the same pages again in the next call: gathering 53 MB of rows took 15 to 130 ms of CPU
// time, the more the less memory was free, and takes 11 to 15 in memory that was kept. So what
// arrays leave behind is kept here, up to a limit, and given to arrays of about that size.
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

// Room for at least so many bytes, with undefined values. Throws std::bad_alloc.
ResultMemory TakeResultMemory(size_t bytes);

// What is kept while no array uses it, at most; more of it goes back to the system, the oldest
// first. A daemon, whose memory is divided beforehand, keeps nothing (ReturnFreedMemory, call.h).
inline constexpr size_t kMostResultMemoryKept = size_t{128} << 20;

// Takes effect as arrays die.
void SetResultMemoryLimit(size_t bytes);
size_t ResultMemoryKept();

}  // namespace graphzero::base
