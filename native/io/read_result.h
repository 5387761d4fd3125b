// What became of a read: the rules that both queues follow.
#pragma once

#include <cstdint>
#include <optional>

#include "base/errors.h"
#include "io/read_queue.h"

namespace graphzero::io {

uint64_t NowNanoseconds();

enum class Outcome { kDone, kAgain, kFailed };

// Takes the kernel's answer (a count of bytes, or minus an errno), shortens `read` to the bytes
// that are still missing, and says how to go on. Stores a failure in `error`, unless `error` holds
// one already.
Outcome Judge(const Source& source, Read& read, int64_t result, std::optional<IoError>& error);

}  // namespace graphzero::io
