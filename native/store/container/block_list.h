// The blocks of a file that have checksums, for programs that copy it: each block can be fetched
// and verified by itself, also while the rest of the file is not there yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "store/container/container_reader.h"

namespace graphzero::store {

struct FileBlock {
  uint64_t offset;  // in the file
  uint64_t bytes;   // at most kChecksumBlock; the table of checksums is one block of any size
  uint64_t checksum;
};

// A file that has its final size, of which at least the header and the section table are there.
// Thread-safe: nothing changes after Open().
class BlockList {
 public:
  // Checks header and section table as every reader does. Empty for a file of GraphZero 0.2, which
  // has no checksums. Throws FormatError, IoError.
  static std::optional<BlockList> Open(const std::string& path);
  // The largest size of header and section table together.
  static constexpr uint64_t kMostHeadBytes =
      sizeof(FileHeader) + uint64_t{kMaxSections} * sizeof(SectionEntry);

  const Fingerprint& fingerprint() const { return container_.header().fingerprint; }

  // The size of header and section table, with which every file begins.
  uint64_t HeadBytes() const;

  // The table of checksums, which must be in the file before DataBlocks() is called.
  FileBlock ChecksumTable() const;

  // All other blocks that have a checksum, in the order of the file. Bytes outside of these blocks,
  // the header and the tables are zero. Throws FormatError if the table of checksums does not match
  // its own checksum.
  std::vector<FileBlock> DataBlocks() const;

 private:
  explicit BlockList(Container container) : container_(std::move(container)) {}

  Container container_;
};

}  // namespace graphzero::store
