#include "shm/region.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/errors.h"

namespace graphzero::shm {
namespace {

const std::string kDirectory = "/dev/shm";

bool IsPart(std::string_view part) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !part.empty() && part.find_first_not_of(kAllowed) == std::string_view::npos;
}

// "/NAME" or "/FOLDER/NAME".
bool IsRegionName(std::string_view name) {
  if (name.empty() || name.front() != '/') return false;
  name.remove_prefix(1);
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return IsPart(name);
  return IsPart(name.substr(0, slash)) && IsPart(name.substr(slash + 1));
}

bool HasFolder(const std::string& name) { return name.find('/', 1) != std::string::npos; }

int OpenShared(const std::string& name, int flags, mode_t mode) {
  if (!HasFolder(name)) return ::shm_open(name.c_str(), flags | O_CLOEXEC, mode);
  return ::open((kDirectory + name).c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode);
}

void UnlinkShared(const std::string& name) {
  if (HasFolder(name)) {
    (void)::unlink((kDirectory + name).c_str());
  } else {
    (void)::shm_unlink(name.c_str());
  }
}

// posix_fallocate on tmpfs can be interrupted by a signal half way.
int Allocate(int fd, uint64_t offset, uint64_t size) {
  int error;
  do {
    error = ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(size));
  } while (error == EINTR);
  return error;
}

[[noreturn]] void ThrowNoSpace(int error, uint64_t size, const std::string& name) {
  const std::string advice =
      error == ENOSPC ? "cannot allocate " + std::to_string(size) +
                            " bytes of shared memory; enlarge /dev/shm or lower --shm-limit"
                      : "cannot allocate shared memory";
  throw IoError(error, advice, kDirectory + name);
}

std::byte* Map(const base::Fd& fd, uint64_t size, const std::string& name) {
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) throw IoError(errno, "cannot map shared memory", kDirectory + name);
  return static_cast<std::byte*>(data);
}

}  // namespace

PrivateFolder::PrivateFolder(const std::string& name, uint32_t group) : path_(kDirectory + name) {
  if (::mkdir(path_.c_str(), 0700) != 0) throw IoError(errno, "cannot create a folder", path_);
  if (::chown(path_.c_str(), static_cast<uid_t>(-1), group) != 0 ||
      ::chmod(path_.c_str(), 0710) != 0) {
    const int error = errno;
    (void)::rmdir(path_.c_str());
    throw IoError(error, "cannot give a folder to the group", path_);
  }
}

PrivateFolder::~PrivateFolder() { (void)::rmdir(path_.c_str()); }

std::unique_ptr<Region> Region::Create(const std::string& name, uint64_t size,
                                       std::optional<uint32_t> group) {
  base::Fd fd(OpenShared(name, O_RDWR | O_CREAT | O_EXCL, 0600));
  if (!fd.valid()) throw IoError(errno, "cannot create shared memory", kDirectory + name);
  // From here on the destructor removes the name.
  std::unique_ptr<Region> region(new Region(name, std::move(fd), size));
  if (group && (::fchown(region->fd_.get(), static_cast<uid_t>(-1), *group) != 0 ||
                ::fchmod(region->fd_.get(), 0660) != 0)) {
    throw IoError(errno, "cannot give shared memory to the group", kDirectory + name);
  }
  const int error = Allocate(region->fd_.get(), 0, size);
  if (error != 0) ThrowNoSpace(error, size, name);
  region->data_ = Map(region->fd_, size, name);
  region->guard_.emplace(region->data_, size, region->fd_.get(), base::GuardScope::kAlways);
  return region;
}

Region::~Region() {
  Unlink();
  guard_.reset();  // before another mapping can get these addresses
  if (data_ != nullptr) ::munmap(data_, size_);
  --count_;
}

void Region::Unlink() {
  if (linked_.exchange(false)) UnlinkShared(name_);
}

bool Region::Punch(uint64_t offset, uint64_t size) {
  return ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(offset), static_cast<off_t>(size)) == 0;
}

void Region::Refill(uint64_t offset, uint64_t size) {
  const int error = Allocate(fd_.get(), offset, size);
  if (error != 0) ThrowNoSpace(error, size, name_);
}

bool Region::OnlyHere() const {
  // A lease for writing is granted only while the file is open nowhere else, and a mapping keeps it
  // open. If somebody opens the file during the lease, the kernel sends this process a signal:
  // SIGURG, which is ignored, because the default signal would end the process.
  (void)::fcntl(fd_.get(), F_SETSIG, SIGURG);
  if (::fcntl(fd_.get(), F_SETLEASE, F_WRLCK) != 0) return errno != EAGAIN && errno != EBUSY;
  (void)::fcntl(fd_.get(), F_SETLEASE, F_UNLCK);
  return true;
}

std::string Region::Damage() const {
  struct stat info;
  const bool known = ::fstat(fd_.get(), &info) == 0;
  const bool cut = known && static_cast<uint64_t>(info.st_size) < size_;
  if (!cut && guard_->damaged_at() == base::GuardedMapping::kSound) return "";
  return "the trainer's shared memory /dev/shm" + name_ + " was cut" +
         (cut ? " to " + std::to_string(info.st_size) + " bytes, expected "
              : " and can no longer be written, expected ") +
         std::to_string(size_) +
         " bytes as the daemon made it: whoever has the region must not resize it; connect again "
         "for a new one";
}

std::shared_ptr<RegionView> RegionView::Open(const std::string& name, uint64_t size) {
  if (!IsRegionName(name)) {
    throw FormatError("shared memory", "name", "'" + name + "'", "/NAME or /FOLDER/NAME");
  }
  const base::Fd fd(OpenShared(name, O_RDWR, 0));
  if (!fd.valid()) throw IoError(errno, "cannot open shared memory", kDirectory + name);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) throw IoError(errno, "cannot stat", kDirectory + name);
  // Touching the missing end of a shorter region would raise SIGBUS.
  if (static_cast<uint64_t>(info.st_size) < size || size == 0) {
    throw FormatError(kDirectory + name, "size", std::to_string(info.st_size) + " bytes",
                      std::to_string(size) + " bytes, as the daemon offered");
  }
  return std::shared_ptr<RegionView>(new RegionView(Map(fd, size, name), size));
}

RegionView::~RegionView() { ::munmap(data_, size_); }

}  // namespace graphzero::shm
