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

#include "store/file_writer.h"

namespace graphzero::compile {

// A sealed run of records. Lives in memory or, when `memory` is null, in the file.
struct Extent {
  store::AlignedBuffer memory;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Thread-safe.
class ExtentStore {
 public:
  // `extent_bytes` is a multiple of store::kDirectAlign and divides FileWriter::kBufferSize.
  // The file is created in `temp_dir` when the first extent does not fit into `memory_budget`.
  ExtentStore(uint64_t memory_budget, uint64_t extent_bytes, std::string temp_dir);

  uint64_t extent_bytes() const { return extent_bytes_; }

  // Seals a buffer of extent_bytes(). Either keeps it and leaves `*buffer` empty, or copies it to
  // the file and leaves the buffer for reuse.
  Extent Seal(store::AlignedBuffer* buffer, uint64_t bytes);

  // Waits until everything sealed can be read.
  void Flush();

  // Copies an extent's records to `out` (rounded up to kDirectAlign) and gives its room back.
  void Take(Extent extent, std::byte* out);

  // Bytes that went to the file so far.
  uint64_t spilled_bytes() const { return file_end_; }

 private:
  void Append(std::span<const std::byte> bytes, uint64_t* offset);

  const uint64_t extent_bytes_;
  const std::string temp_dir_;
  std::mutex mutex_;
  uint64_t memory_left_;
  std::unique_ptr<store::FileWriter> file_;
  store::AlignedBuffer pending_;  // collects extents into one large write
  size_t pending_bytes_ = 0;
  uint64_t file_end_ = 0;
};

}  // namespace graphzero::compile
