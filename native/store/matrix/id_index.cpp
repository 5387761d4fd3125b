#include "store/matrix/id_index.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/errors.h"
#include "base/hash.h"
#include "base/prefetch.h"
#include "base/team.h"
#include "store/files/mapped_file.h"

namespace graphzero::store {
namespace {

constexpr size_t kPiece = size_t{1} << 14;
constexpr size_t kGroup = 16;

}  // namespace

IdIndex::IdIndex(MatrixReader ids, uint64_t memory, int threads)
    : ids_(std::move(ids)), threads_(threads), texts_(ids_.dtype() == DType::kUInt8) {
  const bool integers = ids_.dtype() == DType::kInt64 && ids_.ndim() == 1;
  if (!integers && !(texts_ && ids_.ndim() == 2)) {
    throw InputError(ids_.file()->path() + ": found a matrix of " +
                     std::string(Name(ids_.dtype())) +
                     ", expected original ids: int64 in one dimension, or uint8 in two");
  }
  const uint64_t slots = std::bit_ceil(2 * ids_.rows() + 2);
  if (ids_.rows() < UINT32_MAX && slots <= memory / sizeof(uint32_t)) {
    table_.resize(slots);
    ReadGuarded(*ids_.file(), [this] { BuildTable(); });
  }
}

int64_t IdIndex::IntegerAt(uint64_t row) const {
  int64_t id;
  std::memcpy(&id, ids_.data() + row * ids_.row_stride(), sizeof id);
  return id;
}

std::string_view IdIndex::TextAt(uint64_t row) const {
  const auto* at = reinterpret_cast<const char*>(ids_.data() + row * ids_.row_stride());
  return {at, ::strnlen(at, ids_.cols())};
}

// The row whose id has `place` smaller ids.
uint64_t IdIndex::RowInOrder(uint64_t place) const {
  const IntegerArray& order = ids_.rows_by_id();
  if (!order.present()) return place;
  const uint64_t row = order[place];
  if (row < ids_.rows()) return row;
  throw FormatError(ids_.file()->path(), "rows_by_id item " + std::to_string(place),
                    "row " + std::to_string(row), "a row below " + std::to_string(ids_.rows()));
}

void IdIndex::BuildTable() {
  const uint64_t mask = table_.size() - 1;
  for (uint64_t row = 0; row < ids_.rows(); ++row) {
    uint64_t at = (texts_ ? base::HashId(TextAt(row)) : base::HashId(IntegerAt(row))) & mask;
    while (table_[at] != 0) at = (at + 1) & mask;
    table_[at] = static_cast<uint32_t>(row + 1);
  }
}

template <class Key>
int64_t IdIndex::Bisect(Key key) const {
  uint64_t first = 0;
  uint64_t count = ids_.rows();
  const auto at = [this](uint64_t place) {
    const uint64_t row = RowInOrder(place);
    if constexpr (std::is_same_v<Key, int64_t>) {
      return IntegerAt(row);
    } else {
      return TextAt(row);
    }
  };
  while (count > 0) {
    const uint64_t half = count / 2;
    if (at(first + half) < key) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  if (first == ids_.rows() || at(first) != key) return kNoRow;
  return static_cast<int64_t>(RowInOrder(first));
}

template <class Key>
int64_t IdIndex::FindOne(Key key) const {
  const uint64_t mask = table_.size() - 1;
  for (uint64_t at = base::HashId(key) & mask; table_[at] != 0; at = (at + 1) & mask) {
    const uint64_t row = table_[at] - 1;
    if constexpr (std::is_same_v<Key, int64_t>) {
      if (IntegerAt(row) == key) return static_cast<int64_t>(row);
    } else {
      if (TextAt(row) == key) return static_cast<int64_t>(row);
    }
  }
  return kNoRow;
}

// Looks ids up in groups: prefetches the slots of all ids of a group first, then the ids that these
// slots point to, so that cache misses overlap.
template <class Keys>
void IdIndex::FindAll(const Keys& keys, int64_t* rows) const {
  const uint64_t mask = table_.empty() ? 0 : table_.size() - 1;
  const auto find_piece = [&](size_t begin, size_t end) {
    if (table_.empty()) {
      for (size_t i = begin; i < end; ++i) rows[i] = Bisect(keys[i]);
      return;
    }
    uint64_t slots[kGroup];
    for (size_t i = begin; i < end; i += kGroup) {
      const size_t size = std::min(kGroup, end - i);
      for (size_t j = 0; j < size; ++j) {
        slots[j] = base::HashId(keys[i + j]) & mask;
        base::Prefetch(&table_[slots[j]]);
      }
      for (size_t j = 0; j < size; ++j) {
        const uint32_t row = table_[slots[j]];
        if (row != 0) base::Prefetch(ids_.data() + (row - 1) * ids_.row_stride());
      }
      for (size_t j = 0; j < size; ++j) rows[i + j] = FindOne(keys[i + j]);
    }
  };
  const auto find_guarded = [&](size_t begin, size_t end) {
    ReadGuarded(*ids_.file(), [&] { find_piece(begin, end); });
  };
  if (keys.size() <= kPiece) return find_guarded(0, keys.size());
  std::atomic<size_t> next{0};
  base::RunTeam(threads_, [&](int) {
    for (size_t at; (at = next.fetch_add(kPiece)) < keys.size();) {
      find_guarded(at, std::min(at + kPiece, keys.size()));
    }
  });
}

void IdIndex::Find(std::span<const int64_t> ids, int64_t* rows) const {
  if (texts_) {
    throw InputError("found integers, expected texts: the ids of " + ids_.file()->path() +
                     " are texts");
  }
  FindAll(ids, rows);
}

void IdIndex::Find(const base::TextView& ids, int64_t* rows) const {
  if (!texts_) {
    throw InputError("found texts, expected integers: the ids of " + ids_.file()->path() +
                     " are integers");
  }
  FindAll(ids, rows);
}

}  // namespace graphzero::store
