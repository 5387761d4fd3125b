#include "compile/generate/generate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/half.h"
#include "base/team.h"
#include "compile/edges/edge_source.h"
#include "compile/edges/topology_compiler.h"
#include "store/matrix/matrix_writer.h"

namespace graphzero::compile {
namespace {

using base::BFloat16;
using base::Half;
using store::DType;

constexpr uint64_t kEdgeBatch = uint64_t{1} << 14;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

class SyntheticEdgeSource final : public EdgeSource {
 public:
  explicit SyntheticEdgeSource(const SyntheticModel* model) : model_(model) {}

  const std::string& name() const override { return name_; }
  bool weighted() const override { return false; }
  bool timed() const override { return false; }
  EdgeEstimate Estimate() const override {
    return {model_->spec().edges, model_->spec().nodes - 1, model_->spec().edges};
  }
  void Rewind() override { next_ = 0; }
  bool Next(EdgeBatch* batch) override;
  void ThrowIfFailed() const override {}
  uint64_t input_rows() const override { return model_->spec().edges; }

 private:
  const std::string name_ = "generated graph";
  const SyntheticModel* model_;
  std::atomic<uint64_t> next_{0};
};

bool SyntheticEdgeSource::Next(EdgeBatch* batch) {
  const uint64_t begin = next_.fetch_add(kEdgeBatch);
  if (begin >= model_->spec().edges) return false;
  const size_t size = std::min(kEdgeBatch, model_->spec().edges - begin);
  batch->Reset(size, {});
  batch->size = size;
  batch->first_row = begin;
  batch->input_units = size;
  for (size_t i = 0; i < size; ++i) {
    const SyntheticEdge edge = model_->Edge(begin + i);
    batch->src[i] = edge.first;
    batch->dst[i] = edge.second;
  }
  return true;
}

// A list of int64 values.
store::MatrixShape ListOf(uint64_t rows, store::Role role) {
  return {rows, 1, 1, DType::kInt64, role, sizeof(int64_t)};
}

// The nodes first .. last - 1.
struct NodeRange {
  uint64_t first;
  uint64_t last;
};

// Several threads turn ranges of nodes into pieces; the pieces are written in node order.
// Piece is default-constructible and reused by its thread.
template <class Piece>
void ForNodesInOrder(uint64_t nodes, uint64_t nodes_per_piece, const Resources& resources,
                     Progress* progress, const std::function<void(NodeRange, Piece*)>& make,
                     const std::function<void(const Piece&)>& write) {
  std::atomic<uint64_t> next{0};
  base::Turnstile turnstile;
  const uint64_t pieces = base::DivideUp(nodes, nodes_per_piece);
  base::RunTeam(resources.threads, [&](int) {
    try {
      Piece piece;
      for (uint64_t i = next++; i < pieces; i = next++) {
        progress->ThrowIfCancelled();
        const uint64_t first = i * nodes_per_piece;
        const NodeRange range{first, std::min(first + nodes_per_piece, nodes)};
        make(range, &piece);
        if (!turnstile.Wait(i)) return;
        write(piece);
        turnstile.Done(i);
        progress->Add(range.last - range.first);
      }
    } catch (...) {
      turnstile.Abort();
      throw;
    }
  });
}

template <class T>
T Narrow(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return base::NarrowFloat<T>(value);
  }
}

template <class T>
void WriteFeatures(const std::string& path, DType dtype, const SyntheticModel& model,
                   const Resources& resources, Progress* progress) {
  const SyntheticSpec& spec = model.spec();
  const uint64_t row_bytes = spec.dim * sizeof(T);
  store::MatrixWriter file(path, {spec.nodes, spec.dim, 2, dtype, store::Role::kNode, row_bytes});
  progress->Start("writing features", spec.nodes);
  struct Piece {
    std::vector<float> row;
    std::vector<T> rows;
  };
  ForNodesInOrder<Piece>(
      spec.nodes, std::max<uint64_t>(1, kPieceBytes / row_bytes), resources, progress,
      [&](NodeRange range, Piece* piece) {
        piece->row.resize(spec.dim);
        piece->rows.resize((range.last - range.first) * spec.dim);
        T* out = piece->rows.data();
        for (uint64_t node = range.first; node < range.last; ++node) {
          model.Features(node, piece->row);
          out = std::transform(piece->row.begin(), piece->row.end(), out, Narrow<T>);
        }
      },
      [&](const Piece& piece) { file.Append(std::as_bytes(std::span(piece.rows))); });
  file.Finish();
}

void WriteFeatures(const std::string& path, DType dtype, const SyntheticModel& model,
                   const Resources& resources, Progress* progress) {
  switch (dtype) {
    case DType::kFloat32:
      return WriteFeatures<float>(path, dtype, model, resources, progress);
    case DType::kFloat16:
      return WriteFeatures<Half>(path, dtype, model, resources, progress);
    case DType::kBFloat16:
      return WriteFeatures<BFloat16>(path, dtype, model, resources, progress);
    default:
      throw std::invalid_argument("found dtype " + std::string(store::Name(dtype)) +
                                  ", expected float32, float16 or bfloat16");
  }
}

void WriteLabels(const std::string& path, const SyntheticModel& model, const Resources& resources,
                 Progress* progress) {
  const uint64_t nodes = model.spec().nodes;
  store::MatrixWriter file(path, ListOf(nodes, store::Role::kNode));
  progress->Start("writing labels", nodes);
  using Piece = std::vector<int64_t>;
  ForNodesInOrder<Piece>(
      nodes, kPieceBytes / sizeof(int64_t), resources, progress,
      [&](NodeRange range, Piece* labels) {
        labels->clear();
        for (uint64_t node = range.first; node < range.last; ++node) {
          labels->push_back(static_cast<int64_t>(model.ClassOf(node)));
        }
      },
      [&](const Piece& labels) { file.Append(std::as_bytes(std::span(labels))); });
  file.Finish();
}

void WriteSplits(const std::string& directory, const SyntheticModel& model,
                 const Resources& resources, Progress* progress) {
  constexpr std::array<const char*, kSplits> kFiles{"/train.gd", "/valid.gd", "/test.gd"};
  std::vector<std::unique_ptr<store::MatrixWriter>> files;
  for (size_t i = 0; i < kSplits; ++i) {
    const uint64_t size = model.SplitSize(static_cast<Split>(i));
    files.push_back(std::make_unique<store::MatrixWriter>(directory + kFiles[i],
                                                          ListOf(size, store::Role::kIds)));
  }
  const uint64_t nodes = model.spec().nodes;
  progress->Start("writing splits", nodes);
  using Piece = std::array<std::vector<int64_t>, kSplits>;
  ForNodesInOrder<Piece>(
      nodes, kPieceBytes / sizeof(int64_t), resources, progress,
      [&](NodeRange range, Piece* ids) {
        for (auto& list : *ids) list.clear();
        for (uint64_t node = range.first; node < range.last; ++node) {
          (*ids)[static_cast<size_t>(model.SplitOf(node))].push_back(static_cast<int64_t>(node));
        }
      },
      [&](const Piece& ids) {
        for (size_t i = 0; i < kSplits; ++i) files[i]->Append(std::as_bytes(std::span(ids[i])));
      });
  for (const auto& file : files) file->Finish();
}

}  // namespace

void GenerateDataset(const std::string& directory, const SyntheticSpec& spec, DType feature_type,
                     const Resources& resources, Progress* progress) {
  const SyntheticModel model(spec);
  WriteFeatures(directory + "/x.gd", feature_type, model, resources, progress);
  WriteLabels(directory + "/y.gd", model, resources, progress);
  WriteSplits(directory, model, resources, progress);

  const auto edges = std::make_shared<SyntheticEdgeSource>(&model);
  TopologyOptions options;
  options.undirected = true;
  options.num_nodes = spec.nodes;
  CompileTopology([&](const IdLimits&, bool) { return edges; }, directory + "/graph.gl", options,
                  resources, progress);
}

}  // namespace graphzero::compile
