// Copies that leave the caches alone.
//
// A batch is larger than the caches and is read by another process, later. Ordinary stores would
// first read every line of the destination that they are going to overwrite, and would throw out
// of the caches what the sampler needs; non-temporal ones write whole lines past them. Measured on
// 512-byte rows: 3.1 -> 9.1 GB/s on one thread, 3.6 -> 8.2 on two, and 13 with both on huge pages.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace graphzero::gather {

inline constexpr size_t kCacheLine = 64;
// Non-temporal stores are this wide. They need not begin on a cache line: the processor collects
// neighbouring ones, also those of the next row, and writes whole lines.
inline constexpr size_t kStreamUnit = 16;

// Non-temporal copy: `to` and `bytes` are multiples of kStreamUnit, `from` may lie anywhere.
// EndStream() must follow before another thread or process is told about the bytes.
inline void StreamUnits(std::byte* to, const std::byte* from, size_t bytes) {
#if defined(__SSE2__)
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  size_t left = bytes / kStreamUnit;
  for (; left >= 4; left -= 4, source += 4, target += 4) {
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  for (; left > 0; --left) _mm_stream_si128(target++, _mm_loadu_si128(source++));
#else
  std::memcpy(to, from, bytes);
#endif
}

// Makes what StreamUnits() wrote visible before anything that this thread stores afterwards.
inline void EndStream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Appends pieces of any size to a destination as one stream of whole lines. Pieces that do not
// begin or end on a line meet in a small buffer that stays in the first-level cache.
class LineStream {
 public:
  explicit LineStream(std::byte* to) {
    // The buffer is laid out as the destination is, so that its lines are the destination's.
    fill_ = reinterpret_cast<size_t>(to) % kCacheLine;
    begin_ = fill_;
    to_ = to - fill_;
  }
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;
  ~LineStream() {
    Flush();
    std::memcpy(to_ + begin_, buffer_ + begin_, fill_ - begin_);
    EndStream();
  }

  void Append(const std::byte* from, size_t bytes) {
    while (bytes > 0) {
      const size_t piece = bytes < sizeof(buffer_) - fill_ ? bytes : sizeof(buffer_) - fill_;
      std::memcpy(buffer_ + fill_, from, piece);
      fill_ += piece;
      from += piece;
      bytes -= piece;
      if (fill_ == sizeof(buffer_)) Flush();
    }
  }

 private:
  // Writes the whole lines of the buffer and moves what is left of the last one to its start.
  void Flush() {
    size_t done = 0;
    if (begin_ > 0) {  // the first line belongs in part to someone else
      if (fill_ < kCacheLine) return;
      std::memcpy(to_ + begin_, buffer_ + begin_, kCacheLine - begin_);
      begin_ = 0;
      done = kCacheLine;
    }
    const size_t lines = fill_ / kCacheLine * kCacheLine;
    StreamUnits(to_ + done, buffer_ + done, lines - done);
    std::memmove(buffer_, buffer_ + lines, fill_ - lines);
    to_ += lines;
    fill_ -= lines;
  }

  alignas(kCacheLine) std::byte buffer_[4096];
  std::byte* to_;  // where buffer_[0] goes
  size_t begin_;   // buffer_ before this is not ours
  size_t fill_;
};

}  // namespace graphzero::gather
