// The floor: sampling as one would write it first. unordered_map for relabelling, a generator per
// thread, one node and one walker after the other, no prefetching. Compiled into the benchmark
// only.
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace {

using Random = std::mt19937_64;

uint64_t Below(Random& random, uint64_t bound) {
  return std::uniform_int_distribution<uint64_t>(0, bound - 1)(random);
}

struct Graph {
  const int64_t* indptr;
  const int64_t* indices;

  uint64_t Degree(int64_t v) const { return static_cast<uint64_t>(indptr[v + 1] - indptr[v]); }
  const int64_t* Row(int64_t v) const { return indices + indptr[v]; }
};

struct Sample {
  std::vector<int64_t> nodes;
  std::vector<int64_t> sources;
  std::vector<int64_t> targets;
};

void DrawRow(const Graph& graph, int64_t node, uint64_t k, Random& random,
             std::vector<int64_t>& out) {
  const uint64_t degree = graph.Degree(node);
  const int64_t* const row = graph.Row(node);
  out.clear();
  if (degree <= k) {
    out.assign(row, row + degree);
    return;
  }
  std::unordered_set<uint64_t> taken;
  while (taken.size() < k) {
    const uint64_t position = Below(random, degree);
    if (taken.insert(position).second) out.push_back(row[position]);
  }
}

Sample MultiHop(const Graph& graph, const int64_t* seeds, uint64_t count, const int64_t* fanout,
                uint64_t hops, Random& random) {
  Sample sample;
  std::unordered_map<int64_t, int64_t> local;
  for (uint64_t i = 0; i < count; ++i) {
    if (local.emplace(seeds[i], static_cast<int64_t>(i)).second) sample.nodes.push_back(seeds[i]);
  }
  std::vector<int64_t> drawn;
  size_t begin = 0;
  for (uint64_t hop = 0; hop < hops; ++hop) {
    const size_t end = sample.nodes.size();
    for (size_t i = begin; i < end; ++i) {
      DrawRow(graph, sample.nodes[i], static_cast<uint64_t>(fanout[hop]), random, drawn);
      for (const int64_t id : drawn) {
        const auto next = static_cast<int64_t>(sample.nodes.size());
        const auto [found, is_new] = local.emplace(id, next);
        if (is_new) sample.nodes.push_back(id);
        sample.sources.push_back(found->second);
        sample.targets.push_back(static_cast<int64_t>(i));
      }
    }
    begin = end;
  }
  return sample;
}

bool Near(const Graph& graph, int64_t from, int64_t to) {
  return std::binary_search(graph.Row(from), graph.Row(from) + graph.Degree(from), to);
}

int64_t SecondOrder(const Graph& graph, int64_t previous, int64_t node, double p, double q,
                    Random& random) {
  const double largest = std::max({1 / p, 1.0, 1 / q});
  std::uniform_real_distribution<double> unit;
  while (true) {
    const int64_t x = graph.Row(node)[Below(random, graph.Degree(node))];
    const double bias = x == previous ? 1 / p : Near(graph, previous, x) ? 1.0 : 1 / q;
    if (unit(random) * largest < bias) return x;
  }
}

}  // namespace

extern "C" {

// Returns the sampled edges; *nodes the unique nodes.
uint64_t FloorMultiHop(const int64_t* indptr, const int64_t* indices, const int64_t* seeds,
                       uint64_t count, const int64_t* fanout, uint64_t hops, uint64_t seed,
                       uint64_t* nodes) {
  Random random(seed);
  const Sample sample = MultiHop({indptr, indices}, seeds, count, fanout, hops, random);
  *nodes = sample.nodes.size();
  return sample.sources.size();
}

void FloorWalk(const int64_t* indptr, const int64_t* indices, const int64_t* starts, uint64_t count,
               uint64_t length, double p, double q, uint64_t seed, int threads, int64_t* out) {
  const Graph graph{indptr, indices};
#pragma omp parallel num_threads(threads)
  {
    Random random(seed + static_cast<uint64_t>(omp_get_thread_num()));
#pragma omp for
    for (uint64_t i = 0; i < count; ++i) {
      int64_t* const walk = out + i * (length + 1);
      walk[0] = starts[i];
      for (uint64_t step = 0; step < length; ++step) {
        const int64_t node = walk[step];
        const uint64_t degree = graph.Degree(node);
        if (degree == 0) {
          walk[step + 1] = node;
        } else if (step == 0 || (p == 1 && q == 1)) {
          walk[step + 1] = graph.Row(node)[Below(random, degree)];
        } else {
          walk[step + 1] = SecondOrder(graph, walk[step - 1], node, p, q, random);
        }
      }
    }
  }
}
}
