// A second, temporary mapping of a file that asks the kernel for huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "store/mapped_file.h"

namespace graphzero::store {

// The file's own mapping does not get this advice, because every later fault of a row would then
// read two megabytes. The kernel may refuse any of this; then nothing happens.
class HugeWindow {
 public:
  // Maps [offset, offset + length) of the file; `offset` is a multiple of kHugePage.
  HugeWindow(const MappedFile& file, uint64_t offset, uint64_t length);
  HugeWindow(const HugeWindow&) = delete;
  HugeWindow& operator=(const HugeWindow&) = delete;
  ~HugeWindow();

  // Reads everything that is not in memory.
  void Read() const { Read({0, length_}); }

  // Evicts what lies in the page cache on small pages, because it was written or read piecemeal,
  // and reads it again, now on huge pages. Pages that have another mapping, in this process or
  // another, or that are not on the disk yet, stay as they are. Does nothing where the kernel has
  // no huge pages for this file. Use after Read().
  void ReadSmallPagesAgain() const;

 private:
  struct Piece {  // of the window; begins and ends with a huge page
    uint64_t begin;
    uint64_t length;
  };

  void Read(const Piece& piece) const;
  // Evicts the piece from the page cache and reads it.
  void ReadAgain(const Piece& piece) const;
  // Pieces of the size of a huge page that are in memory on small pages, all of which only this
  // window has mapped. Empty if the kernel does not tell.
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
