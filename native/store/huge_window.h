// A second, passing view of a file that asks the kernel for huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "store/mapped_file.h"

namespace graphzero::store {

// The advice is not given to the file's own mapping: there, it would make every later fault of a
// row read two megabytes. Every wish here may be refused; then nothing happens.
class HugeWindow {
 public:
  // Shows [offset, offset + length) of the file; `offset` is a multiple of kHugePage.
  HugeWindow(const MappedFile& file, uint64_t offset, uint64_t length);
  HugeWindow(const HugeWindow&) = delete;
  HugeWindow& operator=(const HugeWindow&) = delete;
  ~HugeWindow();

  // Reads everything that is not in memory.
  void Read() const { Read({0, length_}); }

  // What lies in memory on small pages, because it was written or read piecemeal, is given up and
  // read again, now on huge ones. Pages that somebody else has mapped, this process by another
  // mapping included, or that are not on the disk yet, stay as they are. Does nothing where the
  // kernel has no huge pages for this file. Use after Read().
  void ReadSmallPagesAgain() const;

 private:
  struct Piece {  // of the window; begins and ends with a huge page
    uint64_t begin;
    uint64_t length;
  };

  void Read(const Piece& piece) const;
  // Drops it from the page cache and reads it.
  void ReadAgain(const Piece& piece) const;
  // Huge pages' worth of small ones that are all here and that only this window has mapped. Empty
  // if the kernel does not tell.
  std::vector<Piece> OnSmallPages() const;
  bool IsMappedHereOnly(const base::Fd& pagemap, const Piece& piece) const;
  bool IsHuge(const Piece& piece) const;

  const MappedFile& file_;
  const uint64_t offset_;
  const uint64_t length_;
  std::byte* reserved_ = nullptr;
  std::byte* window_ = nullptr;
};

}  // namespace graphzero::store
