// A mutator for .gl and .gd files: changes them and makes their checksums right again.
//
// Without it nearly every change would end at a checksum of the header, and what lies behind would
// never see a hostile value. Most changes go to one part of the file, header, table entry or
// section, as long as it was: a section that moves is refused for its place and teaches nothing.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "store/container/container_format.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace graphzero::fuzz {
namespace {

using store::FileHeader;
using store::SectionEntry;
using store::SectionKind;
using Bytes = std::span<uint8_t>;
using Random = std::minstd_rand;

// Header and table of a file that is long enough to have them.
struct Front {
  FileHeader header;
  std::vector<SectionEntry> table;
};

std::optional<Front> ReadFront(Bytes file) {
  Front front{};
  if (file.size() < sizeof front.header) return std::nullopt;
  std::memcpy(&front.header, file.data(), sizeof front.header);
  const bool ours =
      front.header.magic == store::kTopologyMagic || front.header.magic == store::kMatrixMagic;
  const uint64_t count = front.header.section_count;
  if (!ours || !base::Fits(sizeof front.header, count, sizeof(SectionEntry), file.size())) {
    return std::nullopt;
  }
  front.table.resize(count);
  if (count > 0) {
    std::memcpy(front.table.data(), file.data() + sizeof front.header,
                count * sizeof(SectionEntry));
  }
  return front;
}

// The section's bytes; none if it does not lie in the file.
Bytes BytesOf(Bytes file, const SectionEntry& entry) {
  if (!base::Fits(entry.offset, entry.stored_bytes, 1, file.size())) return {};
  return file.subspan(entry.offset, entry.stored_bytes);
}

uint64_t ChecksumOf(Bytes bytes) { return base::Checksum(std::as_bytes(bytes)); }

// Writes the checksums of a section's blocks and returns that of these.
std::optional<uint64_t> SealBlocks(Bytes section, uint64_t first_block, Bytes checksums) {
  const uint64_t blocks = base::DivideUp(section.size(), store::kChecksumBlock);
  if (!base::Fits(first_block, blocks, 1, checksums.size() / sizeof(uint64_t))) return {};
  const Bytes own = checksums.subspan(first_block * sizeof(uint64_t), blocks * sizeof(uint64_t));
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t at = i * store::kChecksumBlock;
    const uint64_t sum =
        ChecksumOf(section.subspan(at, std::min(store::kChecksumBlock, section.size() - at)));
    std::memcpy(own.data() + i * sizeof sum, &sum, sizeof sum);
  }
  return ChecksumOf(own);
}

void Reseal(Bytes file) {
  std::optional<Front> front = ReadFront(file);
  if (!front) return;
  auto& [header, table] = *front;
  const auto checksums = std::find_if(table.begin(), table.end(), [](const SectionEntry& entry) {
    return entry.kind == SectionKind::kChecksums;
  });
  if (checksums != table.end()) {
    const Bytes sums = BytesOf(file, *checksums);
    for (SectionEntry& entry : table) {
      if (&entry == &*checksums) continue;
      entry.checksum =
          SealBlocks(BytesOf(file, entry), entry.first_block, sums).value_or(entry.checksum);
    }
    checksums->checksum = ChecksumOf(sums);
  }
  const auto raw_table = std::as_bytes(std::span(table));
  header.file_bytes = file.size();
  header.table_checksum = base::Checksum(raw_table);
  header.fingerprint = store::FingerprintOf(header, table);
  header.header_checksum = base::Checksum(
      std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, header_checksum)));
  std::memcpy(file.data(), &header, sizeof header);
  std::copy(raw_table.begin(), raw_table.end(),
            std::as_writable_bytes(file).begin() + sizeof header);
}

// Header, an entry of the table, or a section; few of the bytes, so each as likely.
Bytes ChoosePart(Bytes file, const Front& front, Random& random) {
  const size_t count = front.table.size();
  const size_t choice = random() % (2 * count + 2);
  if (choice < 2) return file.first(sizeof(FileHeader));
  if (choice < 2 + count) {
    return file.subspan(sizeof(FileHeader) + (choice - 2) * sizeof(SectionEntry),
                        sizeof(SectionEntry));
  }
  return BytesOf(file, front.table[choice - 2 - count]);
}

// A number that sums and products overflow with, or one beside the number that was there.
uint64_t Interesting(uint64_t value, Random& random) {
  const uint64_t choices[] = {0,
                              1,
                              value + 1,
                              value - 1,
                              value * 2,
                              uint64_t{1} << (random() % 64),
                              ~uint64_t{0},
                              (uint64_t{1} << 63) - 1,
                              random() % 64};
  return choices[random() % std::size(choices)];
}

void ChangeNumber(Bytes part, Random& random) {
  const size_t width = random() % 2 == 0 ? 8 : 4;
  if (part.size() < width) return;
  uint8_t* const at = part.data() + random() % (part.size() / width) * width;
  uint64_t value = 0;
  std::memcpy(&value, at, width);
  value = Interesting(value, random);
  std::memcpy(at, &value, width);
}

void ChangePart(Bytes part, Random& random) {
  if (part.empty()) return;
  if (random() % 2 == 0) {
    ChangeNumber(part, random);
    return;
  }
  std::vector<uint8_t> changed(part.begin(), part.end());
  const size_t size = LLVMFuzzerMutate(changed.data(), changed.size(), changed.size());
  std::copy_n(changed.begin(), size, part.begin());
}

}  // namespace
}  // namespace graphzero::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  namespace fuzz = graphzero::fuzz;
  fuzz::Random random(seed);
  const auto front = fuzz::ReadFront({data, size});
  const unsigned kind = static_cast<unsigned>(random() % 16);
  if (!front || kind < 2) {
    size = LLVMFuzzerMutate(data, size, max_size);
  } else {
    const unsigned long changes = 1 + random() % 3;
    for (unsigned long i = 0; i < changes; ++i) {
      fuzz::ChangePart(fuzz::ChoosePart({data, size}, *front, random), random);
    }
  }
  if (kind != 0) fuzz::Reseal({data, size});
  return size;
}
