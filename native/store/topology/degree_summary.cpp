#include "store/topology/degree_summary.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "store/files/mapped_file.h"

namespace graphzero::store {
namespace {

constexpr uint64_t kCounted = 65536;  // degrees below this have a counter each

// Counts the degrees of rows and finds the n-th smallest.
class DegreeCounts {
 public:
  void Add(uint64_t degree) {
    if (degree < kCounted) {
      ++counts_[degree];
    } else {
      large_.push_back(degree);
    }
  }

  // Call once, after the last Add().
  void Sort() { std::sort(large_.begin(), large_.end()); }

  uint64_t Nth(uint64_t n) const {
    for (uint64_t degree = 0; degree < kCounted; ++degree) {
      if (n < counts_[degree]) return degree;
      n -= counts_[degree];
    }
    return large_[n];
  }

  uint64_t zeros() const { return counts_[0]; }

  std::vector<uint64_t> Histogram() const {
    std::vector<uint64_t> histogram;
    const auto add = [&](uint64_t degree, uint64_t rows) {
      if (rows == 0) return;
      const auto entry = static_cast<size_t>(std::bit_width(degree));
      if (histogram.size() <= entry) histogram.resize(entry + 1);
      histogram[entry] += rows;
    };
    for (uint64_t degree = 0; degree < kCounted; ++degree) add(degree, counts_[degree]);
    for (const uint64_t degree : large_) add(degree, 1);
    return histogram;
  }

 private:
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kCounted);
  std::vector<uint64_t> large_;
};

}  // namespace

DegreeSummary SummarizeDegrees(const TopologyReader& graph, const Adjacency& adjacency) {
  DegreeSummary summary;
  const uint64_t rows = adjacency.rows;
  if (rows == 0) return summary;
  DegreeCounts counts;
  ReadGuarded(*graph.file(), [&] {
    for (uint64_t node = 0; node < rows; ++node) counts.Add(graph.Row(adjacency, node).size());
  });
  counts.Sort();
  summary.min = counts.Nth(0);
  summary.median = counts.Nth((rows - 1) / 2);
  summary.p99 = counts.Nth(rows - 1 - rows / 100);
  summary.max = counts.Nth(rows - 1);
  summary.mean = static_cast<double>(adjacency.edges) / static_cast<double>(rows);
  summary.empty_rows = counts.zeros();
  summary.histogram = counts.Histogram();
  return summary;
}

uint64_t CountIsolated(const TopologyReader& graph) {
  const auto empty = [&](const Adjacency* adjacency, uint64_t node) {
    return adjacency == nullptr || node >= adjacency->rows ||
           graph.Row(*adjacency, node).size() == 0;
  };
  uint64_t isolated = 0;
  ReadGuarded(*graph.file(), [&] {
    for (uint64_t node = 0; node < graph.num_nodes(); ++node) {
      isolated += empty(graph.out(), node) && empty(graph.in(), node);
    }
  });
  return isolated;
}

std::optional<TimeRange> FindTimeRange(const TopologyReader& graph, const int64_t* times,
                                       uint64_t count) {
  if (times == nullptr || count == 0) return std::nullopt;
  TimeRange range{INT64_MAX, INT64_MIN};
  ReadGuarded(*graph.file(), [&] {
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t time = ReadOnce(times + i);
      range.first = std::min(range.first, time);
      range.last = std::max(range.last, time);
    }
  });
  return range;
}

}  // namespace graphzero::store
