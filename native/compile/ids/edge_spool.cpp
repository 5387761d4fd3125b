#include "compile/ids/edge_spool.h"

#include <utility>

namespace graphzero::compile {
namespace {

template <class T>
std::vector<T> ReadArray(RunFile::Reader* reader, size_t size) {
  std::vector<T> values(size);
  reader->Read(std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace

void EdgeSpool::Add(std::span<const uint32_t> src, std::span<const uint32_t> dst,
                    std::span<const float> weights, std::span<const int64_t> rows,
                    std::span<const int64_t> times) {
  file_.Append(std::as_bytes(src));
  file_.Append(std::as_bytes(dst));
  file_.Append(std::as_bytes(weights));
  file_.Append(std::as_bytes(rows));
  file_.Append(std::as_bytes(times));
  chunks_.push_back({file_.End(), src.size(), !weights.empty(), !rows.empty(), !times.empty()});
}

void EdgeSpool::Finish(NewIds sources, NewIds targets) {
  file_.Flush();
  source_ids_ = std::move(sources);
  target_ids_ = std::move(targets);
}

SpooledEdges EdgeSpool::Read(size_t chunk) const {
  const Chunk& from = chunks_.at(chunk);
  RunFile::Reader reader(file_, from.run);
  SpooledEdges edges;
  const auto read_ends = [&](const NewIds& new_ids) {
    std::vector<uint32_t> ends = ReadArray<uint32_t>(&reader, from.edges);
    for (uint32_t& end : ends) end = (*new_ids)[end];
    return ends;
  };
  edges.src = read_ends(source_ids_);
  edges.dst = read_ends(target_ids_);
  if (from.weighted) edges.weights = ReadArray<float>(&reader, from.edges);
  if (from.numbered) edges.rows = ReadArray<int64_t>(&reader, from.edges);
  if (from.timed) edges.times = ReadArray<int64_t>(&reader, from.edges);
  return edges;
}

}  // namespace graphzero::compile
