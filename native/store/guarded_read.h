// A call that reads mapped files and fails, instead of the process, when one cannot be read.
#pragma once

#include <type_traits>

#include "base/errors.h"
#include "base/fault_guard.h"
#include "store/mapped_file.h"

namespace graphzero::store {

// Runs `read` under MappedAccess and throws IoError if the file turned out to be unreadable, also
// when `read` stumbled over the zeros that stood in for what was missing. Other threads that read
// for it are marked by whoever starts them (ThreadLease::For, StartHelpers).
template <typename Read>
auto ReadGuarded(const MappedFile& file, const Read& read) {
  const base::MappedAccess access;
  try {
    if constexpr (std::is_void_v<decltype(read())>) {
      read();
      file.ThrowIfDamaged();
    } else {
      auto result = read();
      file.ThrowIfDamaged();
      return result;
    }
  } catch (const FormatError&) {
    file.ThrowIfDamaged();
    throw;
  }
}

}  // namespace graphzero::store
