#include "store/verify/verify_values.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"

namespace graphzero::store {
namespace {

constexpr float kLargestWeight = std::numeric_limits<float>::max();

using base::Number;

// The size of a block is a multiple of every item's size, and buffers are aligned for items.
template <class T>
std::span<const T> Items(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

// The first position where `wrong` is true, or items.size(). Looks at a whole batch before it
// branches, so that the compiler can vectorise the loop.
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

// Differs for (a, b) and (b, a).
uint64_t HashEdge(uint64_t a, uint64_t b) { return base::Mix64(a * base::kGoldenRatio + b); }

uint64_t HashTime(uint64_t edge_hash, int64_t time) {
  return base::Mix64(edge_hash + static_cast<uint64_t>(time));
}

constexpr int64_t kNoTime = INT64_MIN;

// Repeats are looked for among at most this many slots of a row that have the same slot time. The
// rest of a longer run is not searched, because that would take unbounded memory.
constexpr uint64_t kMostAtOnce = uint64_t{1} << 20;

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
        // If the row began in an earlier block, the pair of slots across the boundary is checked
        // here.
        const uint64_t from = indptr[row] < slot ? slot : slot + 1;
        if (auto finding = CheckOrder(row, from, row_end)) return finding;
      }
      if (rules_.time_ordered) {
        if (auto finding = CheckTimeOrder(row, slot, row_end)) return finding;
      }
      AddToSums(row, slot, neighbours_.subspan(slot - first_, row_end - slot));
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
    // Most rows rise strictly. Edge ids are read only if a row does not.
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

  std::optional<Finding> CheckTimeOrder(uint64_t row, uint64_t begin, uint64_t end) const {
    const uint64_t row_begin = ReadOnce(adjacency_.indptr + row);
    for (uint64_t s = begin; s < end; ++s) {
      const bool starts_row = s == row_begin;
      if (!starts_row && !InTimeOrder(s)) {
        return Finding{"row " + Number(row) + " slot " + Number(s),
                       "slot time " + std::to_string(SlotTime(s)) + " after " +
                           std::to_string(SlotTime(s - 1)),
                       "rows sorted by (slot time, edge id, neighbour)"};
      }
      // Repeats have the same slot time. The block in which a run of equal slot times begins
      // searches the run for them.
      const bool starts_run = starts_row || SlotTime(s - 1) != SlotTime(s);
      if (rules_.no_repeats && starts_run) {
        if (auto finding = CheckRun(row, s)) return finding;
      }
    }
    return std::nullopt;
  }

  bool InTimeOrder(uint64_t slot) const {
    const int64_t before = SlotTime(slot - 1);
    const int64_t here = SlotTime(slot);
    if (before != here || !adjacency_.edge_ids.present()) return before <= here;
    const uint64_t edge_before = adjacency_.edge_ids[slot - 1];
    const uint64_t edge = adjacency_.edge_ids[slot];
    return edge_before != edge ? edge_before < edge : Neighbour(slot - 1) <= Neighbour(slot);
  }

  // The slots from `begin` on with the same slot time must not have a neighbour twice at the same
  // time.
  std::optional<Finding> CheckRun(uint64_t row, uint64_t begin) const {
    const uint64_t row_end = std::min(ReadOnce(adjacency_.indptr + row + 1), adjacency_.edges);
    std::vector<std::pair<uint64_t, int64_t>> run;
    for (uint64_t s = begin; s < row_end && run.size() < kMostAtOnce; ++s) {
      if (SlotTime(s) != SlotTime(begin)) break;
      run.emplace_back(Neighbour(s), adjacency_.times ? ReadOnce(adjacency_.times + s) : 0);
    }
    if (run.size() < 2) return std::nullopt;
    std::sort(run.begin(), run.end());
    const auto twice = std::adjacent_find(run.begin(), run.end());
    if (twice == run.end()) return std::nullopt;
    return Finding{"row " + Number(row) + " slot " + Number(begin),
                   "neighbour " + Number(twice->first) + " twice at one time",
                   "no repeats, as the flags say"};
  }

  int64_t SlotTime(uint64_t slot) const { return ReadOnce(adjacency_.slot_times + slot); }

  void AddToSums(uint64_t row, uint64_t slot, std::span<const T> neighbours) {
    if (adjacency_.times) return AddTimedToSums(row, slot, neighbours);
    if (rules_.from_row) {
      for (T neighbour : neighbours) from_row_ += HashEdge(row, neighbour);
    }
    if (rules_.to_row) {
      for (T neighbour : neighbours) to_row_ += HashEdge(neighbour, row);
    }
  }

  void AddTimedToSums(uint64_t row, uint64_t slot, std::span<const T> neighbours) {
    for (T neighbour : neighbours) {
      const int64_t time = ReadOnce(adjacency_.times + slot++);
      if (rules_.from_row) from_row_ += HashTime(HashEdge(row, neighbour), time);
      if (rules_.to_row) to_row_ += HashTime(HashEdge(neighbour, row), time);
    }
  }

  // The neighbour in a slot of this block or of a block beside it.
  uint64_t Neighbour(uint64_t slot) const {
    return slot >= first_ && slot - first_ < neighbours_.size() ? neighbours_[slot - first_]
                                                                : adjacency_.neighbours[slot];
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

// Each row begins with one value, which must be a node id.
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

BlockCheck CheckTimes() {
  return [](uint64_t first, std::span<const std::byte> bytes) -> std::optional<Finding> {
    const auto items = Items<int64_t>(bytes);
    const size_t at = FindWrong(items, [](int64_t time) { return time == kNoTime; });
    if (at == items.size()) return std::nullopt;
    return Finding{"item " + Number(first / sizeof(int64_t) + at), "the smallest int64", "a time"};
  };
}

BlockCheck CheckSlotTimes(const Adjacency& adjacency, const int64_t* node_times) {
  return [adjacency, node_times](uint64_t first,
                                 std::span<const std::byte> bytes) -> std::optional<Finding> {
    if (auto finding = CheckTimes()(first, bytes)) return finding;
    const auto items = Items<int64_t>(bytes);
    const uint64_t begin = first / sizeof(int64_t);
    for (size_t i = 0; i < items.size(); ++i) {
      const uint64_t slot = begin + i;
      const uint64_t neighbour = adjacency.neighbours[slot];
      if (neighbour >= adjacency.neighbour_bound) continue;  // CheckNeighbours() reports it
      int64_t expected = adjacency.times ? ReadOnce(adjacency.times + slot) : kNoTime;
      if (node_times) expected = std::max(expected, ReadOnce(node_times + neighbour));
      if (items[i] == expected) continue;
      return Finding{"slot " + Number(slot), std::to_string(items[i]),
                     std::to_string(expected) + ", the later of its edge's and its neighbour's"};
    }
    return std::nullopt;
  };
}

BlockCheck CheckNodeTimes(const NodeType& type) {
  if (!type.times_ascend) return CheckTimes();
  return [times = type.times](uint64_t first,
                              std::span<const std::byte> bytes) -> std::optional<Finding> {
    if (auto finding = CheckTimes()(first, bytes)) return finding;
    const auto items = Items<int64_t>(bytes);
    const uint64_t begin = first / sizeof(int64_t);
    for (size_t i = 0; i < items.size(); ++i) {
      if (begin + i == 0) continue;
      const int64_t before = i > 0 ? items[i - 1] : ReadOnce(times + begin - 1);
      if (before <= items[i]) continue;
      return Finding{"item " + Number(begin + i),
                     std::to_string(items[i]) + " after " + std::to_string(before),
                     "ascending times, as there is no nodes_by_time"};
    }
    return std::nullopt;
  };
}

BlockCheck CheckNodesByTime(const NodeType& type) {
  return [type](uint64_t first, std::span<const std::byte> bytes) -> std::optional<Finding> {
    const uint32_t width = type.by_time.width;
    if (auto finding = CheckBelow(bytes, width, type.count, first)) return finding;
    const uint64_t begin = first / width;
    const auto node = [&](uint64_t i) -> uint64_t {
      if (i < begin) return type.by_time[i];
      return width == 4 ? Items<uint32_t>(bytes)[i - begin] : Items<uint64_t>(bytes)[i - begin];
    };
    // Nodes that rise strictly by (time, id) are all different. There are as many items as nodes,
    // so each node occurs once.
    for (uint64_t i = begin; i < begin + bytes.size() / width; ++i) {
      const int64_t time = ReadOnce(type.sorted_times + i);
      const bool own = ReadOnce(type.times + node(i)) == time;
      bool rising = true;
      if (i > 0) {
        const int64_t before = ReadOnce(type.sorted_times + i - 1);
        rising = before < time || (before == time && node(i - 1) < node(i));
      }
      if (own && rising) continue;
      return Finding{"item " + Number(i), "node " + Number(node(i)),
                     own ? "nodes sorted by (time, id), each once"
                         : "a node whose time is that of times_by_time, " + std::to_string(time)};
    }
    return std::nullopt;
  };
}

BlockCheck CheckRowsById(const MatrixReader& ids) {
  return [ids](uint64_t first, std::span<const std::byte> bytes) -> std::optional<Finding> {
    const IntegerArray& order = ids.rows_by_id();
    if (auto finding = CheckBelow(bytes, order.width, ids.rows(), first)) return finding;
    const uint64_t begin = first / order.width;
    const auto row = [&](uint64_t i) -> uint64_t {
      if (i < begin) return order[i];
      return order.width == 4 ? Items<uint32_t>(bytes)[i - begin]
                              : Items<uint64_t>(bytes)[i - begin];
    };
    const auto rising = [&](uint64_t a, uint64_t b) {
      const std::byte* left = ids.data() + a * ids.row_stride();
      const std::byte* right = ids.data() + b * ids.row_stride();
      // Texts are compared byte by byte. The zeros after a text's end sort before all other bytes.
      if (ids.dtype() != DType::kInt64) return std::memcmp(left, right, ids.cols()) < 0;
      int64_t values[2];
      std::memcpy(&values[0], left, sizeof values[0]);
      std::memcpy(&values[1], right, sizeof values[1]);
      return values[0] < values[1];
    };
    // Rows whose ids rise strictly are all different. There are as many items as rows, so each row
    // occurs once.
    for (uint64_t i = std::max<uint64_t>(begin, 1); i < begin + bytes.size() / order.width; ++i) {
      const uint64_t before = row(i - 1);
      if (before < ids.rows() && rising(before, row(i))) continue;
      return Finding{"item " + Number(i), "row " + Number(row(i)) + " after row " + Number(before),
                     "rows in the order of their ids, each once"};
    }
    return std::nullopt;
  };
}

BlockCheck CheckMatrix(const MatrixReader& matrix) {
  const ByteRule padding{matrix.row_stride(), matrix.stored_row_bytes(), matrix.row_stride(), 0,
                         "0 in the padding"};
  const ByteRule bools{matrix.row_stride(), 0, matrix.stored_row_bytes(), 1, "0 or 1"};
  const uint64_t stride = matrix.row_stride();
  const bool padded = stride != matrix.stored_row_bytes();
  const bool ids = matrix.role() == Role::kIds;
  const DType dtype = matrix.stored_dtype();
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
