#include "store/container/block_list.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "store/container/legacy_format.h"

namespace graphzero::store {

std::optional<BlockList> BlockList::Open(const std::string& path) {
  auto file = MappedFile::Open(path);
  const Magic magic = ReadMagic(*file);
  if (magic == kLegacyTopologyMagic || magic == kLegacyMatrixMagic) return std::nullopt;
  const Magic& expected = magic == kTopologyMagic ? kTopologyMagic : kMatrixMagic;
  return BlockList(Container::Open(std::move(file), expected));
}

uint64_t BlockList::HeadBytes() const {
  return container_.header().table_offset + container_.sections().size_bytes();
}

FileBlock BlockList::ChecksumTable() const {
  const SectionEntry& entry = *container_.Find(SectionKind::kChecksums);
  return {entry.offset, entry.stored_bytes, entry.checksum};
}

std::vector<FileBlock> BlockList::DataBlocks() const {
  const FileBlock table = ChecksumTable();
  std::vector<uint64_t> checksums(table.bytes / sizeof(uint64_t));
  const auto bytes = std::as_writable_bytes(std::span(checksums));
  container_.file()->Read(table.offset, bytes);
  if (base::Checksum(bytes) != table.checksum) {
    throw FormatError(container_.file()->path(), "checksums section",
                      "checksum " + base::Number(base::Checksum(bytes)),
                      base::Number(table.checksum));
  }
  std::vector<FileBlock> blocks;
  blocks.reserve(checksums.size());
  for (const SectionEntry& s : container_.sections()) {
    if (s.kind == SectionKind::kChecksums) continue;
    // Container::Open() has compared the number of checksums with the sizes of all sections.
    for (uint64_t first = 0; first < s.stored_bytes; first += kChecksumBlock) {
      blocks.push_back({s.offset + first, std::min(kChecksumBlock, s.stored_bytes - first),
                        checksums[s.first_block + first / kChecksumBlock]});
    }
  }
  return blocks;
}

}  // namespace graphzero::store
