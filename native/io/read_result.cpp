#include "io/read_result.h"

#include <cerrno>
#include <chrono>
#include <string>

#include "io/faults.h"

namespace graphzero::io {
namespace {

std::string At(uint64_t offset) { return " at byte " + std::to_string(offset); }

}  // namespace

uint64_t NowNanoseconds() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

Outcome Judge(const Source& source, Read& read, int64_t result, std::optional<IoError>& error) {
  if (FaultsAreSet()) [[unlikely]]
    result = ApplyFaults(source.path, read.offset, result);
  if (result == -EINTR || result == -EAGAIN) return Outcome::kAgain;
  if (result < 0) {
    if (!error)
      error.emplace(static_cast<int>(-result), "cannot read" + At(read.offset), source.path);
    return Outcome::kFailed;
  }
  if (result >= read.least) return Outcome::kDone;
  // The rest of the read must start at a multiple of the alignment again.
  const auto got = static_cast<uint32_t>(result) / source.align * source.align;
  if (got == 0) {
    if (!error) {
      const std::string at = At(read.offset + static_cast<uint64_t>(result));
      error.emplace(EIO,
                    "cannot read" + at + ": the file was cut short; put it back and open it again",
                    source.path);
    }
    return Outcome::kFailed;
  }
  read.offset += got;
  read.to += got;
  read.bytes -= got;
  read.least -= got;
  return Outcome::kAgain;
}

}  // namespace graphzero::io
