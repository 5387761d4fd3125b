// Sorted runs of bytes that did not fit into memory, in one unnamed file, to be merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/file_writer.h"

namespace graphzero::compile {

// One thread at a time.
class RunFile {
 public:
  struct Run {
    uint64_t offset;
    uint64_t bytes;
  };

  explicit RunFile(const std::string& temp_dir);

  // Append() adds to the current run, and End() ends it.
  void Append(std::span<const std::byte> bytes);
  Run End();
  // Waits until every run that was ended can be read.
  void Flush() { file_->Flush(); }

  // Reads a run from its start. Several readers may be used at a time, each by one thread.
  class Reader {
   public:
    Reader(const RunFile& file, Run run);
    // Fills `out`, or returns false at the end of the run.
    bool Read(std::span<std::byte> out);

   private:
    const base::FileWriter* file_;
    uint64_t at_;
    uint64_t end_;
    base::AlignedBuffer buffer_;
    size_t used_ = 0;
    size_t filled_ = 0;
  };

 private:
  void WriteBuffer();

  std::unique_ptr<base::FileWriter> file_;
  base::AlignedBuffer buffer_;
  size_t used_ = 0;
  uint64_t end_ = 0;  // of the bytes handed to file_ so far
  uint64_t run_begin_ = 0;
};

}  // namespace graphzero::compile
