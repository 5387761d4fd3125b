#include "store/container/container_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/text.h"
#include "store/container/legacy_format.h"

namespace graphzero::store {
namespace {

using base::Number;

bool KnownKind(SectionKind kind, const Magic& magic) {
  switch (kind) {
    case SectionKind::kChecksums:
      return true;
    case SectionKind::kRows:
    case SectionKind::kRowShape:
    case SectionKind::kDescription:
    case SectionKind::kRowsById:
    case SectionKind::kQuantisation:
    case SectionKind::kShard:
      return magic == kMatrixMagic;
    case SectionKind::kOutIndptr:
    case SectionKind::kOutIndices:
    case SectionKind::kOutWeights:
    case SectionKind::kOutEdgeIds:
    case SectionKind::kOutTimes:
    case SectionKind::kOutSlotTimes:
    case SectionKind::kInIndptr:
    case SectionKind::kInIndices:
    case SectionKind::kInWeights:
    case SectionKind::kInEdgeIds:
    case SectionKind::kInTimes:
    case SectionKind::kInSlotTimes:
    case SectionKind::kWeightName:
    case SectionKind::kSchema:
    case SectionKind::kNodeTimes:
    case SectionKind::kNodesByTime:
    case SectionKind::kTimesByTime:
    case SectionKind::kTimeUnit:
      return magic == kTopologyMagic;
  }
  return false;
}

using Key = std::pair<SectionKind, uint32_t>;

Key KeyOf(const SectionEntry& entry) { return {entry.kind, entry.relation}; }

template <size_t N>
bool AllZero(const std::array<uint8_t, N>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; });
}

}  // namespace

std::string SectionName(SectionKind kind) {
  switch (kind) {
    case SectionKind::kChecksums:
      return "checksums";
    case SectionKind::kOutIndptr:
      return "out.indptr";
    case SectionKind::kOutIndices:
      return "out.indices";
    case SectionKind::kOutWeights:
      return "out.weights";
    case SectionKind::kOutEdgeIds:
      return "out.edge_ids";
    case SectionKind::kOutTimes:
      return "out.times";
    case SectionKind::kOutSlotTimes:
      return "out.slot_times";
    case SectionKind::kInIndptr:
      return "in.indptr";
    case SectionKind::kInIndices:
      return "in.indices";
    case SectionKind::kInWeights:
      return "in.weights";
    case SectionKind::kInEdgeIds:
      return "in.edge_ids";
    case SectionKind::kInTimes:
      return "in.times";
    case SectionKind::kInSlotTimes:
      return "in.slot_times";
    case SectionKind::kWeightName:
      return "weight_name";
    case SectionKind::kSchema:
      return "schema";
    case SectionKind::kNodeTimes:
      return "node_times";
    case SectionKind::kNodesByTime:
      return "nodes_by_time";
    case SectionKind::kTimesByTime:
      return "times_by_time";
    case SectionKind::kTimeUnit:
      return "time_unit";
    case SectionKind::kRows:
      return "rows";
    case SectionKind::kRowShape:
      return "row_shape";
    case SectionKind::kDescription:
      return "description";
    case SectionKind::kRowsById:
      return "rows_by_id";
    case SectionKind::kQuantisation:
      return "quantisation";
    case SectionKind::kShard:
      return "shard";
  }
  return "kind " + Number(static_cast<uint32_t>(kind));
}

Magic ReadMagic(const MappedFile& file) {
  Magic magic{};
  const auto bytes = std::as_writable_bytes(std::span(magic));
  file.Read(0, bytes.first(std::min<size_t>(bytes.size(), file.size())));
  return magic;
}

bool IsTopology(const MappedFile& file) {
  const Magic magic = ReadMagic(file);
  return magic == kTopologyMagic || magic == kLegacyTopologyMagic;
}

void Container::Fail(const std::string& place, const std::string& found,
                     const std::string& expected) const {
  throw FormatError(file_->path(), place, found, expected);
}

Container Container::Open(std::shared_ptr<const MappedFile> file, const Magic& magic) {
  Container container(std::move(file));
  const MappedFile& mapped = *container.file_;
  if (ReadMagic(mapped) != magic) container.FailMagic(magic);
  if (mapped.size() < sizeof(FileHeader)) {
    container.Fail("header", Number(mapped.size()) + " bytes",
                   "at least " + Number(sizeof(FileHeader)) + "; the file is cut short");
  }
  mapped.Read(0, std::as_writable_bytes(std::span(&container.header_, 1)));
  container.CheckHeader();
  container.sections_.resize(container.header_.section_count);
  mapped.Read(container.header_.table_offset,
              std::as_writable_bytes(std::span(container.sections_)));
  container.CheckTable();
  return container;
}

void Container::FailMagic(const Magic& expected) const {
  const Magic found = ReadMagic(*file_);
  const bool topology = IsTopology(*file_);
  const bool matrix = found == kMatrixMagic || found == kLegacyMatrixMagic;
  Fail("byte 0",
       topology ? "a topology (.gl)"
       : matrix ? "a matrix (.gd)"
                : "an unknown kind of file",
       expected == kTopologyMagic ? "a topology (.gl)" : "a matrix (.gd)");
}

void Container::CheckHeader() const {
  const FileHeader& h = header_;
  if (h.version_major != kVersionMajor) {
    Fail("byte 8 (version)", "version " + Number(h.version_major),
         "version " + Number(kVersionMajor) + "; a newer release of graphzero-server may read it");
  }
  const auto* raw = reinterpret_cast<const std::byte*>(&h);
  const uint64_t checksum = base::Checksum({raw, offsetof(FileHeader, header_checksum)});
  if (checksum != h.header_checksum) {
    Fail("header checksum", Number(h.header_checksum),
         Number(checksum) + "; the header is damaged");
  }
  if (h.file_bytes != file_->size()) {
    Fail("file size", Number(file_->size()) + " bytes",
         Number(h.file_bytes) + " bytes as the header says; the file is cut short or was extended");
  }
  if (h.header_bytes != sizeof(FileHeader)) {
    Fail("byte 12 (header size)", Number(h.header_bytes), Number(sizeof(FileHeader)));
  }
  if (h.entry_bytes != sizeof(SectionEntry)) {
    Fail("byte 36 (entry size)", Number(h.entry_bytes), Number(sizeof(SectionEntry)));
  }
  if (h.table_offset != sizeof(FileHeader)) {
    Fail("byte 24 (table offset)", Number(h.table_offset), Number(sizeof(FileHeader)));
  }
  if (h.section_count > kMaxSections) {
    Fail("byte 32 (section count)", Number(h.section_count), "at most " + Number(kMaxSections));
  }
  const uint32_t known = h.magic == kMatrixMagic ? kShardedFlag : 0;
  if ((h.required_flags & ~known) != 0) {
    Fail("byte 40 (required flags)", Number(h.required_flags),
         "no other bits than " + Number(known) +
             "; a newer release of graphzero-server may read it");
  }
  if (!AllZero(h.reserved)) Fail("header reserved bytes", "a value", "zero");
  if (!base::Fits(h.table_offset, h.section_count, sizeof(SectionEntry), file_->size())) {
    Fail("section table", Number(h.section_count) + " entries", "a table inside the file");
  }
}

void Container::CheckTable() {
  const std::span<const std::byte> raw = std::as_bytes(std::span(sections_));
  const uint64_t checksum = base::Checksum(raw);
  if (checksum != header_.table_checksum) {
    Fail("section table checksum", Number(header_.table_checksum),
         Number(checksum) + "; the table is damaged");
  }
  if (FingerprintOf(header_, sections_) != header_.fingerprint) {
    Fail("byte 56 (fingerprint)", "another value", "the hash of flags, properties and table");
  }
  IndexSections();
  for (size_t i = 0; i < sections_.size(); ++i) CheckSection(i);
  CheckPlaces();
  CheckChecksumSection();
}

void Container::CheckPlaces() const {
  uint64_t free = header_.table_offset + sections_.size() * sizeof(SectionEntry);
  for (size_t i = 0; i < sections_.size(); ++i) {
    const SectionEntry& s = sections_[i];
    if (s.offset < free || !base::Fits(s.offset, s.stored_bytes, 1, file_->size())) {
      Fail("section " + Number(i) + " (" + SectionName(s.kind) + ")",
           Number(s.stored_bytes) + " bytes at " + Number(s.offset),
           "a place between " + Number(free) + ", where the one before it ends, and " +
               Number(file_->size()));
    }
    free = s.offset + s.stored_bytes;
  }
}

void Container::IndexSections() {
  by_kind_.resize(sections_.size());
  std::iota(by_kind_.begin(), by_kind_.end(), 0u);
  std::sort(by_kind_.begin(), by_kind_.end(),
            [&](uint32_t a, uint32_t b) { return KeyOf(sections_[a]) < KeyOf(sections_[b]); });
  const auto twice = std::adjacent_find(
      by_kind_.begin(), by_kind_.end(),
      [&](uint32_t a, uint32_t b) { return KeyOf(sections_[a]) == KeyOf(sections_[b]); });
  if (twice != by_kind_.end()) {
    Fail("section table", "two " + SectionName(sections_[*twice].kind) + " sections",
         "one of each kind for each relation");
  }
}

// A file without a schema has relation 0 only. If there is a schema, the topology reader compares
// the numbers of relations with it.
bool Container::Understood(const SectionEntry& entry) const {
  return KnownKind(entry.kind, header_.magic) && entry.encoding == Encoding::kRaw &&
         (entry.relation == 0 ||
          (header_.magic == kTopologyMagic && Find(SectionKind::kSchema) != nullptr)) &&
         ItemSize(entry.dtype) != 0;
}

void Container::CheckSection(size_t index) const {
  const SectionEntry& s = sections_[index];
  const std::string place = "section " + Number(index) + " (" + SectionName(s.kind) + ")";
  if (!Understood(s)) {
    if (s.flags & kMustUnderstand) {
      Fail(place,
           "kind " + Number(static_cast<uint32_t>(s.kind)) + ", encoding " +
               Number(static_cast<uint16_t>(s.encoding)) + ", relation " + Number(s.relation) +
               ", dtype " + Number(static_cast<uint16_t>(s.dtype)),
           "something this release knows; a newer one may read it");
    }
  } else if (s.kind != SectionKind::kRows && (s.count > UINT64_MAX / ItemSize(s.dtype) ||
                                              s.stored_bytes != s.count * ItemSize(s.dtype))) {
    Fail(place, Number(s.stored_bytes) + " bytes",
         Number(s.count) + " items of " + Number(ItemSize(s.dtype)) + " bytes");
  }
  if (!AllZero(s.reserved)) Fail(place + " reserved bytes", "a value", "zero");
  if (s.offset % kSectionAlign != 0) {
    Fail(place + " offset", Number(s.offset), "a multiple of " + Number(kSectionAlign));
  }
}

void Container::CheckChecksumSection() const {
  const SectionEntry* blocks = Find(SectionKind::kChecksums);
  if (blocks == nullptr || blocks->dtype != DType::kUInt64) {
    Fail("section table", blocks ? "checksums of another type" : "no checksums section",
         "one checksums section of uint64");
  }
  uint64_t next = 0;
  for (const SectionEntry& s : sections_) {
    if (&s == blocks) continue;
    if (s.first_block != next) {
      Fail(SectionName(s.kind) + " block checksums", "first block " + Number(s.first_block),
           Number(next));
    }
    next += base::DivideUp(s.stored_bytes, kChecksumBlock);
  }
  if (blocks->count != next) {
    Fail("checksums section", Number(blocks->count) + " checksums",
         Number(next) + ", one for each block");
  }
}

const SectionEntry* Container::Find(SectionKind kind, uint32_t relation) const {
  const Key key{kind, relation};
  const auto found =
      std::lower_bound(by_kind_.begin(), by_kind_.end(), key,
                       [&](uint32_t i, const Key& k) { return KeyOf(sections_[i]) < k; });
  if (found == by_kind_.end() || KeyOf(sections_[*found]) != key) return nullptr;
  const SectionEntry& entry = sections_[*found];
  return entry.encoding == Encoding::kRaw ? &entry : nullptr;
}

}  // namespace graphzero::store
