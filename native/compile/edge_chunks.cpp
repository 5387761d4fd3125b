#include "compile/edge_chunks.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace graphzero::compile {
namespace {

constexpr uint64_t kBatch = uint64_t{1} << 14;
// One to work on and one ahead: more would only take memory.
constexpr size_t kMostReady = 2;

}  // namespace

ChunkEdgeSource::ChunkEdgeSource(Facts facts, OpenChunks open)
    : facts_(std::move(facts)), open_(std::move(open)) {
  Start();
}

ChunkEdgeSource::~ChunkEdgeSource() { Stop(); }

void ChunkEdgeSource::Start() {
  fetcher_ = std::jthread([this](std::stop_token stop) { Fetch(std::move(stop)); });
}

void ChunkEdgeSource::Stop() {
  fetcher_.request_stop();
  if (fetcher_.joinable()) fetcher_.join();
}

void ChunkEdgeSource::Rewind() {
  Stop();
  ready_.clear();
  taken_ = 0;
  rows_ = 0;
  ended_ = false;
  Start();
}

void ChunkEdgeSource::Fetch(std::stop_token stop) {
  uint64_t row = 0;
  try {
    const NextChunk next = open_();
    EdgeChunk chunk;
    while (!stop.stop_requested() && !error_.any() && next(&chunk)) {
      if ((chunk.edges.weights != nullptr) != facts_.weighted) {
        throw std::logic_error("a chunk of edges with and one without weights");
      }
      auto numbered = std::make_shared<const Numbered>(Numbered{std::exchange(chunk, {}), row});
      row += numbered->chunk.edges.count;
      if (numbered->chunk.edges.count == 0) continue;
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return ready_.size() < kMostReady; })) return;
      ready_.push_back(std::move(numbered));
      rows_ = row;
      changed_.notify_all();
    }
  } catch (...) {
    // Told when the chunks before it are used up: what is wrong in those comes first.
    std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

EdgeEstimate ChunkEdgeSource::Estimate() const {
  std::unique_lock lock(mutex_);
  // The first chunk tells how large ids are.
  changed_.wait(lock, [&] { return ended_ || !ready_.empty(); });
  const uint64_t first = ready_.empty() ? 0 : ready_.front()->chunk.edges.count;
  const uint64_t edges = std::max(facts_.edges, first);
  return {edges, ready_.empty() ? 0 : ready_.front()->chunk.edges.EstimateMaxId(), edges};
}

bool ChunkEdgeSource::Next(EdgeBatch* batch) {
  std::shared_ptr<const Numbered> from;
  uint64_t begin;
  uint64_t end;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !ready_.empty() || error_.any(); });
    if (ready_.empty() && failure_) error_.Report(rows_, failure_);
    if (error_.any() || ready_.empty()) return false;
    from = ready_.front();
    begin = taken_;
    end = taken_ = std::min(taken_ + kBatch, from->chunk.edges.count);
    if (taken_ == from->chunk.edges.count) {
      ready_.pop_front();
      taken_ = 0;
      changed_.notify_all();
    }
  }
  try {
    from->chunk.edges.Fill(begin, end, from->first_row, facts_.places, facts_.id_limit, batch);
  } catch (...) {
    error_.Report(from->first_row + begin, std::current_exception());
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  return !error_.any();
}

}  // namespace graphzero::compile
