// Renames that cannot lose data, because the kernel does each in one step.
#pragma once

#include <string>

namespace graphzero::store {

// Gives `from` the name `to`. Throws IoError EEXIST if `to` exists, instead of replacing it.
void RenameToNew(const std::string& from, const std::string& to);

// Swaps what two names stand for. Nobody ever sees either name missing.
void ExchangeNames(const std::string& a, const std::string& b);

}  // namespace graphzero::store
