#include "base/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/bytes.h"
#include "base/errors.h"

namespace graphzero::base {
namespace {

// Switches O_DIRECT on where the filesystem has it; without it everything works, only slower.
void PreferDirect(const Fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags >= 0) (void)::fcntl(fd.get(), F_SETFL, flags | O_DIRECT);
}

// How large this file can become: its allocated bytes plus the free space. UINT64_MAX if unknown.
uint64_t RoomFor(const Fd& fd) {
  struct statvfs disk;
  struct stat file;
  if (::fstatvfs(fd.get(), &disk) != 0 || disk.f_blocks == 0) return UINT64_MAX;
  if (::fstat(fd.get(), &file) != 0) return UINT64_MAX;
  return disk.f_bavail * disk.f_frsize + static_cast<uint64_t>(file.st_blocks) * 512;
}

}  // namespace

void AlignedFree::operator()(std::byte* p) const { std::free(p); }

AlignedBuffer MakeAlignedBuffer(size_t size) {
  void* p = std::aligned_alloc(kDirectAlign, AlignUp(size, kDirectAlign));
  if (p == nullptr) throw std::bad_alloc();
  return AlignedBuffer(static_cast<std::byte*>(p));
}

std::unique_ptr<FileWriter> FileWriter::Create(const std::string& path, size_t buffers) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) throw IoError(errno, "cannot create", path);
  PreferDirect(fd);
  return std::unique_ptr<FileWriter>(new FileWriter(path, std::move(fd), buffers));
}

std::unique_ptr<FileWriter> FileWriter::CreateTemporary(const std::string& directory,
                                                        size_t buffers) {
  Fd fd(::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!fd.valid() && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    std::string name = directory + "/.graphzero-spill-XXXXXX";
    fd = Fd(::mkostemp(name.data(), O_CLOEXEC));
    if (fd.valid()) ::unlink(name.c_str());
  }
  if (!fd.valid()) throw IoError(errno, "cannot create a temporary file in", directory);
  PreferDirect(fd);
  return std::unique_ptr<FileWriter>(new FileWriter(directory, std::move(fd), buffers));
}

FileWriter::FileWriter(std::string path, Fd fd, size_t buffers)
    : path_(std::move(path)), fd_(std::move(fd)), buffers_left_(buffers) {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    // The system refused a thread: Write() writes on the caller's thread.
  }
}

FileWriter::~FileWriter() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FileWriter::Reserve(uint64_t bytes) {
  // If asked for far more than is free, fallocate would fill the disk before it fails.
  if (bytes > RoomFor(fd_)) {
    throw IoError(ENOSPC, "cannot reserve " + std::to_string(bytes) + " bytes", path_);
  }
  if (bytes == 0 || ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno == EOPNOTSUPP || errno == ENOSYS) return;
  throw IoError(errno, "cannot reserve " + std::to_string(bytes) + " bytes", path_);
}

void FileWriter::ThrowIfFailed() {
  if (error_) std::rethrow_exception(error_);
}

AlignedBuffer FileWriter::TakeBuffer() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !free_.empty() || buffers_left_ > 0 || error_; });
  ThrowIfFailed();
  if (free_.empty()) {
    --buffers_left_;
    return MakeAlignedBuffer(kBufferSize);
  }
  AlignedBuffer buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

void FileWriter::ReturnBuffer(AlignedBuffer buffer) {
  {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }
  changed_.notify_all();
}

void FileWriter::Write(AlignedBuffer buffer, size_t size, uint64_t offset) {
  {
    std::lock_guard lock(mutex_);
    ThrowIfFailed();
    queue_.push_back({std::move(buffer), size, offset});
  }
  if (thread_.joinable()) {
    changed_.notify_all();
    return;
  }
  std::unique_lock lock(mutex_);
  if (!queue_.empty()) WriteNext(lock);
  ThrowIfFailed();
}

void FileWriter::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (queue_.empty() && writing_ == 0) || error_; });
  ThrowIfFailed();
}

void FileWriter::Finish(uint64_t size) {
  Flush();
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
    throw IoError(errno, "cannot set the size to " + std::to_string(size) + " bytes", path_);
  }
  if (::fsync(fd_.get()) != 0) throw IoError(errno, "cannot make durable", path_);
}

void FileWriter::ReadBack(uint64_t offset, std::span<std::byte> out) const {
  ReadExactly(fd_, offset, out, path_);
}

void FileWriter::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !queue_.empty() || stop_; });
    if (stop_) return;
    WriteNext(lock);
  }
}

void FileWriter::WriteNext(std::unique_lock<std::mutex>& lock) {
  Job job = std::move(queue_.front());
  queue_.pop_front();
  ++writing_;
  lock.unlock();
  std::exception_ptr error;
  try {
    WriteJob(job);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  --writing_;
  if (error && !error_) error_ = error;
  free_.push_back(std::move(job.buffer));
  changed_.notify_all();
}

void FileWriter::WriteJob(const Job& job) const {
  const std::byte* data = job.buffer.get();
  size_t left = job.size;
  uint64_t offset = job.offset;
  while (left > 0) {
    const ssize_t put = ::pwrite(fd_.get(), data, left, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EINVAL && (::fcntl(fd_.get(), F_GETFL) & O_DIRECT)) {
      // The filesystem accepted O_DIRECT at open and refuses it now (some network filesystems do).
      (void)::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) & ~O_DIRECT);
      continue;
    }
    if (put < 0) throw IoError(errno, "cannot write at byte " + std::to_string(offset), path_);
    data += put;
    left -= static_cast<size_t>(put);
    offset += static_cast<uint64_t>(put);
    if (left > 0 && static_cast<uint64_t>(put) % kDirectAlign != 0) {
      (void)::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) & ~O_DIRECT);
    }
  }
}

}  // namespace graphzero::base
