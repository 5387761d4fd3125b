#include "store/huge_window.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <span>

#ifndef MADV_POPULATE_READ  // Linux 5.14; headers may be older than the kernel
#define MADV_POPULATE_READ 22
#endif

namespace graphzero::store {
namespace {

// The kernel's PAGEMAP_SCAN (Linux 6.7), as it defines it.
struct PageRegion {
  uint64_t start, end, categories;
};
struct ScanRequest {
  uint64_t size, flags, start, end, walk_end, regions, regions_length, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanRequest);
constexpr uint64_t kPageIsHuge = 1u << 6;

std::byte* Map(void* at, uint64_t length, int flags, int fd, uint64_t offset) {
  void* data = ::mmap(at, length, PROT_READ, flags, fd, static_cast<off_t>(offset));
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace

HugeWindow::HugeWindow(const MappedFile& file, uint64_t offset, uint64_t length)
    : file_(file), offset_(offset), length_(length) {
  // Huge pages need an address that is aligned like the offset.
  reserved_ = Map(nullptr, length + kHugePage, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved_ == nullptr) return;
  const auto address = reinterpret_cast<uintptr_t>(reserved_);
  auto* aligned = reserved_ + ((kHugePage - address % kHugePage) % kHugePage);
  window_ = Map(aligned, length, MAP_SHARED | MAP_FIXED, file.fd().get(), offset);
  if (window_ != nullptr) ::madvise(window_, length, MADV_HUGEPAGE);
}

HugeWindow::~HugeWindow() {
  if (reserved_ != nullptr) ::munmap(reserved_, length_ + kHugePage);
}

void HugeWindow::Read(const Piece& piece) const {
  if (window_ != nullptr) ::madvise(window_ + piece.begin, piece.length, MADV_POPULATE_READ);
}

void HugeWindow::ReadAgain(const Piece& piece) const {
  // Only pages that nobody has mapped are dropped.
  ::madvise(window_ + piece.begin, piece.length, MADV_DONTNEED);
  ::posix_fadvise(file_.fd().get(), static_cast<off_t>(offset_ + piece.begin),
                  static_cast<off_t>(piece.length), POSIX_FADV_DONTNEED);
  Read(piece);
}

std::vector<HugeWindow::Piece> HugeWindow::OnSmallPages() const {
  if (window_ == nullptr) return {};
  const Fd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap.valid()) return {};
  const uint64_t whole = length_ / kHugePage * kHugePage;
  const auto begin = reinterpret_cast<uintptr_t>(window_);
  std::vector<PageRegion> huge(whole / kHugePage);
  ScanRequest request{};
  request.size = sizeof(request);
  request.start = begin;
  request.end = begin + whole;
  request.regions = reinterpret_cast<uintptr_t>(huge.data());
  request.regions_length = huge.size();
  request.category_mask = kPageIsHuge;
  request.return_mask = kPageIsHuge;
  const int found = huge.empty() ? -1 : ::ioctl(pagemap.get(), kPagemapScan, &request);
  if (found < 0) return {};
  std::vector<Piece> small;
  uint64_t at = 0;
  for (const PageRegion& region : std::span(huge).first(static_cast<size_t>(found))) {
    if (region.start - begin > at) small.push_back({at, region.start - begin - at});
    at = region.end - begin;
  }
  if (whole > at) small.push_back({at, whole - at});
  return small;
}

void HugeWindow::ReadSmallPagesAgain() const {
  const std::vector<Piece> small = OnSmallPages();
  if (small.empty()) return;
  // One first: if that does not help, neither would the others, and the file may be large.
  ReadAgain({small.front().begin, kHugePage});
  const std::vector<Piece> left = OnSmallPages();
  if (!left.empty() && left.front().begin == small.front().begin) return;
  for (const Piece& piece : left) ReadAgain(piece);
}

}  // namespace graphzero::store
