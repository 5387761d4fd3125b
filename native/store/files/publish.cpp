#include "store/files/publish.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/errors.h"

namespace graphzero::store {
namespace {

bool IsDirectory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

void RenameToNew(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  // Some network filesystems do not know the flag. There, renaming a directory replaces at most an
  // empty directory, and link(2) never replaces a file.
  if (errno == EINVAL && IsDirectory(from) && ::rename(from.c_str(), to.c_str()) == 0) return;
  if (errno == EINVAL && ::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return;
  }
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
