#include "compile/extent_store.h"

#include <cstring>

#include "store/bytes.h"

namespace graphzero::compile {
namespace {

constexpr size_t kWriteBuffers = 6;

}  // namespace

ExtentStore::ExtentStore(uint64_t memory_budget, uint64_t extent_bytes, std::string temp_dir)
    : extent_bytes_(extent_bytes), temp_dir_(std::move(temp_dir)), memory_left_(memory_budget) {}

Extent ExtentStore::Seal(store::AlignedBuffer* buffer, uint64_t bytes) {
  Extent extent;
  extent.bytes = bytes;
  std::unique_lock lock(mutex_);
  if (memory_left_ >= extent_bytes_) {
    memory_left_ -= extent_bytes_;
    extent.memory = std::move(*buffer);
    return extent;
  }
  Append({buffer->get(), store::AlignUp(bytes, store::kDirectAlign)}, &extent.offset);
  return extent;
}

void ExtentStore::Append(std::span<const std::byte> bytes, uint64_t* offset) {
  if (!file_) file_ = store::FileWriter::CreateTemporary(temp_dir_, kWriteBuffers);
  constexpr size_t kSize = store::FileWriter::kBufferSize;
  if (pending_ && pending_bytes_ + bytes.size() > kSize) {
    file_->Write(std::move(pending_), pending_bytes_, file_end_ - pending_bytes_);
  }
  if (!pending_) {
    pending_ = file_->TakeBuffer();
    pending_bytes_ = 0;
  }
  std::memcpy(pending_.get() + pending_bytes_, bytes.data(), bytes.size());
  *offset = file_end_;
  pending_bytes_ += bytes.size();
  file_end_ += bytes.size();
}

void ExtentStore::Flush() {
  std::lock_guard lock(mutex_);
  if (!file_) return;
  if (pending_) {
    file_->Write(std::move(pending_), pending_bytes_, file_end_ - pending_bytes_);
  }
  file_->Flush();
}

void ExtentStore::Take(Extent extent, std::byte* out) {
  if (extent.memory) {
    std::memcpy(out, extent.memory.get(), extent.bytes);
    extent.memory.reset();
    std::lock_guard lock(mutex_);
    memory_left_ += extent_bytes_;
    return;
  }
  const uint64_t size = store::AlignUp(extent.bytes, store::kDirectAlign);
  file_->ReadBack(extent.offset, {out, size});
  file_->Discard(extent.offset, size);
}

}  // namespace graphzero::compile
