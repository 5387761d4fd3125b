#include "compile/spill/extent_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/bytes.h"

namespace graphzero::compile {
namespace {

using base::kHugePage;
constexpr size_t kWriteBuffers = 6;

}  // namespace

BufferPool::BufferPool(uint64_t piece_bytes)
    : piece_bytes_(piece_bytes), slab_bytes_(std::max(piece_bytes, kHugePage)) {}

BufferPool::~BufferPool() {
  for (void* slab : slabs_) ::munmap(slab, slab_bytes_ + kHugePage);
}

void BufferPool::AddSlab() {
  // One huge page more than needed, so that the pieces can begin at a huge page.
  void* slab = ::mmap(nullptr, slab_bytes_ + kHugePage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) throw std::bad_alloc();
  slabs_.push_back(slab);
  auto* begin =
      reinterpret_cast<std::byte*>(base::AlignUp(reinterpret_cast<uintptr_t>(slab), kHugePage));
  (void)::madvise(begin, slab_bytes_, MADV_HUGEPAGE);
  for (uint64_t at = slab_bytes_; at >= piece_bytes_; at -= piece_bytes_) {
    free_.push_back(begin + at - piece_bytes_);
  }
}

std::byte* BufferPool::Take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) AddSlab();
  std::byte* piece = free_.back();
  free_.pop_back();
  return piece;
}

void BufferPool::Return(std::byte* piece) {
  std::lock_guard lock(mutex_);
  free_.push_back(piece);
}

ExtentStore::ExtentStore(uint64_t memory_budget, uint64_t extent_bytes, std::string temp_dir)
    : pool_(extent_bytes), temp_dir_(std::move(temp_dir)), memory_budget_(memory_budget) {}

Extent ExtentStore::Seal(std::byte** buffer, uint64_t bytes) {
  Extent extent;
  extent.bytes = bytes;
  std::lock_guard lock(mutex_);
  if (memory_used_ + extent_bytes() <= memory_budget_) {
    memory_used_ += extent_bytes();
    extent.memory = std::exchange(*buffer, nullptr);
    return extent;
  }
  extent.offset = Append({*buffer, base::AlignUp(bytes, base::kDirectAlign)});
  return extent;
}

uint64_t ExtentStore::Append(std::span<const std::byte> bytes) {
  if (!file_) file_ = base::FileWriter::CreateTemporary(temp_dir_, kWriteBuffers);
  if (pending_ && pending_bytes_ + bytes.size() > base::FileWriter::kBufferSize) {
    file_->Write(std::move(pending_), pending_bytes_, file_end_ - pending_bytes_);
  }
  if (!pending_) {
    pending_ = file_->TakeBuffer();
    pending_bytes_ = 0;
  }
  std::memcpy(pending_.get() + pending_bytes_, bytes.data(), bytes.size());
  pending_bytes_ += bytes.size();
  return std::exchange(file_end_, file_end_ + bytes.size());
}

void ExtentStore::Flush() {
  std::lock_guard lock(mutex_);
  if (!file_) return;
  if (pending_) {
    file_->Write(std::move(pending_), pending_bytes_, file_end_ - pending_bytes_);
  }
  file_->Flush();
}

void ExtentStore::Load(Extent* extent) {
  if (extent->memory) return;
  extent->memory = pool_.Take();
  {
    std::lock_guard lock(mutex_);
    memory_used_ += extent_bytes();
  }
  file_->ReadBack(extent->offset,
                  {extent->memory, base::AlignUp(extent->bytes, base::kDirectAlign)});
}

void ExtentStore::Free(const Extent& extent) {
  if (!extent.memory) return;
  pool_.Return(extent.memory);
  std::lock_guard lock(mutex_);
  memory_used_ -= extent_bytes();
}

}  // namespace graphzero::compile
