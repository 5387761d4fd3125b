// Edges that come in chunks from elsewhere, such as a Parquet file that a library decodes.
//
// The source has a thread that fetches the chunks in order, one ahead, while the compiler's threads
// work on the chunks that are ready. If the system refuses that thread, the compiler's threads
// fetch the chunks themselves.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/team.h"
#include "compile/edges/edge_arrays.h"
#include "compile/edges/edge_source.h"
#include "compile/job.h"

namespace graphzero::compile {

// Consecutive edges, and the owner that keeps their arrays alive.
struct EdgeChunk {
  EdgeViews edges;
  std::shared_ptr<void> owner;
  // Number of input rows up to the end of this chunk, if some rows gave no edge.
  std::optional<uint64_t> end_row{};
  // How much of Facts::input_units this chunk stands for, if progress does not count edges.
  uint64_t input_units = 0;
};

// Gives the next chunk; false at the end. Called by one thread.
using NextChunk = std::function<bool(EdgeChunk*)>;
// Begins anew at the first chunk.
using OpenChunks = std::function<NextChunk()>;

class ChunkEdgeSource final : public EdgeSource {
 public:
  struct Facts {
    RowPlaces places;
    bool weighted;
    bool timed;
    // Number of edges; 0: unknown. Any other number must be exact, because progress counts up to
    // it.
    uint64_t edges;
    IdLimits limits;
    // The total of what progress counts instead of edges, such as bytes of a file; 0: edges.
    uint64_t input_units = 0;
  };

  ChunkEdgeSource(Facts facts, OpenChunks open);
  ~ChunkEdgeSource() override;

  const std::string& name() const override { return facts_.places.name; }
  bool weighted() const override { return facts_.weighted; }
  bool timed() const override { return facts_.timed; }
  EdgeEstimate Estimate() const override;
  void Rewind() override;
  bool Next(EdgeBatch* batch) override;
  void ThrowIfFailed() const override { error_.RethrowIfAny(); }
  uint64_t input_rows() const override { return rows_; }

 private:
  struct Numbered {
    EdgeChunk chunk;
    uint64_t first_row;
  };

  void Start();
  void Stop();
  void Fetch(std::stop_token stop);
  // Fetches the next chunk; false after the last one and after a failure. One thread at a time.
  bool FetchOne(const std::stop_token& stop);
  void FetchIfNoneIsReady();

  const Facts facts_;
  const OpenChunks open_;
  base::FirstError error_;
  std::mutex fetching_;  // held by a compiler's thread while it fetches
  NextChunk next_;       // used only by the thread that fetches

  mutable std::mutex mutex_;  // guards the members below
  mutable std::condition_variable_any changed_;
  std::deque<std::shared_ptr<const Numbered>> ready_;
  uint64_t taken_ = 0;  // edges of ready_.front() that were handed out
  uint64_t rows_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;  // what fetching threw
  std::jthread fetcher_;
};

}  // namespace graphzero::compile
