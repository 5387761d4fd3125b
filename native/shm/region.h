// Regions of POSIX shared memory: made by the daemon, mapped by one trainer.
//
// The trainer can cut its region at any moment, and touching the missing part raises SIGBUS.
// Sealing would prevent that, but is not possible for a file that shm_open opens by its name (tried
// on Linux 6.18): files of tmpfs carry F_SEAL_SEAL from the start, so F_ADD_SEALS is EPERM, with
// O_TMPFILE too; a memfd, which can be sealed, lies on another mount and gets no name there (linkat
// is EXDEV); shm_open follows no symbolic link to /proc/PID/fd; the append-only flag needs a
// capability, and with it the trainer could not open the file for writing and the daemon could not
// punch holes in it. So the daemon's mapping is guarded by base/fault_guard.h instead: a fault
// costs the trainer its session and nobody else anything.
//
// A name is "/NAME", which only this user can open, or "/FOLDER/NAME" below a PrivateFolder. The
// latter is for regions that members of a group may open: whoever may connect could otherwise list
// /dev/shm and open the region of another trainer before that trainer does. Members can enter the
// folder but not list it, so only the trainer that was told the name (128 random bits, sent on its
// own stream) can open the region. shm_open takes no folders, open() does: both reach the same file
// system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/fault_guard.h"
#include "base/file.h"

namespace graphzero::shm {

// A folder in /dev/shm that members of a group can enter but not list.
class PrivateFolder {
 public:
  // `name` must not exist. Throws IoError.
  PrivateFolder(const std::string& name, uint32_t group);
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();  // removes it, if it is empty

 private:
  std::string path_;
};

// The daemon's side. The name exists until Unlink() or the destructor; the memory until both sides
// have unmapped it. Thread-safe, but for Create() and the destructor. Everything here except
// Damage() may take milliseconds and must not be called with a lock that others wait for.
class Region {
 public:
  // Creates `name`, which must not exist, for this user, and with `group` for its members too. All
  // pages are allocated now: with too little shared memory this throws IoError ENOSPC, where a
  // sparse region would give SIGBUS on touch.
  static std::unique_ptr<Region> Create(const std::string& name, uint64_t size,
                                        std::optional<uint32_t> group);
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

  // How many regions this process has, each with a descriptor.
  static size_t count() { return count_; }

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  std::byte* data() const { return data_; }

  // Removes the name. Harmless when it is gone already.
  void Unlink();

  // Punch() gives the memory of a range back to the system, and returns false if the system
  // refused; Refill() takes memory for the range again. Offset and size are multiples of 4096.
  bool Punch(uint64_t offset, uint64_t size);
  void Refill(uint64_t offset, uint64_t size);  // throws IoError ENOSPC

  // Whether no other process has the region open or mapped; also true where the system cannot tell.
  bool OnlyHere() const;

  // A message for the trainer that says how the region was damaged; empty if it is as it was made.
  // After an empty message, everything that was written before the call has arrived, unless the
  // trainer has removed it since.
  std::string Damage() const;

 private:
  Region(std::string name, base::Fd fd, uint64_t size)
      : name_(std::move(name)), fd_(std::move(fd)), size_(size) {
    ++count_;
  }

  static inline std::atomic<size_t> count_ = 0;

  std::string name_;
  base::Fd fd_;
  uint64_t size_;
  std::byte* data_ = nullptr;
  std::optional<base::FaultGuard> guard_;
  std::atomic<bool> linked_ = true;  // the name exists
};

// The trainer's side: a region by name, readable and writable.
class RegionView {
 public:
  // Throws FormatError if no daemon would give this name, or if the region is too small.
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
