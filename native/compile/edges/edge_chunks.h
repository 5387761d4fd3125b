// Edges that come in chunks from elsewhere, such as a Parquet file that a library decodes.
//
// A thread of the source's own asks for the chunks, one after the other and one ahead, while the
// compiler's threads work on those that are there. Where the system refuses that thread, they ask
// for them themselves.
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

// Consecutive edges and what keeps their arrays alive.
struct EdgeChunk {
  EdgeViews edges;
  std::shared_ptr<void> owner;
  // Rows of the input up to here, if some of them gave no edge.
  std::optional<uint64_t> end_row{};
  // How much of Facts::input_units it stands for, if these are not edges.
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
    // 0 if not known. If it is, it must be right: progress counts to it.
    uint64_t edges;
    IdLimits limits;
    // What progress counts instead, such as bytes of a file; 0: edges.
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
  // False after the last chunk and after a failure. One thread at a time.
  bool FetchOne(const std::stop_token& stop);
  void FetchIfNoneIsReady();

  const Facts facts_;
  const OpenChunks open_;
  base::FirstError error_;
  std::mutex fetching_;  // of those who fetch themselves
  NextChunk next_;       // of who fetches

  mutable std::mutex mutex_;  // of what follows
  mutable std::condition_variable_any changed_;
  std::deque<std::shared_ptr<const Numbered>> ready_;
  uint64_t taken_ = 0;  // edges of ready_.front() that were handed out
  uint64_t rows_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;  // of the fetcher
  std::jthread fetcher_;
};

}  // namespace graphzero::compile
