// A file opened once more for reads at random places: through the page cache, or around it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/read_queue.h"
#include "store/files/mapped_file.h"

namespace graphzero::io {

// What O_DIRECT requires of reads of a file: offset and length are multiples of `offset`, and the
// address is a multiple of `memory`.
struct DirectAlignment {
  uint32_t memory;
  uint32_t offset;
};

// Thread-safe. Keeps the mapped file, and so its name for messages, alive.
class RandomFile {
 public:
  // Without readahead, which would read a megabyte around each row. Throws IoError.
  static RandomFile OpenCached(std::shared_ptr<const store::MappedFile> file);
  // With O_DIRECT. Returns nothing where the filesystem does not support it; `why` then says so.
  static std::optional<RandomFile> OpenDirect(std::shared_ptr<const store::MappedFile> file,
                                              std::string* why);

  Source source() const { return {fd_.get(), align_.offset, file_->path()}; }
  bool direct() const { return direct_; }
  uint32_t memory_align() const { return align_.memory; }
  uint32_t offset_align() const { return align_.offset; }
  const store::MappedFile& file() const { return *file_; }

 private:
  RandomFile(std::shared_ptr<const store::MappedFile> file, base::Fd fd, DirectAlignment align,
             bool direct)
      : file_(std::move(file)), fd_(std::move(fd)), align_(align), direct_(direct) {}

  std::shared_ptr<const store::MappedFile> file_;
  base::Fd fd_;
  DirectAlignment align_;
  bool direct_;
};

}  // namespace graphzero::io
