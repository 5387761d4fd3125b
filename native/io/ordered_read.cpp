#include "io/ordered_read.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>

#include "base/bytes.h"
#include "io/call_job.h"

namespace graphzero::io {
namespace {

// Several reads of this size at a time keep a disk with a high latency busy.
constexpr uint64_t kPiece = uint64_t{256} << 10;
constexpr uint32_t kDepth = OrderedRead::kStep / kPiece;
constexpr uint64_t kAlign = 4096;  // of the buffer; no file is known that needs more

// Reads one stretch of the file, piece by piece, into consecutive memory.
class StretchJob : public CallJob {
 public:
  // The file is known to have the first `needed` of the `bytes`; its last sector may be incomplete.
  StretchJob(uint64_t offset, uint64_t bytes, uint64_t needed, std::byte* to)
      : offset_(offset), bytes_(bytes), needed_(needed), to_(to) {}

 private:
  bool Prepare(uint32_t, Read* read) noexcept override {
    if (done_ >= needed_) return false;
    const uint64_t length = std::min(kPiece, bytes_ - done_);
    read->offset = offset_ + done_;
    read->to = to_ + done_;
    read->bytes = static_cast<uint32_t>(length);
    read->least = static_cast<uint32_t>(std::min(length, needed_ - done_));
    done_ += length;
    return true;
  }
  void Deliver(uint32_t) noexcept override {}

  const uint64_t offset_;
  const uint64_t bytes_;
  const uint64_t needed_;
  std::byte* const to_;
  uint64_t done_ = 0;
};

}  // namespace

void OrderedRead::Free::operator()(std::byte* memory) const { std::free(memory); }

RandomFile OrderedRead::Open(std::shared_ptr<const store::MappedFile> file) {
  std::string why;
  if (std::optional<RandomFile> direct = RandomFile::OpenDirect(file, &why)) {
    return *std::move(direct);
  }
  return RandomFile::OpenCached(std::move(file));
}

OrderedRead::OrderedRead(std::shared_ptr<const store::MappedFile> file, uint64_t offset,
                         uint64_t bytes)
    : file_(Open(std::move(file))),
      at_(offset),
      end_(offset + bytes),
      // Rounding both ends of a range out to whole sectors adds less than two sectors.
      buffer_(static_cast<std::byte*>(std::aligned_alloc(
          kAlign, base::AlignUp(kStep + 2 * uint64_t{file_.offset_align()}, kAlign)))) {
  if (!buffer_) throw std::bad_alloc();
}

std::span<const std::byte> OrderedRead::Next() {
  const uint64_t bytes = std::min(kStep, end_ - at_);
  if (bytes == 0) return {};
  const uint64_t align = file_.offset_align();
  const uint64_t begin = at_ & ~(align - 1);
  const uint64_t needed = at_ + bytes - begin;
  StretchJob job(begin, base::AlignUp(needed, align), needed, buffer_.get());
  job.Run(file_, kDepth + 1, counters_);
  if (!file_.direct()) {
    ::posix_fadvise(file_.source().fd, static_cast<off_t>(begin), static_cast<off_t>(needed),
                    POSIX_FADV_DONTNEED);
  }
  const std::span<const std::byte> found(buffer_.get() + (at_ - begin), bytes);
  at_ += bytes;
  return found;
}

}  // namespace graphzero::io
