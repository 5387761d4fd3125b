#include "store/verify_values.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"

namespace graphzero::store {
namespace {

constexpr float kLargestWeight = std::numeric_limits<float>::max();

using base::Number;

// Blocks are a multiple of every item's size, and buffers are aligned for it.
template <class T>
std::span<const T> Items(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

// First position where `wrong` holds, or items.size(). Looks at all of a batch before it branches,
// which lets the compiler use vectors.
template <class T, class Predicate>
size_t FindWrong(std::span<const T> items, Predicate wrong) {
  constexpr size_t kBatch = 256;
  for (size_t at = 0; at < items.size(); at += kBatch) {
    const size_t end = std::min(items.size(), at + kBatch);
    bool any = false;
    for (size_t i = at; i < end; ++i) any |= wrong(items[i]);
    if (!any) continue;
    while (!wrong(items[at])) ++at;
    return at;
  }
  return items.size();
}

template <class T>
std::optional<Finding> CheckBelow(std::span<const T> items, uint64_t bound, uint64_t first_slot) {
  const size_t at = FindWrong(items, [bound](T item) { return item >= bound; });
  if (at == items.size()) return std::nullopt;
  return Finding{"slot " + Number(first_slot + at), Number(items[at]), "below " + Number(bound)};
}

std::optional<Finding> CheckBelow(std::span<const std::byte> bytes, uint32_t width, uint64_t bound,
                                  uint64_t first) {
  return width == 4 ? CheckBelow(Items<uint32_t>(bytes), bound, first / 4)
                    : CheckBelow(Items<uint64_t>(bytes), bound, first / 8);
}

// Not the same for (a, b) and (b, a).
uint64_t HashEdge(uint64_t a, uint64_t b) { return base::Mix64(a * base::kGoldenRatio + b); }

// The rows, or parts of rows, that lie in one block of neighbours.
template <class T>
class RowWalk {
 public:
  RowWalk(const Adjacency& adjacency, const RowRules& rules, uint64_t first_slot,
          std::span<const T> neighbours)
      : adjacency_(adjacency), rules_(rules), first_(first_slot), neighbours_(neighbours) {}

  std::optional<Finding> Run() {
    const uint64_t end = first_ + neighbours_.size();
    const uint64_t* indptr = adjacency_.indptr;
    uint64_t row = static_cast<uint64_t>(
        std::upper_bound(indptr, indptr + adjacency_.rows + 1, first_) - indptr - 1);
    uint64_t slot = first_;
    // indptr was sound when it was checked; someone may have written to the file since.
    while (slot < end && row < adjacency_.rows) {
      const uint64_t row_end = std::clamp(ReadOnce(indptr + row + 1), slot, end);
      if (rules_.sorted) {
        // The pair over the block's edge belongs to this block, if its row began before.
        const uint64_t from = indptr[row] < slot ? slot : slot + 1;
        if (auto finding = CheckOrder(row, from, row_end)) return finding;
      }
      AddToSums(row, neighbours_.subspan(slot - first_, row_end - slot));
      slot = row_end;
      ++row;
    }
    if (rules_.from_row) *rules_.from_row += from_row_;
    if (rules_.to_row) *rules_.to_row += to_row_;
    return std::nullopt;
  }

 private:
  std::optional<Finding> CheckOrder(uint64_t row, uint64_t begin, uint64_t end) const {
    if (begin >= end) return std::nullopt;
    // Most rows rise strictly; only where one does not are edge ids looked at.
    bool rising = Neighbour(begin - 1) < Neighbour(begin);
    for (uint64_t i = begin - first_ + 1; i < end - first_; ++i) {
      rising &= neighbours_[i - 1] < neighbours_[i];
    }
    if (rising) return std::nullopt;
    for (uint64_t s = begin; s < end; ++s) {
      if (!InOrder(s)) return OutOfOrder(row, s);
    }
    return std::nullopt;
  }

  void AddToSums(uint64_t row, std::span<const T> neighbours) {
    if (rules_.from_row) {
      for (T neighbour : neighbours) from_row_ += HashEdge(row, neighbour);
    }
    if (rules_.to_row) {
      for (T neighbour : neighbours) to_row_ += HashEdge(neighbour, row);
    }
  }

  uint64_t Neighbour(uint64_t slot) const {
    return slot >= first_ ? neighbours_[slot - first_] : adjacency_.neighbours[slot];
  }

  bool InOrder(uint64_t slot) const {
    const uint64_t before = Neighbour(slot - 1);
    const uint64_t here = Neighbour(slot);
    if (before != here) return before < here;
    if (rules_.no_repeats) return false;
    return !adjacency_.edge_ids.present() ||
           adjacency_.edge_ids[slot - 1] <= adjacency_.edge_ids[slot];
  }

  Finding OutOfOrder(uint64_t row, uint64_t slot) const {
    return {"row " + Number(row) + " slot " + Number(slot),
            "neighbour " + Number(Neighbour(slot)) + " after " + Number(Neighbour(slot - 1)),
            std::string("rows sorted by (neighbour, edge id)") +
                (rules_.no_repeats ? " without repeats" : "")};
  }

  const Adjacency& adjacency_;
  const RowRules& rules_;
  uint64_t first_;
  std::span<const T> neighbours_;
  uint64_t from_row_ = 0;
  uint64_t to_row_ = 0;
};

template <class T>
std::optional<Finding> CheckRowBlock(const Adjacency& adjacency, const RowRules& rules,
                                     uint64_t first, std::span<const std::byte> bytes) {
  const std::span<const T> items = Items<T>(bytes);
  const uint64_t slot = first / sizeof(T);
  if (auto finding = CheckBelow(items, adjacency.neighbour_bound, slot)) return finding;
  return RowWalk<T>(adjacency, rules, slot, items).Run();
}

// One value at the start of each row, a node id.
template <class T>
std::optional<Finding> CheckNodeIds(uint64_t stride, uint64_t first,
                                    std::span<const std::byte> bytes) {
  for (uint64_t row = base::DivideUp(first, stride); row * stride < first + bytes.size(); ++row) {
    T value;
    std::memcpy(&value, bytes.data() + (row * stride - first), sizeof value);
    if (value < 0) return Finding{"row " + Number(row), std::to_string(value), "a node id"};
  }
  return std::nullopt;
}

// Bytes from `begin` to `end` of each row must not exceed `most`.
struct ByteRule {
  uint64_t stride;
  uint64_t begin;
  uint64_t end;
  uint8_t most;
  std::string_view what;

  std::optional<Finding> Check(uint64_t first, std::span<const std::byte> bytes) const {
    for (uint64_t row = first / stride; row * stride < first + bytes.size(); ++row) {
      const uint64_t from = std::max(first, row * stride + begin);
      const uint64_t to = std::min(first + bytes.size(), row * stride + end);
      for (uint64_t at = from; at < to; ++at) {
        const auto value = static_cast<uint8_t>(bytes[at - first]);
        if (value <= most) continue;
        return Finding{"row " + Number(row) + " byte " + Number(at - row * stride), Number(value),
                       std::string(what)};
      }
    }
    return std::nullopt;
  }
};

}  // namespace

BlockCheck CheckIndptr(const Adjacency& adjacency) {
  return [adjacency](uint64_t first, std::span<const std::byte> bytes) -> std::optional<Finding> {
    const auto items = Items<uint64_t>(bytes);
    const uint64_t begin = first / sizeof(uint64_t);
    uint64_t before = begin == 0 ? 0 : adjacency.indptr[begin - 1];
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i] < before || items[i] > adjacency.edges) {
        return Finding{"item " + Number(begin + i), Number(items[i]),
                       "from " + Number(before) + " to " + Number(adjacency.edges)};
      }
      before = items[i];
    }
    if (begin == 0 && items[0] != 0) return Finding{"item 0", Number(items[0]), "0"};
    if (begin + items.size() == adjacency.rows + 1 && before != adjacency.edges) {
      return Finding{"item " + Number(adjacency.rows), Number(before), Number(adjacency.edges)};
    }
    return std::nullopt;
  };
}

BlockCheck CheckNeighbours(const Adjacency& adjacency) {
  return [adjacency](uint64_t first, std::span<const std::byte> bytes) {
    return CheckBelow(bytes, adjacency.neighbours.width, adjacency.neighbour_bound, first);
  };
}

BlockCheck CheckRows(const Adjacency& adjacency, const RowRules& rules) {
  return [adjacency, rules](uint64_t first, std::span<const std::byte> bytes) {
    return adjacency.neighbours.width == 4
               ? CheckRowBlock<uint32_t>(adjacency, rules, first, bytes)
               : CheckRowBlock<uint64_t>(adjacency, rules, first, bytes);
  };
}

BlockCheck CheckEdgeIds(const Adjacency& adjacency, uint64_t bound) {
  return [adjacency, bound](uint64_t first, std::span<const std::byte> bytes) {
    return CheckBelow(bytes, adjacency.edge_ids.width, bound, first);
  };
}

BlockCheck CheckWeights() {
  return [](uint64_t first, std::span<const std::byte> bytes) -> std::optional<Finding> {
    const auto items = Items<float>(bytes);
    const size_t at = FindWrong(items, [](float w) { return !(w >= 0 && w <= kLargestWeight); });
    if (at == items.size()) return std::nullopt;
    return Finding{"slot " + Number(first / sizeof(float) + at), std::to_string(items[at]),
                   "a finite weight, 0 or more"};
  };
}

BlockCheck CheckMatrix(const MatrixReader& matrix) {
  const ByteRule padding{matrix.row_stride(), matrix.row_bytes(), matrix.row_stride(), 0,
                         "0 in the padding"};
  const ByteRule bools{matrix.row_stride(), 0, matrix.row_bytes(), 1, "0 or 1"};
  const uint64_t stride = matrix.row_stride();
  const bool padded = stride != matrix.row_bytes();
  const bool ids = matrix.role() == Role::kIds;
  const DType dtype = matrix.dtype();
  if (!padded && !ids && dtype != DType::kBool) return {};
  return [=](uint64_t first, std::span<const std::byte> bytes) -> std::optional<Finding> {
    if (padded) {
      if (auto finding = padding.Check(first, bytes)) return finding;
    }
    if (dtype == DType::kBool) return bools.Check(first, bytes);
    if (!ids) return std::nullopt;
    return dtype == DType::kInt32 ? CheckNodeIds<int32_t>(stride, first, bytes)
                                  : CheckNodeIds<int64_t>(stride, first, bytes);
  };
}

BlockCheck CheckZero() {
  return [](uint64_t first, std::span<const std::byte> bytes) -> std::optional<Finding> {
    const size_t at = FindWrong(bytes, [](std::byte b) { return b != std::byte{0}; });
    if (at == bytes.size()) return std::nullopt;
    return Finding{"byte " + Number(first + at), Number(static_cast<uint8_t>(bytes[at])), "0"};
  };
}

}  // namespace graphzero::store
