// Growing arrays for working memory: never initialised, kept between calls, counted (base/call.h).
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/call.h"

namespace graphzero::base {

// A std::vector would write zeros that are overwritten at once. Movable; a moved-from Buffer may
// only be destroyed. Only one thread may grow it.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Makes room for `count` items and preserves the first `keep`. Throws std::bad_alloc, and
  // NeedsMemory if the current call may not have that much memory.
  void Reserve(size_t count, size_t keep = 0) {
    if (count <= capacity_) return;
    const size_t capacity = std::max(count, capacity_ + capacity_ / 2);
    if (keep == 0) {  // holding the old and the new array together would take twice the memory
      data_.reset();
      capacity_ = 0;
    }
    std::unique_ptr<T[], Free> grown = Allocate(capacity);
    if (keep > 0) std::memcpy(grown.get(), data_.get(), keep * sizeof(T));
    data_ = std::move(grown);
    capacity_ = capacity;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  size_t bytes() const { return capacity_ * sizeof(T); }

 private:
  struct Free {
    size_t bytes = 0;
    void operator()(T* p) const {
      std::free(p);
      GiveWork(bytes);
    }
  };

  // Large arrays use huge pages: tables are probed at random, and on small pages every probe would
  // miss the TLB.
  static std::unique_ptr<T[], Free> Allocate(size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = count * sizeof(T);
    TakeWork(bytes);
    void* memory = nullptr;
    if (bytes < kHugePage) {
      memory = std::malloc(bytes);
    } else {
      const size_t rounded = AlignUp(bytes, kHugePage);
      memory = std::aligned_alloc(kHugePage, rounded);
      if (memory != nullptr) madvise(memory, rounded, MADV_HUGEPAGE);
    }
    if (memory == nullptr) {
      GiveWork(bytes);
      throw std::bad_alloc();
    }
    return {static_cast<T*>(memory), Free{bytes}};
  }

  std::unique_ptr<T[], Free> data_;
  size_t capacity_ = 0;
};

// For lists whose length depends on the request and is not known beforehand.
template <class T>
using WorkVector = std::vector<T, WorkAllocator<T>>;

// The memory that a list has taken.
template <class T>
size_t BytesOf(const WorkVector<T>& list) {
  return list.capacity() * sizeof(T);
}

}  // namespace graphzero::base
