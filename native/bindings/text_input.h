// Text that C++ parses: a file by its name, or a stream that Python decompresses.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "compile/text/text_source.h"

namespace graphzero::bindings {

// `open` is None for a plain file, else a callable that returns an object with read(n) -> bytes, at
// most n of them, and stored_position() -> int, the stored bytes used so far. `stored_bytes` is the
// value of stored_position() at the end.
//
// The result may be used and destroyed with and without the GIL; it takes the GIL for each read.
std::unique_ptr<compile::TextSource> OpenText(const std::string& path, const nanobind::object& open,
                                              uint64_t stored_bytes);

}  // namespace graphzero::bindings
