// Cache lines that are asked for before they are needed, so that cache misses overlap.
//
// GCC 12 takes a function that does nothing but prefetch for one without any effect. It drops the
// calls of such a function, and of functions that only call such functions, unless it has inlined
// them before it looks. The empty assembler statement is an effect that it must keep.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphzero::base {

inline constexpr size_t kCacheLine = 64;

// What is done with the line when it has come.
enum class Use { kRead, kReadOnce, kWrite };

template <Use kUse = Use::kRead>
[[gnu::always_inline]] inline void Prefetch(const void* at) {
  __builtin_prefetch(at, kUse == Use::kWrite ? 1 : 0, kUse == Use::kReadOnce ? 0 : 3);
  asm volatile("");
}

// All lines that have any of these bytes, which need not begin at the start of a line.
template <Use kUse = Use::kRead>
[[gnu::always_inline]] inline void PrefetchLines(const void* begin, size_t bytes) {
  if (bytes == 0) return;
  const auto first = reinterpret_cast<uintptr_t>(begin);
  for (uintptr_t at = first / kCacheLine * kCacheLine; at < first + bytes; at += kCacheLine) {
    Prefetch<kUse>(reinterpret_cast<const void*>(at));
  }
}

}  // namespace graphzero::base
