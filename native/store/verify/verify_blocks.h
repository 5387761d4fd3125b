// A team of threads reads the blocks of a file once, and checks their checksums and the rules of
// each section.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/container/container_reader.h"
#include "store/verify/verify.h"

namespace graphzero::store {

struct Finding {
  std::string place;  // inside the section: "row 12"
  std::string found;
  std::string expected;
};

// Checks one block of a section; `first` is the block's first byte, counted in the section. Called
// for each block once, by several threads, in no order. Returns the first fault.
using BlockCheck =
    std::function<std::optional<Finding>(uint64_t first, std::span<const std::byte> bytes)>;

// A run of bytes in the file.
struct Extent {
  std::string name;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  const SectionEntry* entry = nullptr;  // null: the bytes have no checksums
  BlockCheck check;                     // empty: nothing to check but checksums
};

// Problems found so far, as lines.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  void Add(const std::string& place, const std::string& found, const std::string& expected);
  // The lines that were added; if there are more than kShown, a last line counts the rest.
  std::vector<std::string> Lines() const;

 private:
  static constexpr size_t kShown = 100;
  std::string file_;
  std::vector<std::string> lines_;
  size_t count_ = 0;
};

// Verifies extents of one file. Not thread-safe; its own threads are gone when Check() returns.
class BlockVerifier {
 public:
  // `container` is null for a file of GraphZero 0.2. Reads and checks the table of block checksums.
  BlockVerifier(const MappedFile& file, const Container* container, const VerifyOptions& options,
                Problems* problems);

  // Reads the extents and adds what is wrong in them to the problems. Returns true if nothing is
  // wrong.
  bool Check(std::span<const Extent> extents);

 private:
  struct Block {
    size_t extent;
    uint64_t first;  // its first byte, counted in the extent
    uint64_t size;
    uint64_t checksum = 0;
    bool unreadable = false;
    std::unique_ptr<Finding> finding;  // a pointer: files have many blocks, few findings
  };

  void LoadChecksums(const Container& container);
  void ReadBlocks(std::span<const Extent> extents, std::span<Block> blocks) const;
  void ReadBlock(const Extent& extent, Block* block, std::byte* buffer) const;
  bool Judge(const Extent& extent, std::span<const Block> blocks);
  bool JudgeChecksums(const Extent& extent, std::span<const Block> blocks,
                      std::vector<bool>* damaged);

  const MappedFile& file_;
  const VerifyOptions& options_;
  Problems* problems_;
  std::vector<uint64_t> checksums_;  // the file's own table
};

}  // namespace graphzero::store
