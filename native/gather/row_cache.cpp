#include "gather/row_cache.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

#include "gather/row_index.h"
#include "gather/row_log.h"

namespace graphzero::gather {
namespace {

// Enough that threads rarely meet, and each of them large enough to hold a fair mixture.
constexpr uint64_t kMostShards = 64;
constexpr uint64_t kFewestShardBytes = uint64_t{1} << 20;
constexpr uint32_t kMostUses = 3;
// Rows that one insertion may send around again before it takes a used one.
constexpr int kMostSecondChances = 64;

std::atomic<uint64_t> forks = 0;

uint64_t CountForks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { ++forks; }); });
  return forks;
}

// The finisher of SplitMix64: every bit of the key reaches every bit of the hash.
uint64_t Hash(uint64_t key) {
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  return key ^ (key >> 31);
}

uint64_t ShardCount(uint64_t capacity) {
  return std::clamp<uint64_t>(std::bit_floor(capacity / kFewestShardBytes), 1, kMostShards);
}

}  // namespace

// One part of the cache with a lock of its own.
class RowCache::Shard {
 public:
  explicit Shard(std::span<std::byte> memory) {
    const size_t small = memory.size() / 10 / RowLog::kUnit * RowLog::kUnit;
    small_ = RowLog(memory.first(small));
    main_ = RowLog(memory.subspan(small));
  }
  // Only while the cache is built, before anyone else knows of it.
  Shard(Shard&& other) noexcept
      : small_(other.small_), main_(other.main_), index_(std::move(other.index_)) {}

  bool Find(uint64_t key, uint64_t hash, std::span<std::byte> out) {
    const std::lock_guard lock(mutex_);
    RowPlace place;
    if (!index_.Find(hash, &place, [&](RowPlace p) { return HeaderAt(p).key == key; })) {
      return false;
    }
    RowLog::Header& header = HeaderAt(place);
    if (header.bytes != out.size()) return false;
    header.uses = std::min(header.uses + 1, kMostUses);
    Log(place.main).CopyOut(place.position, out);
    return true;
  }

  void Insert(uint64_t key, uint64_t hash, std::span<const std::byte> row) {
    // A long row would push out everything else.
    if (RowLog::UnitsFor(row.size()) > small_.units() / 2) return;
    const std::lock_guard lock(mutex_);
    RowPlace place;
    // Two callers missed it at the same time.
    if (index_.Find(hash, &place, [&](RowPlace p) { return HeaderAt(p).key == key; })) return;
    if (index_.Recall(hash)) {
      AppendToMain(key, row);
    } else {
      while (small_.free_units() < RowLog::UnitsFor(row.size())) EvictFromSmall();
      index_.Insert(hash, {small_.Append(key, row), false}, Rehash());
    }
  }

  void AddUsage(RowCacheUsage& usage) {
    const std::lock_guard lock(mutex_);
    for (const RowLog* log : {&small_, &main_}) {
      usage.used_bytes += (log->units() - log->free_units()) * RowLog::kUnit;
    }
    usage.index_bytes += index_.bytes();
    usage.rows += index_.count();
  }

 private:
  const RowLog& Log(bool main) const { return main ? main_ : small_; }
  RowLog::Header& HeaderAt(RowPlace place) const { return Log(place.main).At(place.position); }
  // The hash of a row that is in the index.
  struct RowHash {
    const Shard& shard;
    uint64_t operator()(RowPlace place) const { return Hash(shard.HeaderAt(place).key); }
  };
  RowHash Rehash() const { return {*this}; }

  void EvictFromSmall() {
    const RowPlace place{small_.tail(), false};
    const RowLog::Header header = HeaderAt(place);
    const uint64_t hash = Hash(header.key);
    // As long as the main log has room, nothing is lost by keeping everything.
    const bool keep = header.uses > 0 || main_.free_units() >= RowLog::UnitsFor(header.bytes);
    if (keep) TakeOut(small_, place, header);
    index_.Erase(hash, place, Rehash());
    small_.DropTail();
    if (keep) {
      AppendToMain(header.key, scratch_);
    } else {
      index_.Remember(hash);
    }
  }

  void AppendToMain(uint64_t key, std::span<const std::byte> row) {
    int chances = kMostSecondChances;
    while (main_.free_units() < RowLog::UnitsFor(row.size())) {
      const RowPlace place{main_.tail(), true};
      const RowLog::Header header = HeaderAt(place);
      if (header.uses > 0 && chances-- > 0) {
        SendAround(place, header);
      } else {
        index_.Erase(Hash(header.key), place, Rehash());
        main_.DropTail();
      }
    }
    index_.Insert(Hash(key), {main_.Append(key, row), true}, Rehash());
  }

  // Moves the row at the tail of the main log to its head. `row` of AppendToMain may be scratch_,
  // so this has a buffer of its own.
  void SendAround(RowPlace place, const RowLog::Header& header) {
    around_.resize(header.bytes);
    main_.CopyOut(place.position, around_);
    main_.DropTail();
    const RowPlace now{main_.Append(header.key, around_), true};
    main_.At(now.position).uses = header.uses - 1;
    index_.Move(Hash(header.key), place, now);
  }

  void TakeOut(const RowLog& log, RowPlace place, const RowLog::Header& header) {
    scratch_.resize(header.bytes);
    log.CopyOut(place.position, scratch_);
  }

  std::mutex mutex_;
  RowLog small_;
  RowLog main_;
  RowIndex index_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> around_;
};

void RowCache::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

RowCache::RowCache(uint64_t capacity_bytes)
    : capacity_(std::max(capacity_bytes, kFewestShardBytes)),
      made_after_forks_(CountForks()),
      memory_(nullptr, Unmap{capacity_}) {
  void* memory = ::mmap(nullptr, capacity_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_.reset(static_cast<std::byte*>(memory));
  // Rows are looked up at random: with small pages every look would miss the TLB.
  ::madvise(memory, capacity_, MADV_HUGEPAGE);
  const uint64_t count = ShardCount(capacity_);
  const uint64_t size = capacity_ / count / RowLog::kUnit * RowLog::kUnit;
  shards_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    shards_.emplace_back(std::span(memory_.get() + i * size, size));
  }
}

RowCache::~RowCache() = default;

RowCache::Shard& RowCache::ShardOf(uint64_t hash) const { return shards_[hash % shards_.size()]; }

bool RowCache::Usable() const { return made_after_forks_ == forks.load(std::memory_order_relaxed); }

bool RowCache::Find(uint64_t key, std::span<std::byte> out) {
  if (!Usable()) return false;
  const uint64_t hash = Hash(key);
  return ShardOf(hash).Find(key, hash, out);
}

void RowCache::Insert(uint64_t key, std::span<const std::byte> row) {
  if (!Usable()) return;
  const uint64_t hash = Hash(key);
  ShardOf(hash).Insert(key, hash, row);
}

RowCacheUsage RowCache::usage() const {
  RowCacheUsage usage{capacity_, 0, 0, 0};
  if (!Usable()) return usage;
  for (Shard& shard : shards_) shard.AddUsage(usage);
  return usage;
}

}  // namespace graphzero::gather
