#include "store/verify/verify_blocks.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/fault_guard.h"
#include "base/file_writer.h"
#include "base/team.h"
#include "base/text.h"

namespace graphzero::store {
namespace {

using base::Number;

std::string BlockPlace(const Extent& extent, uint64_t first, uint64_t size) {
  return extent.name + " block " + Number(first / kChecksumBlock) + " (bytes " +
         Number(extent.offset + first) + " to " + Number(extent.offset + first + size) + ")";
}

}  // namespace

void Problems::Add(const std::string& place, const std::string& found,
                   const std::string& expected) {
  if (++count_ > kShown) return;
  lines_.push_back(file_ + ": " + place + ": found " + found + ", expected " + expected);
}

std::vector<std::string> Problems::Lines() const {
  std::vector<std::string> lines = lines_;
  if (count_ > kShown) {
    lines.push_back(file_ + ": " + Number(count_ - kShown) + " more problems are not shown");
  }
  return lines;
}

BlockVerifier::BlockVerifier(const MappedFile& file, const Container* container,
                             const VerifyOptions& options, Problems* problems)
    : file_(file), options_(options), problems_(problems) {
  if (container != nullptr) LoadChecksums(*container);
}

void BlockVerifier::LoadChecksums(const Container& container) {
  const SectionEntry& entry = *container.Find(SectionKind::kChecksums);
  checksums_.resize(entry.count);
  const auto bytes = std::as_writable_bytes(std::span(checksums_));
  base::ReadExactly(file_.fd(), entry.offset, bytes, file_.path());
  if (base::Checksum(bytes) != entry.checksum) {
    problems_->Add("checksums section (bytes " + Number(entry.offset) + " to " +
                       Number(entry.offset + entry.stored_bytes) + ")",
                   "checksum " + Number(base::Checksum(bytes)), Number(entry.checksum));
  }
  options_.advance(bytes.size());
}

bool BlockVerifier::Check(std::span<const Extent> extents) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < extents.size(); ++i) {
    for (uint64_t first = 0; first < extents[i].bytes; first += kChecksumBlock) {
      const uint64_t size = std::min(kChecksumBlock, extents[i].bytes - first);
      blocks.push_back({.extent = i, .first = first, .size = size, .finding = {}});
    }
  }
  ReadBlocks(extents, blocks);
  bool sound = true;
  size_t begin = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    size_t end = begin;
    while (end < blocks.size() && blocks[end].extent == i) ++end;
    sound &= Judge(extents[i], std::span(blocks).subspan(begin, end - begin));
    begin = end;
  }
  return sound;
}

void BlockVerifier::ReadBlocks(std::span<const Extent> extents, std::span<Block> blocks) const {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr stopped;
  const std::function<void(int)> work = [&](int) {
    const base::MappedAccess access;  // Verify() calls ThrowIfDamaged() at the end
    try {
      const base::AlignedBuffer buffer = base::MakeAlignedBuffer(kChecksumBlock);
      for (size_t i = next++; i < blocks.size(); i = next++) {
        ReadBlock(extents[blocks[i].extent], &blocks[i], buffer.get());
        options_.advance(blocks[i].size);
      }
    } catch (...) {
      next = blocks.size();
      std::lock_guard lock(mutex);
      if (!stopped) stopped = std::current_exception();
    }
  };
  {
    const size_t team = std::min(static_cast<size_t>(options_.threads), blocks.size());
    const std::vector<std::jthread> others = base::StartHelpers(static_cast<int>(team) - 1, work);
    work(0);
  }
  if (stopped) std::rethrow_exception(stopped);
}

void BlockVerifier::ReadBlock(const Extent& extent, Block* block, std::byte* buffer) const {
  const std::span<std::byte> bytes(buffer, block->size);
  try {
    base::ReadExactly(file_.fd(), extent.offset + block->first, bytes, file_.path());
  } catch (const IoError& error) {
    block->unreadable = true;
    block->finding = std::make_unique<Finding>(Finding{"", error.what(), "readable bytes"});
    return;
  }
  if (extent.entry != nullptr) block->checksum = base::Checksum(bytes);
  if (!extent.check) return;
  if (std::optional<Finding> finding = extent.check(block->first, bytes)) {
    block->finding = std::make_unique<Finding>(std::move(*finding));
  }
}

bool BlockVerifier::Judge(const Extent& extent, std::span<const Block> blocks) {
  std::vector<bool> damaged(blocks.size());
  bool sound = true;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].unreadable) continue;
    problems_->Add(BlockPlace(extent, blocks[i].first, blocks[i].size), blocks[i].finding->found,
                   blocks[i].finding->expected);
    damaged[i] = true;
    sound = false;
  }
  if (extent.entry != nullptr) sound &= JudgeChecksums(extent, blocks, &damaged);
  for (size_t i = 0; i < blocks.size(); ++i) {
    // If the checksum of a block is wrong, its wrong values are not reported as well.
    if (damaged[i] || !blocks[i].finding) continue;
    const Finding& finding = *blocks[i].finding;
    problems_->Add(extent.name + " " + finding.place, finding.found, finding.expected);
    sound = false;
  }
  return sound;
}

bool BlockVerifier::JudgeChecksums(const Extent& extent, std::span<const Block> blocks,
                                   std::vector<bool>* damaged) {
  std::vector<uint64_t> computed;
  for (const Block& block : blocks) computed.push_back(block.checksum);
  // The table of block checksums may itself be damaged; the entry's own checksum decides.
  if (base::Checksum(std::as_bytes(std::span(computed))) == extent.entry->checksum) return true;
  bool named = false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const uint64_t expected = checksums_[extent.entry->first_block + i];
    named |= blocks[i].unreadable;
    if (blocks[i].unreadable || computed[i] == expected) continue;
    problems_->Add(BlockPlace(extent, blocks[i].first, blocks[i].size),
                   "checksum " + Number(computed[i]), Number(expected));
    (*damaged)[i] = named = true;
  }
  if (!named) {
    problems_->Add(extent.name, "block checksums that do not belong to the section table",
                   "their hash to be " + Number(extent.entry->checksum));
  }
  return false;
}

}  // namespace graphzero::store
