// Regions of POSIX shared memory: made by the daemon, mapped by one trainer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "store/file.h"

namespace graphzero::shm {

// The daemon's side. The name exists until Unlink() or the destructor; the memory until both sides
// have unmapped it.
class Region {
 public:
  // Creates `name` ("/graphzero-..."), which must not exist, for this user, and with `group` for
  // its members too. All pages are allocated now: with too little shared memory this throws IoError
  // ENOSPC, where a sparse region would give SIGBUS on touch.
  static std::shared_ptr<Region> Create(const std::string& name, uint64_t size,
                                        std::optional<uint32_t> group);
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  std::byte* data() const { return data_; }
  bool linked() const { return linked_; }  // the name exists

  // Removes the name. Harmless when it is gone already.
  void Unlink();

  // Gives the memory of a range back to the system, and takes it again. Multiples of 4096.
  void Punch(uint64_t offset, uint64_t size);
  void Refill(uint64_t offset, uint64_t size);  // throws IoError ENOSPC

 private:
  Region(std::string name, store::Fd fd, uint64_t size)
      : name_(std::move(name)), fd_(std::move(fd)), size_(size) {}

  std::string name_;
  store::Fd fd_;
  uint64_t size_;
  std::byte* data_ = nullptr;
  bool linked_ = true;
};

// The trainer's side: a region by name, readable and writable.
class RegionView {
 public:
  static std::shared_ptr<RegionView> Open(const std::string& name, uint64_t size);
  RegionView(const RegionView&) = delete;
  RegionView& operator=(const RegionView&) = delete;
  ~RegionView();

  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  RegionView(std::byte* data, uint64_t size) : data_(data), size_(size) {}

  std::byte* data_;
  uint64_t size_;
};

}  // namespace graphzero::shm
