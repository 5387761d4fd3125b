// Writes the container that .gl and .gd files share: sections are streams, whose checksums are
// computed as they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_writer.h"
#include "store/container/container_format.h"

namespace graphzero::store {

// Declared size of a section that grows until ContainerWriter::EndGrowing() is called.
inline constexpr uint64_t kGrowing = UINT64_MAX;

// One section being written, front to back. Several sections of a file may grow side by side, each
// from one thread at a time.
class SectionStream {
 public:
  void Append(std::span<const std::byte> bytes);

  // Appends `count` zero bytes.
  void AppendZeros(uint64_t count);

  // Bytes still to come before the declared size is reached.
  uint64_t remaining() const { return declared_ - written_; }

 private:
  friend class ContainerWriter;
  SectionStream(base::FileWriter* file, uint64_t offset, uint64_t declared)
      : file_(file), offset_(offset), declared_(declared) {}
  std::byte* Room(size_t* size);
  void Advance(size_t size);
  void EndBlock();
  void EndGrowing();

  base::FileWriter* file_;
  uint64_t offset_;
  uint64_t declared_;
  uint64_t written_ = 0;
  base::AlignedBuffer block_;
  size_t filled_ = 0;
  std::vector<uint64_t> checksums_;
};

struct SectionSpec {
  SectionKind kind;
  DType dtype;
  uint64_t count;
  uint64_t bytes;  // or kGrowing, for the last section only
  // A reader that does not know the kind may ignore the section.
  bool optional = false;
  // The number of the relation that the section belongs to or, for node times, of the type.
  uint32_t relation = 0;
  Encoding encoding = Encoding::kRaw;
};

// Usage: declare every section, fill each stream to its declared size, Finish(). A file that was
// not finished is left behind unreadable. Renaming a finished file to its final name is the
// caller's business (files/publish.py of the Python package).
class ContainerWriter {
 public:
  ContainerWriter(const std::string& path, const Magic& magic,
                  std::span<const SectionSpec> sections);

  SectionStream& stream(size_t index) { return *streams_[index]; }

  // Reserves disk space for a growing section that is expected to take `bytes`.
  void ReserveGrowing(uint64_t bytes) { file_->Reserve(end_ + bytes); }
  // Ends the last section, which was declared as kGrowing. It then has the appended bytes, `count`
  // items.
  void EndGrowing(uint64_t count);

  // Writes checksums, table and header, and makes the file durable. Returns its fingerprint.
  // Throws std::logic_error if a stream is not full.
  Fingerprint Finish(const Properties& properties, uint32_t optional_flags,
                     uint32_t required_flags = 0);

 private:
  void Place(const SectionSpec& spec);

  std::unique_ptr<base::FileWriter> file_;
  Magic magic_;
  std::vector<SectionEntry> entries_;  // Finish() adds the checksum section
  std::vector<std::unique_ptr<SectionStream>> streams_;
  uint64_t blocks_ = 0;  // checksum blocks of the sections placed so far
  uint64_t end_ = 0;     // where the next section begins
};

}  // namespace graphzero::store
