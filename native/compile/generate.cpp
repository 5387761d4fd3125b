#include "compile/generate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "compile/edge_source.h"
#include "compile/topology_compiler.h"
#include "store/bytes.h"
#include "store/container_writer.h"
#include "store/matrix_format.h"

namespace graphzero::compile {
namespace {

using store::DType;

constexpr uint64_t kEdgeBatch = uint64_t{1} << 14;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

class SyntheticEdgeSource final : public EdgeSource {
 public:
  explicit SyntheticEdgeSource(const SyntheticModel* model) : model_(model) {}

  bool weighted() const override { return false; }
  EdgeEstimate Estimate() const override {
    return {model_->spec().edges, model_->spec().nodes - 1, model_->spec().edges};
  }
  void Rewind() override { next_ = 0; }
  bool Next(EdgeBatch* batch) override;
  void ThrowIfFailed() const override {}
  uint64_t input_rows() const override { return model_->spec().edges; }

 private:
  const SyntheticModel* model_;
  std::atomic<uint64_t> next_{0};
};

bool SyntheticEdgeSource::Next(EdgeBatch* batch) {
  const uint64_t begin = next_.fetch_add(kEdgeBatch);
  if (begin >= model_->spec().edges) return false;
  const size_t size = std::min(kEdgeBatch, model_->spec().edges - begin);
  batch->Reset(size, false, false);
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

// A .gd file that is written front to back.
class MatrixFile {
 public:
  MatrixFile(const std::string& path, DType dtype, store::MatrixProperties properties)
      : properties_(properties),
        container_(path, store::kMatrixMagic,
                   std::array{store::SectionSpec{store::SectionKind::kRows, dtype, properties.rows,
                                                 properties.rows * properties.row_stride}}) {}

  void Append(std::span<const std::byte> rows) { container_.stream(0).Append(rows); }
  void Finish() { container_.Finish(std::bit_cast<store::Properties>(properties_), 0); }

 private:
  store::MatrixProperties properties_;
  store::ContainerWriter container_;
};

// Properties of a list of int64 values.
store::MatrixProperties ListOf(uint64_t rows, store::Role role) {
  store::MatrixProperties properties{};
  properties.rows = rows;
  properties.cols = 1;
  properties.row_stride = sizeof(int64_t);
  properties.ndim = 1;
  properties.role = role;
  return properties;
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
  Turnstile turnstile;
  const uint64_t pieces = store::DivideUp(nodes, nodes_per_piece);
  RunTeam(resources.threads, [&](int) {
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

void WriteFeatures(const std::string& path, const SyntheticModel& model, const Resources& resources,
                   Progress* progress) {
  const SyntheticSpec& spec = model.spec();
  store::MatrixProperties properties{};
  properties.rows = spec.nodes;
  properties.cols = spec.dim;
  properties.row_stride = spec.dim * sizeof(float);
  properties.ndim = 2;
  properties.role = store::Role::kNode;
  MatrixFile file(path, DType::kFloat32, properties);
  progress->Start("features", spec.nodes);
  using Piece = std::vector<float>;
  ForNodesInOrder<Piece>(
      spec.nodes, std::max<uint64_t>(1, kPieceBytes / properties.row_stride), resources, progress,
      [&](NodeRange range, Piece* rows) {
        rows->resize((range.last - range.first) * spec.dim);
        for (uint64_t node = range.first; node < range.last; ++node) {
          model.Features(node, std::span(*rows).subspan((node - range.first) * spec.dim, spec.dim));
        }
      },
      [&](const Piece& rows) { file.Append(std::as_bytes(std::span(rows))); });
  file.Finish();
}

void WriteLabels(const std::string& path, const SyntheticModel& model, const Resources& resources,
                 Progress* progress) {
  const uint64_t nodes = model.spec().nodes;
  MatrixFile file(path, DType::kInt64, ListOf(nodes, store::Role::kNode));
  progress->Start("labels", nodes);
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
  std::vector<std::unique_ptr<MatrixFile>> files;
  for (size_t i = 0; i < kSplits; ++i) {
    const uint64_t size = model.SplitSize(static_cast<Split>(i));
    files.push_back(std::make_unique<MatrixFile>(directory + kFiles[i], DType::kInt64,
                                                 ListOf(size, store::Role::kIds)));
  }
  const uint64_t nodes = model.spec().nodes;
  progress->Start("splits", nodes);
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
  if (feature_type != DType::kFloat32) {
    throw std::invalid_argument("dtype is " + std::string(store::Name(feature_type)) +
                                ", expected float32");
  }
  const SyntheticModel model(spec);
  WriteFeatures(directory + "/x.gd", model, resources, progress);
  WriteLabels(directory + "/y.gd", model, resources, progress);
  WriteSplits(directory, model, resources, progress);

  SyntheticEdgeSource edges(&model);
  TopologyOptions options;
  options.undirected = true;
  options.num_nodes = spec.nodes;
  CompileTopology(&edges, directory + "/graph.gl", options, resources, progress);
}

}  // namespace graphzero::compile
