#include "store/files/warm.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/errors.h"

#ifndef MADV_POPULATE_READ  // Linux 5.14; headers may be older than the kernel
#define MADV_POPULATE_READ 22
#endif

namespace graphzero::store {
namespace {

// PAGEMAP_SCAN, as the kernel defines it (Linux 6.7).
struct PageRegion {
  uint64_t start, end, categories;
};
struct ScanRequest {
  uint64_t size, flags, start, end, walk_end, regions, regions_length, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanRequest);
constexpr uint64_t kPageIsHuge = 1u << 6;
// An entry of /proc/self/pagemap.
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kMappedOnce = uint64_t{1} << 56;

// If this many pieces are not on huge pages after they were read again, the others would not be
// either.
constexpr size_t kTries = 3;

base::Fd OpenPagemap() { return base::Fd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)); }

// Which of the huge pages from `begin` on are mapped as such; empty if the kernel does not tell.
std::vector<bool> HugePages(const base::Fd& pagemap, uintptr_t begin, size_t count) {
  std::vector<PageRegion> found(count);
  ScanRequest request{};
  request.size = sizeof(request);
  request.start = begin;
  request.end = begin + count * base::kHugePage;
  request.regions = reinterpret_cast<uintptr_t>(found.data());
  request.regions_length = found.size();
  request.category_mask = kPageIsHuge;
  request.return_mask = kPageIsHuge;
  const int regions = count == 0 ? -1 : ::ioctl(pagemap.get(), kPagemapScan, &request);
  if (regions < 0) return {};
  std::vector<bool> huge(count);
  for (const PageRegion& region : std::span(found).first(static_cast<size_t>(regions))) {
    for (uint64_t at = region.start; at < region.end; at += base::kHugePage) {
      huge[(at - begin) / base::kHugePage] = true;
    }
  }
  return huge;
}

std::byte* Map(void* at, uint64_t length, int flags, int fd, uint64_t offset) {
  void* data = ::mmap(at, length, PROT_READ, flags, fd, static_cast<off_t>(offset));
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

// A second, temporary mapping of a file that asks the kernel for huge pages.
//
// The file's own mapping does not get this advice, because every later fault of a row would then
// read two megabytes. The kernel may refuse any of this; then nothing happens.
class HugeWindow {
 public:
  // Maps [offset, offset + length) of the file; `offset` is a multiple of kHugePage.
  HugeWindow(const MappedFile& file, uint64_t offset, uint64_t length);
  HugeWindow(const HugeWindow&) = delete;
  HugeWindow& operator=(const HugeWindow&) = delete;
  ~HugeWindow();

  // Reads everything that is not in memory.
  void Read() const { Read({0, length_}); }

  // Evicts what lies in the page cache on small pages, because it was written or read piecemeal,
  // and reads it again, now on huge pages. Pages that have another mapping, in this process or
  // another, or that are not on the disk yet, stay as they are. Does nothing where the kernel has
  // no huge pages for this file. Use after Read().
  void ReadSmallPagesAgain() const;

 private:
  struct Piece {  // of the window; begins and ends with a huge page
    uint64_t begin;
    uint64_t length;
  };

  void Read(const Piece& piece) const;
  // Evicts the piece from the page cache and reads it.
  void ReadAgain(const Piece& piece) const;
  // Pieces of the size of a huge page that are in memory on small pages, all of which only this
  // window has mapped. Empty if the kernel does not tell.
  std::vector<Piece> OnSmallPages() const;
  bool IsMappedHereOnly(const base::Fd& pagemap, const Piece& piece) const;
  bool IsHuge(const Piece& piece) const;

  const MappedFile& file_;
  const uint64_t offset_;
  const uint64_t length_;
  std::byte* reserved_ = nullptr;
  std::byte* window_ = nullptr;
};

HugeWindow::HugeWindow(const MappedFile& file, uint64_t offset, uint64_t length)
    : file_(file), offset_(offset), length_(length) {
  // Huge pages need an address that is aligned like the offset.
  reserved_ = Map(nullptr, length + base::kHugePage, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved_ == nullptr) return;
  const auto address = reinterpret_cast<uintptr_t>(reserved_);
  auto* aligned = reserved_ + ((base::kHugePage - address % base::kHugePage) % base::kHugePage);
  window_ = Map(aligned, length, MAP_SHARED | MAP_FIXED, file.fd().get(), offset);
  if (window_ != nullptr) ::madvise(window_, length, MADV_HUGEPAGE);
}

HugeWindow::~HugeWindow() {
  if (reserved_ != nullptr) ::munmap(reserved_, length_ + base::kHugePage);
}

void HugeWindow::Read(const Piece& piece) const {
  if (window_ != nullptr) ::madvise(window_ + piece.begin, piece.length, MADV_POPULATE_READ);
}

void HugeWindow::ReadAgain(const Piece& piece) const {
  // Unmaps the pages in this window first, because only pages that nobody has mapped are evicted.
  ::madvise(window_ + piece.begin, piece.length, MADV_DONTNEED);
  ::posix_fadvise(file_.fd().get(), static_cast<off_t>(offset_ + piece.begin),
                  static_cast<off_t>(piece.length), POSIX_FADV_DONTNEED);
  Read(piece);
}

std::vector<HugeWindow::Piece> HugeWindow::OnSmallPages() const {
  if (window_ == nullptr) return {};
  const base::Fd pagemap = OpenPagemap();
  if (!pagemap.valid()) return {};
  const auto begin = reinterpret_cast<uintptr_t>(window_);
  const std::vector<bool> huge = HugePages(pagemap, begin, length_ / base::kHugePage);
  std::vector<Piece> small;
  for (size_t i = 0; i < huge.size(); ++i) {
    const Piece piece{i * base::kHugePage, base::kHugePage};
    if (!huge[i] && IsMappedHereOnly(pagemap, piece)) small.push_back(piece);
  }
  return small;
}

bool HugeWindow::IsMappedHereOnly(const base::Fd& pagemap, const Piece& piece) const {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<uint64_t> entries(piece.length / page);
  const uint64_t first = reinterpret_cast<uintptr_t>(window_ + piece.begin) / page;
  const auto bytes = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
  const ssize_t got = ::pread(pagemap.get(), entries.data(), entries.size() * sizeof(uint64_t),
                              static_cast<off_t>(first * sizeof(uint64_t)));
  constexpr uint64_t kWanted = kPresent | kMappedOnce;
  return got == bytes && std::all_of(entries.begin(), entries.end(),
                                     [](uint64_t entry) { return (entry & kWanted) == kWanted; });
}

bool HugeWindow::IsHuge(const Piece& piece) const {
  const auto begin = reinterpret_cast<uintptr_t>(window_ + piece.begin);
  const std::vector<bool> huge = HugePages(OpenPagemap(), begin, 1);
  return !huge.empty() && huge[0];
}

void HugeWindow::ReadSmallPagesAgain() const {
  // Tries a few pieces first, so that a large file is not read twice for nothing.
  size_t failures = 0;
  bool helps = false;
  for (const Piece& piece : OnSmallPages()) {
    ReadAgain(piece);
    helps = helps || IsHuge(piece);
    if (!helps && ++failures == kTries) return;
  }
}

// For kernels without MADV_POPULATE_READ. If that failed for another reason, this throws the error.
void ReadThrough(const MappedFile& file, uint64_t offset, uint64_t length) {
  std::vector<std::byte> buffer(uint64_t{1} << 20);
  while (length > 0) {
    const uint64_t piece = std::min<uint64_t>(length, buffer.size());
    base::ReadExactly(file.fd(), offset, {buffer.data(), piece}, file.path());
    offset += piece;
    length -= piece;
  }
}

}  // namespace

void Warm(const MappedFile& file, uint64_t offset, uint64_t length) {
  if (offset >= file.size()) return;
  length = std::min(length, file.size() - offset);
  {
    const HugeWindow window(file, offset, length);
    window.Read();
    window.ReadSmallPagesAgain();
  }
  if (::madvise(file.bytes().data() + offset, length, MADV_POPULATE_READ) != 0) {
    ReadThrough(file, offset, length);
  }
}

void ExpectRandomAccess(const MappedFile& file) {
  ::madvise(file.bytes().data(), file.size(), MADV_RANDOM);
}

}  // namespace graphzero::store
