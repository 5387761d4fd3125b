// Integers of 4 or 8 bytes in a mapping that someone else may write to.
#pragma once

#include <cstdint>

namespace graphzero::store {

// Reads a value of a mapping exactly once. Someone may write to the file meanwhile: without this,
// the compiler could read a value again after it was checked and use another one.
template <class T>
T ReadOnce(const T* at) {
  return *static_cast<const volatile T*>(at);
}

// Unsigned integers of 4 or 8 bytes, as the file stores them.
struct IntegerArray {
  const void* data = nullptr;
  uint32_t width = 0;  // 4 or 8; 0 when absent

  bool present() const { return width != 0; }
  uint64_t operator[](uint64_t i) const {
    return width == 4 ? ReadOnce(static_cast<const uint32_t*>(data) + i)
                      : ReadOnce(static_cast<const uint64_t*>(data) + i);
  }
};

}  // namespace graphzero::store
