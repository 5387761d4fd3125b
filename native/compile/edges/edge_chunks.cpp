#include "compile/edges/edge_chunks.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace graphzero::compile {
namespace {

constexpr uint64_t kBatch = uint64_t{1} << 14;
// One chunk to work on and one ahead: more would only take memory.
constexpr size_t kMostReady = 2;

}  // namespace

ChunkEdgeSource::ChunkEdgeSource(Facts facts, OpenChunks open)
    : facts_(std::move(facts)), open_(std::move(open)) {
  Start();
}

ChunkEdgeSource::~ChunkEdgeSource() { Stop(); }

void ChunkEdgeSource::Start() {
  try {
    fetcher_ = std::jthread([this](std::stop_token stop) { Fetch(std::move(stop)); });
  } catch (const std::system_error&) {
    // The system refused the thread, so the threads that need chunks fetch them. Estimate() needs
    // the first chunk now.
    FetchIfNoneIsReady();
  }
}

void ChunkEdgeSource::Stop() {
  fetcher_.request_stop();
  if (fetcher_.joinable()) fetcher_.join();
}

void ChunkEdgeSource::Rewind() {
  Stop();
  next_ = nullptr;
  ready_.clear();
  taken_ = 0;
  rows_ = 0;
  ended_ = false;
  Start();
}

void ChunkEdgeSource::Fetch(std::stop_token stop) {
  while (!stop.stop_requested() && FetchOne(stop)) {
  }
}

void ChunkEdgeSource::FetchIfNoneIsReady() {
  std::lock_guard fetching(fetching_);
  const auto none_is_ready = [this] {
    std::lock_guard lock(mutex_);
    return ready_.empty() && !ended_;
  };
  while (none_is_ready() && FetchOne({})) {
  }
}

bool ChunkEdgeSource::FetchOne(const std::stop_token& stop) {
  try {
    if (!next_) next_ = open_();
    EdgeChunk chunk;
    if (!error_.any() && next_(&chunk)) {
      if ((chunk.edges.weights != nullptr) != facts_.weighted) {
        throw std::logic_error("a chunk of edges with and one without weights");
      }
      if ((chunk.edges.times != nullptr) != facts_.timed) {
        throw std::logic_error("a chunk of edges with and one without times");
      }
      const uint64_t count = chunk.edges.count;
      std::unique_lock lock(mutex_);
      const uint64_t first_row = rows_;
      rows_ = chunk.end_row.value_or(rows_ + count);
      if (count == 0) return true;
      if (!changed_.wait(lock, stop, [&] { return ready_.size() < kMostReady; })) return false;
      ready_.push_back(std::make_shared<const Numbered>(Numbered{std::move(chunk), first_row}));
      changed_.notify_all();
      return true;
    }
  } catch (...) {
    // Next() reports this failure once the chunks before it are used up, because an error in those
    // comes earlier in the input.
    std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
  return false;
}

EdgeEstimate ChunkEdgeSource::Estimate() const {
  std::unique_lock lock(mutex_);
  // The first chunk tells how large ids are.
  changed_.wait(lock, [&] { return ended_ || !ready_.empty(); });
  if (ready_.empty()) return {facts_.edges, 0, std::max(facts_.edges, facts_.input_units)};
  const EdgeChunk& first = ready_.front()->chunk;
  uint64_t edges = std::max(facts_.edges, first.edges.count);
  if (facts_.input_units != 0 && first.input_units != 0) {
    edges = std::max(edges, first.edges.count * (facts_.input_units / first.input_units));
  }
  return {edges, first.edges.EstimateMaxId(), facts_.input_units != 0 ? facts_.input_units : edges};
}

bool ChunkEdgeSource::Next(EdgeBatch* batch) {
  std::shared_ptr<const Numbered> from;
  uint64_t begin;
  uint64_t end;
  {
    std::unique_lock lock(mutex_);
    const auto may_go_on = [this] { return ended_ || !ready_.empty() || error_.any(); };
    while (!fetcher_.joinable() && !may_go_on()) {
      lock.unlock();
      FetchIfNoneIsReady();
      lock.lock();
    }
    changed_.wait(lock, may_go_on);
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
    from->chunk.edges.Fill(begin, end, from->first_row, facts_.places, facts_.limits, batch);
    if (facts_.input_units != 0) batch->input_units = begin == 0 ? from->chunk.input_units : 0;
  } catch (...) {
    error_.Report(from->first_row + begin, std::current_exception());
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  return !error_.any();
}

}  // namespace graphzero::compile
