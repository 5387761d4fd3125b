// Calls that read a mapped file: if it cannot be read, the call fails and not the process.
#pragma once

#include <type_traits>

#include "base/errors.h"
#include "base/fault_guard.h"
#include "store/mapped_file.h"

namespace graphzero::store {

// Runs `read` under MappedAccess and throws IoError if the file turned out to be unreadable, also
// if `read` threw FormatError because of the zeros that stand in for missing bytes. Other threads
// that read for it get MappedAccess from the function that starts them (ThreadLease::For,
// StartHelpers).
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
