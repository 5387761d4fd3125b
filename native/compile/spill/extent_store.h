// Where partitions keep their records between the passes of a job: in memory while the budget
// lasts, then in one unnamed file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/file_writer.h"

namespace graphzero::compile {

// Equal pieces of memory, cut from slabs of huge pages: a partition writes to hundreds of places in
// turn, which with small pages is a TLB miss each time. Thread-safe. All pieces die with the pool.
class BufferPool {
 public:
  // `piece_bytes` is a multiple of base::kDirectAlign.
  explicit BufferPool(uint64_t piece_bytes);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  uint64_t piece_bytes() const { return piece_bytes_; }
  std::byte* Take();
  void Return(std::byte* piece);

 private:
  void AddSlab();

  const uint64_t piece_bytes_;
  const uint64_t slab_bytes_;
  std::mutex mutex_;
  std::vector<void*> slabs_;
  std::vector<std::byte*> free_;
};

// A sealed run of records: in memory, or in the file when `memory` is null. Plain data: its holder
// reads it after ExtentStore::Load() and gives it back with ExtentStore::Free().
struct Extent {
  std::byte* memory = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Thread-safe.
class ExtentStore {
 public:
  // `extent_bytes` is a multiple of base::kDirectAlign and divides FileWriter::kBufferSize. The
  // file is created in `temp_dir` when the first extent does not fit into `memory_budget`.
  ExtentStore(uint64_t memory_budget, uint64_t extent_bytes, std::string temp_dir);

  uint64_t extent_bytes() const { return pool_.piece_bytes(); }

  // A buffer of extent_bytes() to fill.
  std::byte* TakeBuffer() { return pool_.Take(); }
  void ReturnBuffer(std::byte* buffer) { pool_.Return(buffer); }

  // Seals a filled buffer. Either keeps it and sets `*buffer` to null, or copies it to the file and
  // leaves it for reuse.
  Extent Seal(std::byte** buffer, uint64_t bytes);

  // Waits until everything sealed can be loaded.
  void Flush();

  // Brings an extent into memory if it is not there; its records are valid until Free().
  void Load(Extent* extent);
  void Free(const Extent& extent);

  // Bytes that went to the file so far.
  uint64_t spilled_bytes() const { return file_end_; }

 private:
  uint64_t Append(std::span<const std::byte> bytes);

  BufferPool pool_;
  const std::string temp_dir_;
  const uint64_t memory_budget_;
  std::mutex mutex_;
  uint64_t memory_used_ = 0;  // by extents that were kept or loaded; loading may exceed the budget
  std::unique_ptr<base::FileWriter> file_;
  base::AlignedBuffer pending_;  // collects extents into one large write
  size_t pending_bytes_ = 0;
  uint64_t file_end_ = 0;
};

}  // namespace graphzero::compile
