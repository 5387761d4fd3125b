#include "store/publish.h"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>

#include "store/errors.h"

namespace graphzero::store {

void RenameToNew(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  throw IoError(errno, errno == EEXIST ? "exists already" : "cannot publish", to);
}

void ExchangeNames(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return;
  throw IoError(errno,
                errno == EINVAL
                    ? "cannot replace in one step: the filesystem cannot exchange names; "
                      "remove the old dataset first"
                    : "cannot replace",
                b);
}

}  // namespace graphzero::store
