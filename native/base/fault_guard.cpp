#include "base/fault_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace graphzero::base {
namespace {

// A signal handler may use neither locks nor the allocator. So mappings are stored in a list of
// blocks that only grows: a block is linked once it is complete, and is never freed. Registering
// takes no lock either, because a forked child could find the lock held.
struct Block {
  static constexpr size_t kMappings = 256;
  GuardedMapping mappings[kMappings];
  std::atomic<Block*> next = nullptr;
};

Block first_block;
uintptr_t page_size = 4096;
struct sigaction previous;

// initial-exec: an access from a handler must not allocate.
__attribute__((tls_model("initial-exec"))) thread_local int accesses = 0;

GuardedMapping* Find(uintptr_t address) {
  for (Block* block = &first_block; block != nullptr; block = block->next.load()) {
    for (GuardedMapping& mapping : block->mappings) {
      if (address >= mapping.begin.load() && address < mapping.end.load()) return &mapping;
    }
  }
  return nullptr;
}

bool PutZeros(uintptr_t begin, uintptr_t length) {
  return ::syscall(SYS_mmap, begin, length, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != -1;
}

// Size of the mapped file in bytes, rounded up to whole pages; larger than any file if unknown.
uintptr_t SizeNow(const GuardedMapping& mapping) {
  struct stat info;
  if (::fstat(mapping.descriptor.load(), &info) != 0) return UINTPTR_MAX / 2;
  return (static_cast<uintptr_t>(info.st_size) + page_size - 1) / page_size * page_size;
}

bool ReplacePage(uintptr_t address) {
  GuardedMapping* mapping = Find(address);
  if (mapping == nullptr || (accesses == 0 && !mapping->always.load())) return false;
  const uintptr_t page = address / page_size * page_size;
  const uintptr_t begin = mapping->begin.load();
  // The mark is set before the zeros are mapped, so that whoever reads them finds the mark.
  uint64_t sound = GuardedMapping::kSound;
  mapping->damaged_at.compare_exchange_strong(sound, page - begin);
  const uintptr_t end = mapping->end.load();
  if (mapping->always.load()) return PutZeros(begin, end - begin);
  // All pages that were cut off the file are replaced in one piece: page by page, the process would
  // run out of mappings.
  const uintptr_t missing = begin + SizeNow(*mapping);
  if (missing <= page) return PutZeros(missing, end - missing);
  return PutZeros(page, page_size) || PutZeros(begin, end - begin);
}

void HandToPrevious(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // The access is repeated on return, and ends the process as it would have without this handler.
    ::sigaction(SIGBUS, &previous, nullptr);
  }
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (!ReplacePage(reinterpret_cast<uintptr_t>(info->si_addr))) {
    HandToPrevious(signal, info, context);
  }
  errno = saved;
}

void InstallHandler() {
  page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  // The handler runs on the alternative stack if the thread has one (Python's faulthandler makes
  // one).
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous);
}

// The next block; a new one if there is none.
Block* NextOf(Block& block) {
  Block* next = block.next.load();
  if (next != nullptr) return next;
  auto made = std::make_unique<Block>();
  if (block.next.compare_exchange_strong(next, made.get())) return made.release();
  return next;  // another thread was faster and linked this one
}

// Takes an unused entry. It belongs to the caller alone from now on, and contains no address yet.
GuardedMapping* TakeUnused() {
  for (Block* block = &first_block;; block = NextOf(*block)) {
    for (GuardedMapping& mapping : block->mappings) {
      uintptr_t begin = GuardedMapping::kUnused;
      if (mapping.begin.compare_exchange_strong(begin, GuardedMapping::kTaken)) return &mapping;
    }
  }
}

}  // namespace

FaultGuard::FaultGuard(std::byte* data, uint64_t size, int descriptor, GuardScope scope) {
  static std::once_flag once;
  std::call_once(once, InstallHandler);
  mapping_ = TakeUnused();
  mapping_->damaged_at = GuardedMapping::kSound;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  mapping_->descriptor = descriptor;
  mapping_->always = scope == GuardScope::kAlways;
  mapping_->begin = begin;
  mapping_->end = begin + size;  // set last: until then the entry contains no address
}

FaultGuard::~FaultGuard() {
  mapping_->end = 0;
  mapping_->begin = GuardedMapping::kUnused;
}

MappedAccess::MappedAccess() { ++accesses; }
MappedAccess::~MappedAccess() { --accesses; }
bool MappedAccess::Active() { return accesses > 0; }

}  // namespace graphzero::base
