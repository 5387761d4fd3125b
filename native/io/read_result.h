// What became of a read: the rules that both queues follow.
#pragma once

#include <cstdint>
#include <optional>

#include "base/errors.h"
#include "io/read_queue.h"

namespace graphzero::io {

uint64_t NowNanoseconds();

enum class Outcome { kDone, kAgain, kFailed };

// Takes what the kernel answered (a count of bytes, or minus an errno), shortens `read` to what is
// still missing, and says how to go on. A failure is stored in `error`, unless there is one.
Outcome Judge(const Source& source, Read& read, int64_t result, std::optional<IoError>& error);

}  // namespace graphzero::io
