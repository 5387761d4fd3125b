// Text that C++ parses: a file by its name, or a stream that Python decompresses.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "compile/text/text_source.h"

namespace graphzero::bindings {

// `open` is None for a plain file, else a callable that gives an object with read(n) -> bytes, as
// many as there are up to n, and stored_position() -> int. `stored_bytes` is where that ends.
//
// The result may be used and destroyed with and without the GIL; it takes it for each read.
std::unique_ptr<compile::TextSource> OpenText(const std::string& path, const nanobind::object& open,
                                              uint64_t stored_bytes);

}  // namespace graphzero::bindings
