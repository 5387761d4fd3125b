#include "store/matrix/shard.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "store/container/container_writer.h"
#include "store/matrix/matrix_reader.h"

namespace graphzero::store {
namespace {

constexpr uint64_t kCopyBytes = uint64_t{1} << 20;

void CopyBytes(const MappedFile& file, uint64_t offset, uint64_t bytes, SectionStream& to) {
  std::vector<std::byte> piece(std::min(bytes, kCopyBytes));
  for (uint64_t done = 0; done < bytes; done += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), bytes - done));
    file.Read(offset + done, piece);
    to.Append(piece);
  }
}

// The sections that are copied unchanged: all but rows and checksums.
std::vector<const SectionEntry*> CopiedSections(const Container& container) {
  std::vector<const SectionEntry*> copied;
  for (const SectionEntry& s : container.sections()) {
    if (s.kind == SectionKind::kChecksums || s.kind == SectionKind::kRows) continue;
    if (s.encoding == Encoding::kRaw) copied.push_back(&s);
  }
  return copied;
}

void CheckDealable(const MatrixReader& whole, const ShardPlan& plan) {
  const std::string& path = whole.file()->path();
  if (whole.container() == nullptr) {
    throw std::invalid_argument(path + ": a file of GraphZero 0.2 has no fingerprint that parts " +
                                "could carry; rewrite it with graphzero convert");
  }
  if (whole.shard() != nullptr) {
    throw std::invalid_argument(path + ": is part " + base::Number(whole.shard()->part) + " of " +
                                base::Number(whole.shard()->parts) + " already");
  }
  if (whole.role() != Role::kNode && whole.role() != Role::kEdge) {
    throw std::invalid_argument(path + ": lists of ids and categories are needed as a whole");
  }
  if (plan.parts < 1 || plan.parts > kMostParts || plan.part >= plan.parts ||
      plan.block_rows == 0 || plan.block_rows > UINT64_MAX / 2 / plan.parts) {
    throw std::invalid_argument("part " + base::Number(plan.part) + " of " +
                                base::Number(plan.parts) + " in blocks of " +
                                base::Number(plan.block_rows) + " rows cannot be");
  }
}

}  // namespace

uint64_t Shard::RowsOf(uint64_t of_part) const {
  const uint64_t full = total_rows / block_rows;
  const uint64_t blocks = full / parts + (of_part < full % parts ? 1 : 0);
  return blocks * block_rows + (of_part == full % parts ? total_rows % block_rows : 0);
}

bool Shard::Plausible(uint64_t rows) const {
  return parts >= 1 && parts <= kMostParts && part < parts && block_rows >= 1 &&
         RowsOf(part) == rows;
}

void WriteShard(const MatrixReader& whole, const ShardPlan& plan, const std::string& path,
                const std::function<void(uint64_t bytes)>& advance) {
  CheckDealable(whole, plan);
  const Container& container = *whole.container();
  const Shard shard{plan.part, plan.parts, plan.block_rows, whole.rows(), whole.fingerprint()};
  const SectionEntry& rows = *container.Find(SectionKind::kRows);
  const uint64_t count = shard.RowsOf(shard.part);
  const std::vector<const SectionEntry*> copied = CopiedSections(container);

  std::vector<SectionSpec> specs{
      {SectionKind::kShard, DType::kUInt64, sizeof(Shard) / sizeof(uint64_t), sizeof(Shard)}};
  for (const SectionEntry* s : copied) {
    const bool optional = (s->flags & kMustUnderstand) == 0;
    specs.push_back({s->kind, s->dtype, s->count, s->stored_bytes, optional, s->relation});
  }
  specs.push_back({rows.kind, rows.dtype, count, count * whole.row_stride()});
  ContainerWriter writer(path, kMatrixMagic, specs);

  writer.stream(0).Append(std::as_bytes(std::span(&shard, 1)));
  for (size_t i = 0; i < copied.size(); ++i) {
    CopyBytes(*whole.file(), copied[i]->offset, copied[i]->stored_bytes, writer.stream(i + 1));
  }
  SectionStream& out = writer.stream(copied.size() + 1);
  const uint64_t step = plan.block_rows * plan.parts;
  for (uint64_t first = plan.part * plan.block_rows; first < shard.total_rows; first += step) {
    const uint64_t taken = std::min(plan.block_rows, shard.total_rows - first);
    const uint64_t bytes = taken * whole.row_stride();
    CopyBytes(*whole.file(), whole.data_offset() + first * whole.row_stride(), bytes, out);
    advance(bytes);
  }
  auto properties = std::bit_cast<MatrixProperties>(container.header().properties);
  properties.rows = count;
  writer.Finish(std::bit_cast<Properties>(properties), container.header().optional_flags,
                container.header().required_flags | kShardedFlag);
}

}  // namespace graphzero::store
