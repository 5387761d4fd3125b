// The bytes that .gl and .gd files share: a fixed header, a section table, aligned sections.
// store/FORMAT.md is the specification; this header is its transcription. Never change a field's
// meaning: new content comes as a new section kind or a new required flag.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "store/container/dtype.h"

namespace graphzero::store {

// The first byte is not ASCII and CR LF follow, so that a transfer in text mode is noticed.
using Magic = std::array<uint8_t, 8>;
inline constexpr Magic kTopologyMagic{0x89, 'G', 'Z', 'G', 'L', '\r', '\n', 0x1a};
inline constexpr Magic kMatrixMagic{0x89, 'G', 'Z', 'G', 'D', '\r', '\n', 0x1a};

inline constexpr uint16_t kVersionMajor = 1;
inline constexpr uint16_t kVersionMinor = 0;
inline constexpr uint64_t kSectionAlign = 4096;
inline constexpr uint32_t kMaxSections = 4096;
// Data sections are hashed in blocks of this many bytes, counted from the section's start; the last
// block may be shorter.
inline constexpr uint64_t kChecksumBlock = uint64_t{1} << 20;

using Fingerprint = base::Hash128;

// Facts about the whole file, beside its sections: readers of .gl and .gd files read these 128
// bytes as a struct of their own (topology_format.h, matrix_format.h). Unused bytes are zero.
using Properties = std::array<uint8_t, 128>;

struct FileHeader {
  Magic magic;
  uint16_t version_major;
  uint16_t version_minor;
  uint32_t header_bytes;    // sizeof(FileHeader)
  uint64_t file_bytes;      // of the whole file, so that open notices a truncated one
  uint64_t table_offset;    // sizeof(FileHeader)
  uint32_t section_count;   // at most kMaxSections
  uint32_t entry_bytes;     // sizeof(SectionEntry)
  uint32_t required_flags;  // a reader refuses a bit it does not know
  uint32_t optional_flags;  // a reader ignores a bit it does not know
  uint64_t table_checksum;  // XXH3-64 of the section table
  Fingerprint fingerprint;  // XXH3-128 of both flags, properties and the section table
  Properties properties;
  std::array<uint8_t, 48> reserved;  // zero
  uint64_t header_checksum;          // XXH3-64 of all bytes before this field
};
static_assert(sizeof(FileHeader) == 256);

// Bit 0 of required_flags: this .gd file has one part of the rows of a matrix (shard.h).
inline constexpr uint32_t kShardedFlag = 1;

enum class SectionKind : uint32_t {
  kChecksums = 1,  // uint64 XXH3-64 values, one for each block of each other section
  // Topology. "Out" rows are sources and hold targets; "in" rows are targets and hold sources.
  kOutIndptr = 16,
  kOutIndices = 17,
  kOutWeights = 18,
  kOutEdgeIds = 19,
  kOutTimes = 20,
  kOutSlotTimes = 21,
  kInIndptr = 32,
  kInIndices = 33,
  kInWeights = 34,
  kInEdgeIds = 35,
  kInTimes = 36,
  kInSlotTimes = 37,
  kWeightName = 48,  // UTF-8, one uint8 for each byte; may be ignored
  kSchema = 49,      // types and relations of a typed graph
  // Sections of a type; their `relation` is the number of the type.
  kNodeTimes = 50,
  kNodesByTime = 51,
  kTimesByTime = 52,
  kTimeUnit = 53,  // ASCII, one uint8 for each byte; may be ignored
  // Matrix.
  kRows = 64,
  kRowShape = 65,      // uint64, the dimensions of a row that has several; may be ignored
  kDescription = 66,   // UTF-8 JSON: what the values mean; may be ignored
  kRowsById = 67,      // numbers of the rows, in the order of their original ids
  kQuantisation = 70,  // how to compute values from bytes (quantisation.h)
  kShard = 72,         // uint64, which rows of a larger matrix these are (shard.h)
};

inline constexpr uint32_t kMustUnderstand = 1;  // bit 0 of SectionEntry::flags

enum class Encoding : uint16_t { kRaw = 0 };

struct SectionEntry {
  SectionKind kind;
  uint32_t flags;
  DType dtype;
  Encoding encoding;
  uint32_t relation;      // whose section it is; for kNodeTimes to kTimesByTime, a type
  uint64_t count;         // items after decoding (for kRows: rows)
  uint64_t offset;        // a multiple of kSectionAlign
  uint64_t stored_bytes;  // without the padding that follows
  uint64_t first_block;   // where its blocks begin in the checksum section
  uint64_t checksum;      // XXH3-64 of its block checksums (of its bytes, for kChecksums itself)
  std::array<uint8_t, 40> reserved;  // zero
};
static_assert(sizeof(SectionEntry) == 96);

// The fingerprint that belongs into `header`: a hash of flags and properties, which say how to read
// the file, and of the table, whose checksums stand for all data. The version is left out, so that
// a newer writer gives equal content an equal fingerprint.
inline Fingerprint FingerprintOf(const FileHeader& header, std::span<const SectionEntry> table) {
  return base::LongChecksum({std::as_bytes(std::span(&header.required_flags, 1)),
                             std::as_bytes(std::span(&header.optional_flags, 1)),
                             std::as_bytes(std::span(header.properties)), std::as_bytes(table)});
}

}  // namespace graphzero::store
