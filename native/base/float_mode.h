// The floating-point mode in which the engine computes, whatever mode the program has chosen.
//
// torch.set_flush_denormal(True) makes a thread treat subnormal numbers as zero. Draws by weight
// and quantised values would then differ from those of other programs. A thread that the engine
// starts inherits the mode of the thread that starts it.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphzero::base {

// Computes with subnormal numbers until the end of its scope, on this thread.
class SubnormalScope {
 public:
  SubnormalScope() : before_(Get()) {
    if ((before_ & kFlush) != 0) [[unlikely]]
      Set(before_ & ~kFlush);
  }
  SubnormalScope(const SubnormalScope&) = delete;
  SubnormalScope& operator=(const SubnormalScope&) = delete;
  ~SubnormalScope() {
    if ((before_ & kFlush) != 0) [[unlikely]]
      Set(before_);
  }

 private:
#if defined(__x86_64__)
  static constexpr uint32_t kFlush = 0x8040;  // flush to zero, denormals are zero
  static uint32_t Get() { return _mm_getcsr(); }
  static void Set(uint32_t mode) { _mm_setcsr(mode); }
  const uint32_t before_;
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24 | uint64_t{1} << 19;  // FZ, FZ16
  static uint64_t Get() {
    uint64_t mode = 0;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void Set(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
  const uint64_t before_;
#else
#error "say how subnormal numbers are turned on"
#endif
};

}  // namespace graphzero::base
