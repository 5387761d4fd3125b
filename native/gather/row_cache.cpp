#include "gather/row_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <numeric>

#include "base/fork.h"
#include "base/hash.h"
#include "gather/row_index.h"
#include "gather/row_log.h"

namespace graphzero::gather {
namespace {

// Enough shards that threads rarely wait for the same lock, and each shard large enough to hold a
// fair mixture of rows.
constexpr uint64_t kMostShards = 64;
constexpr uint64_t kFewestShardBytes = uint64_t{1} << 20;
// An index entry has 31 bits for a position in a log (row_index.h).
constexpr uint64_t kMostShardBytes = RowLog::kUnit << 31;
constexpr uint64_t kSmallPart = 10;  // the small log gets a tenth of the memory
constexpr uint32_t kMostUses = 3;
// How many used rows one insertion may send around again before it evicts one.
constexpr int kMostSecondChances = 64;
// Rows that are looked up together, so that their cache misses overlap.
constexpr size_t kLookAhead = 16;

uint64_t KeyOf(uint64_t column, uint64_t row) { return column << 44 | row; }

uint64_t ShardCount(uint64_t capacity) {
  return std::clamp<uint64_t>(std::bit_floor(capacity / kFewestShardBytes), 1, kMostShards);
}

}  // namespace

// One part of the cache with a lock of its own.
class RowCache::Shard {
 public:
  explicit Shard(std::span<std::byte> memory) {
    const size_t small = memory.size() / kSmallPart / RowLog::kUnit * RowLog::kUnit;
    small_ = RowLog(memory.first(small));
    main_ = RowLog(memory.subspan(small));
  }
  // Called only while the cache is built, before another thread can use the shard.
  Shard(Shard&& other) noexcept
      : small_(other.small_), main_(other.main_), index_(std::move(other.index_)) {}

  // Looks up the rows at `positions` of the query. Prefetches the memory of a group of rows before
  // the first is needed: one by one, each would wait for two cache misses, in the index and in the
  // log.
  size_t Find(const RowQuery& query, std::span<const uint32_t> positions, uint32_t* missing) {
    const auto key = [&](uint32_t i) {
      return KeyOf(query.column, static_cast<uint64_t>(query.ids[i]));
    };
    size_t misses = 0;
    const std::lock_guard lock(mutex_);
    while (!positions.empty()) {
      const auto group = positions.first(std::min(positions.size(), kLookAhead));
      positions = positions.subspan(group.size());
      for (const uint32_t i : group) index_.PrefetchToFind(base::Mix64(key(i)));
      for (const uint32_t i : group) {
        RowPlace guess;
        if (index_.Guess(base::Mix64(key(i)), &guess)) {
          Log(guess.main).Prefetch(guess.position, query.row_bytes);
        }
      }
      for (const uint32_t i : group) {
        if (!CopyOut(key(i), {query.PlaceOf(i), query.row_bytes})) {
          missing[misses++] = i;
        }
      }
    }
    return misses;
  }

  void Insert(uint64_t key, uint64_t hash, std::span<const std::byte> row) {
    // A long row would evict everything else.
    if (RowLog::UnitsFor(row.size()) > small_.units() / 2) return;
    const std::lock_guard lock(mutex_);
    PrefetchForInsert(hash);
    RowPlace place;
    // Another caller missed the row at the same time and has inserted it already.
    if (index_.Find(hash, &place, [&](RowPlace p) { return HeaderAt(p).key == key; })) return;
    index_.MakeRoomForOne();
    if (index_.Recall(hash)) {
      AppendToMain(key, row);
    } else {
      while (small_.free_units() < RowLog::UnitsFor(row.size())) EvictFromSmall();
      index_.Insert(hash, {small_.Append(key, row), false});
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

  bool CopyOut(uint64_t key, std::span<std::byte> out) {
    RowPlace place;
    if (!index_.Find(base::Mix64(key), &place,
                     [&](RowPlace p) { return HeaderAt(p).key == key; })) {
      return false;
    }
    RowLog::Header& header = HeaderAt(place);
    if (header.bytes != out.size()) return false;
    // The header of a hot row is not written to, so its cache line need not be written back.
    if (header.uses < kMostUses) ++header.uses;
    Log(place.main).CopyOut(place.position, out);
    return true;
  }

  // Prefetches the cells of the new row and of the rows that it may evict.
  void PrefetchForInsert(uint64_t hash) const {
    index_.PrefetchToChange(hash);
    if (!small_.empty()) index_.PrefetchToChange(base::Mix64(small_.At(small_.tail()).key));
    if (!main_.empty()) index_.PrefetchToChange(base::Mix64(main_.At(main_.tail()).key));
  }

  void EvictFromSmall() {
    const RowPlace place{small_.tail(), false};
    const RowLog::Header header = HeaderAt(place);
    const uint64_t hash = base::Mix64(header.key);
    // As long as the main log has room, nothing is lost by keeping everything.
    const bool keep = header.uses > 0 || main_.free_units() >= RowLog::UnitsFor(header.bytes);
    if (keep) TakeOut(small_, place, header);
    index_.Erase(hash, place);
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
        index_.Erase(base::Mix64(header.key), place);
        main_.DropTail();
      }
    }
    index_.Insert(base::Mix64(key), {main_.Append(key, row), true});
  }

  // Moves the row at the tail of the main log to its head. Has a separate buffer, because `row` of
  // AppendToMain may be scratch_.
  void SendAround(RowPlace place, const RowLog::Header& header) {
    around_.resize(header.bytes);
    main_.CopyOut(place.position, around_);
    main_.DropTail();
    const RowPlace now{main_.Append(header.key, around_), true};
    main_.At(now.position).uses = header.uses - 1;
    index_.Move(base::Mix64(header.key), place, now);
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
    : capacity_(std::clamp(capacity_bytes, kFewestShardBytes, kMostShards * kMostShardBytes)),
      forks_(base::ForkCount()),
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

// The number of shards is a power of two.
size_t RowCache::ShardOf(uint64_t hash) const { return hash & (shards_.size() - 1); }

bool RowCache::Usable() const { return forks_ == base::ForkCount(); }

// Looks rows up shard by shard, so that each lock is taken once for many rows.
size_t RowCache::Find(const RowQuery& query, uint32_t* missing) {
  const auto count = static_cast<uint32_t>(query.ids.size());
  if (!Usable()) {
    std::iota(missing, missing + count, 0u);
    return count;
  }
  const auto shard_of = [&](uint32_t i) {
    return ShardOf(base::Mix64(KeyOf(query.column, static_cast<uint64_t>(query.ids[i]))));
  };
  std::array<uint32_t, kMostShards + 1> begins{};
  for (uint32_t i = 0; i < count; ++i) ++begins[shard_of(i) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::array<uint32_t, kMostAtATime> positions;
  std::array<uint32_t, kMostShards + 1> next = begins;
  for (uint32_t i = 0; i < count; ++i) positions[next[shard_of(i)]++] = i;

  size_t misses = 0;
  // Callers begin at different shards, or they would wait for each other at every one.
  const size_t first = count == 0 ? 0 : shard_of(0);
  for (size_t step = 0; step < shards_.size(); ++step) {
    const size_t shard = (first + step) % shards_.size();
    const std::span<const uint32_t> own(positions.data() + begins[shard],
                                        begins[shard + 1] - begins[shard]);
    if (!own.empty()) misses += shards_[shard].Find(query, own, missing + misses);
  }
  return misses;
}

void RowCache::Insert(uint64_t column, uint64_t row, std::span<const std::byte> data) {
  if (!Usable()) return;
  const uint64_t key = KeyOf(column, row);
  const uint64_t hash = base::Mix64(key);
  shards_[ShardOf(hash)].Insert(key, hash, data);
}

RowCacheUsage RowCache::usage() const {
  RowCacheUsage usage{capacity_, 0, 0, 0};
  if (!Usable()) return usage;
  for (Shard& shard : shards_) shard.AddUsage(usage);
  return usage;
}

}  // namespace graphzero::gather
