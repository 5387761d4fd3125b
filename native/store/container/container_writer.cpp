#include "store/container/container_writer.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/bytes.h"

namespace graphzero::store {
namespace {

// Each stream may hold one block. This many more can be on their way to the disk.
constexpr size_t kQueuedBlocks = 4;

static_assert(base::FileWriter::kBufferSize == kChecksumBlock,
              "a block is hashed when its buffer is full");

}  // namespace

std::byte* SectionStream::Room(size_t* size) {
  if (!block_) {
    block_ = file_->TakeBuffer();
    filled_ = 0;
  }
  *size = std::min<uint64_t>(kChecksumBlock - filled_, remaining());
  if (*size == 0) throw std::logic_error("section grew beyond its declared size");
  return block_.get() + filled_;
}

void SectionStream::Advance(size_t size) {
  filled_ += size;
  written_ += size;
  if (filled_ == kChecksumBlock || remaining() == 0) EndBlock();
}

void SectionStream::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    size_t room;
    std::byte* to = Room(&room);
    const size_t size = std::min(room, bytes.size());
    std::memcpy(to, bytes.data(), size);
    bytes = bytes.subspan(size);
    Advance(size);
  }
}

void SectionStream::AppendZeros(uint64_t count) {
  while (count > 0) {
    size_t room;
    std::byte* to = Room(&room);
    const size_t size = std::min<uint64_t>(room, count);
    std::memset(to, 0, size);
    count -= size;
    Advance(size);
  }
}

void SectionStream::EndBlock() {
  checksums_.push_back(base::Checksum({block_.get(), filled_}));
  const size_t padded = base::AlignUp(filled_, kSectionAlign);
  std::memset(block_.get() + filled_, 0, padded - filled_);
  file_->Write(std::move(block_), padded, offset_ + (checksums_.size() - 1) * kChecksumBlock);
}

void SectionStream::EndGrowing() {
  if (filled_ != 0 && block_) EndBlock();
  declared_ = written_;
}

ContainerWriter::ContainerWriter(const std::string& path, const Magic& magic,
                                 std::span<const SectionSpec> sections)
    : file_(base::FileWriter::Create(path, sections.size() + 1 + kQueuedBlocks)), magic_(magic) {
  end_ = base::AlignUp(sizeof(FileHeader) + (sections.size() + 1) * sizeof(SectionEntry),
                       kSectionAlign);
  for (const SectionSpec& spec : sections) Place(spec);
  file_->Reserve(end_ + base::AlignUp(blocks_ * sizeof(uint64_t), kSectionAlign));
}

void ContainerWriter::Place(const SectionSpec& spec) {
  SectionEntry entry{};
  entry.kind = spec.kind;
  entry.flags = spec.optional ? 0 : kMustUnderstand;
  entry.dtype = spec.dtype;
  entry.encoding = spec.encoding;
  entry.relation = spec.relation;
  entry.count = spec.count;
  entry.offset = end_;
  entry.stored_bytes = spec.bytes;
  if (spec.kind != SectionKind::kChecksums) entry.first_block = blocks_;
  entries_.push_back(entry);
  streams_.emplace_back(new SectionStream(file_.get(), end_, spec.bytes));
  if (spec.bytes == kGrowing) return;
  end_ += base::AlignUp(spec.bytes, kSectionAlign);
  blocks_ += base::DivideUp(spec.bytes, kChecksumBlock);
}

void ContainerWriter::EndGrowing(uint64_t count) {
  SectionStream& stream = *streams_.back();
  stream.EndGrowing();
  entries_.back().count = count;
  entries_.back().stored_bytes = stream.declared_;
  end_ += base::AlignUp(stream.declared_, kSectionAlign);
  blocks_ += base::DivideUp(stream.declared_, kChecksumBlock);
}

Fingerprint ContainerWriter::Finish(const Properties& properties, uint32_t optional_flags,
                                    uint32_t required_flags) {
  std::vector<uint64_t> blocks;
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i]->remaining() != 0) throw std::logic_error("section is shorter than declared");
    const std::vector<uint64_t>& checksums = streams_[i]->checksums_;
    entries_[i].checksum = base::Checksum(std::as_bytes(std::span(checksums)));
    blocks.insert(blocks.end(), checksums.begin(), checksums.end());
  }
  Place({SectionKind::kChecksums, DType::kUInt64, blocks.size(), blocks.size() * sizeof(uint64_t)});
  entries_.back().checksum = base::Checksum(std::as_bytes(std::span(blocks)));
  streams_.back()->Append(std::as_bytes(std::span(blocks)));

  const std::span<const std::byte> table = std::as_bytes(std::span(entries_));
  FileHeader header{};
  header.magic = magic_;
  header.version_major = kVersionMajor;
  header.version_minor = kVersionMinor;
  header.header_bytes = sizeof(FileHeader);
  header.file_bytes = end_;
  header.table_offset = sizeof(FileHeader);
  header.section_count = static_cast<uint32_t>(entries_.size());
  header.entry_bytes = sizeof(SectionEntry);
  header.required_flags = required_flags;
  header.optional_flags = optional_flags;
  header.properties = properties;
  header.table_checksum = base::Checksum(table);
  header.fingerprint = FingerprintOf(header, entries_);
  header.header_checksum = base::Checksum(
      {reinterpret_cast<const std::byte*>(&header), offsetof(FileHeader, header_checksum)});

  base::AlignedBuffer front = file_->TakeBuffer();
  const size_t front_bytes = base::AlignUp(sizeof header + table.size(), kSectionAlign);
  std::memset(front.get(), 0, front_bytes);
  std::memcpy(front.get(), &header, sizeof header);
  std::memcpy(front.get() + sizeof header, table.data(), table.size());
  file_->Write(std::move(front), front_bytes, 0);
  file_->Finish(end_);
  return header.fingerprint;
}

}  // namespace graphzero::store
