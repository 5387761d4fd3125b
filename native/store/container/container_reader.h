// Opens the container that .gl and .gd files share and proves its table consistent.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/container/container_format.h"
#include "store/files/mapped_file.h"

namespace graphzero::store {

// "out.indptr", "rows", or "kind 99" for a kind that this reader does not know.
std::string SectionName(SectionKind kind);

// First bytes of a file, for telling kinds and versions apart. Zero-filled if the file is shorter.
Magic ReadMagic(const MappedFile& file);

// Whether the first bytes are those of a topology, of any version.
bool IsTopology(const MappedFile& file);

// An open container. Thread-safe: nothing changes after Open().
class Container {
 public:
  // Checks everything that can be checked without reading data sections: magic, version, sizes,
  // reserved bytes, both checksums, the fingerprint, and that the sections lie inside the file and
  // do not overlap. Throws FormatError.
  static Container Open(std::shared_ptr<const MappedFile> file, const Magic& magic);

  const FileHeader& header() const { return header_; }
  std::span<const SectionEntry> sections() const { return sections_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

  // The section of that kind for that relation, or null.
  const SectionEntry* Find(SectionKind kind, uint32_t relation = 0) const;

  // The stored bytes of a section of this container.
  std::span<std::byte> Bytes(const SectionEntry& entry) const {
    return file_->bytes().subspan(entry.offset, entry.stored_bytes);
  }

 private:
  explicit Container(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  void CheckHeader() const;
  void CheckTable();
  bool Understood(const SectionEntry& entry) const;
  void CheckSection(size_t index) const;
  void CheckPlaces() const;  // inside the file, in the order of the table, without overlap
  void IndexSections();      // also refuses two with the same kind and relation
  void CheckChecksumSection() const;
  [[noreturn]] void FailMagic(const Magic& expected) const;
  [[noreturn]] void Fail(const std::string& place, const std::string& found,
                         const std::string& expected) const;

  std::shared_ptr<const MappedFile> file_;
  // Copies: the mapping is writable by views, and its bytes may change under a hostile writer.
  FileHeader header_{};
  std::vector<SectionEntry> sections_;
  // Numbers of the sections, sorted by (kind, relation) for Find(): a typed graph has thousands.
  std::vector<uint32_t> by_kind_;
};

}  // namespace graphzero::store
