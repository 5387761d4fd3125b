// Where the edges of a graph come from: a text file, arrays, another graph, a generator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace graphzero::compile {

// Ids are int64 everywhere outside of files, so this is the first number that is too large for an
// id.
inline constexpr uint64_t kIdLimit = uint64_t{1} << 63;

// "an id below 100, the given number of nodes", for messages. `type` is the type of the nodes.
inline std::string IdRange(uint64_t limit, const std::string& type = {}) {
  if (limit == kIdLimit) return "an id from 0 to 2^63 - 1";
  return "an id below " + std::to_string(limit) + ", the " +
         (type.empty() ? "given number of nodes" : "number of nodes of type " + type);
}

// Source ids must be below `source`, target ids below `target`.
struct IdLimits {
  uint64_t source = kIdLimit;
  uint64_t target = kIdLimit;
  // The node types at both ends, for messages; empty: the graph has no types.
  std::string source_type = {};
  std::string target_type = {};

  std::string SourceRange() const { return IdRange(source, source_type); }
  std::string TargetRange() const { return IdRange(target, target_type); }
};

// The smallest int64 is not a time: NumPy and pandas use it for a missing time.
inline constexpr int64_t kNoTime = INT64_MIN;
inline constexpr const char* kNoTimeFound = "found no time (NaT), expected one for every edge";

// What the edges of a source have beside their ends.
struct EdgeFields {
  bool weights = false;
  bool times = false;
  bool rows = false;  // row numbers that are not consecutive
};

// Consecutive edges of the input. Reused from call to call, so vectors are at least `size` long and
// never shrink.
struct EdgeBatch {
  size_t size = 0;
  std::vector<uint64_t> src;
  std::vector<uint64_t> dst;
  std::vector<float> weight;  // only from a weighted source
  std::vector<int64_t> time;  // only from a timed source
  // Input row number of the first edge; that of edge i is first_row + i, or rows[i] when
  // `numbered`.
  uint64_t first_row = 0;
  std::vector<uint64_t> rows;
  bool numbered = false;
  uint64_t input_units = 0;   // how much of EdgeEstimate::input_units this batch stands for
  std::vector<char> scratch;  // for the source's own use

  uint64_t Row(size_t i) const { return numbered ? rows[i] : first_row + i; }

  // Empties the batch and makes room for `most` edges.
  void Reset(size_t most, const EdgeFields& fields) {
    size = 0;
    numbered = fields.rows;
    if (src.size() < most) {
      src.resize(most);
      dst.resize(most);
    }
    if (fields.weights && weight.size() < most) weight.resize(most);
    if (fields.times && time.size() < most) time.resize(most);
    if (fields.rows && rows.size() < most) rows.resize(most);
  }
};

// What a source knows before it is read. Estimates only steer the division of work: a wrong one
// costs time, never correctness.
struct EdgeEstimate {
  uint64_t edges = 0;
  uint64_t max_id = 0;
  uint64_t input_units = 0;  // exact, for progress: the sum of input_units over all batches
};

// Several threads call Next() at once, each with its own batch. One thread calls the other
// functions.
class EdgeSource {
 public:
  virtual ~EdgeSource() = default;
  // What messages call the input.
  virtual const std::string& name() const = 0;
  virtual bool weighted() const = 0;
  virtual bool timed() const = 0;  // whether edges have times
  virtual EdgeEstimate Estimate() const = 0;

  // Starts over.
  virtual void Rewind() = 0;

  // Fills the next batch; false at the end and after an error in any thread. Ids are below the
  // source's limits (kIdLimit unless it was given others), weights finite and not negative, times
  // not kNoTime.
  virtual bool Next(EdgeBatch* batch) = 0;

  // Call it when Next() has returned false in every thread. Throws the error at the earliest place
  // of the input, no matter which thread failed first.
  virtual void ThrowIfFailed() const = 0;

  // Rows of the input that were read, skipped ones included: every Row() is below this. Valid when
  // Next() has returned false in every thread.
  virtual uint64_t input_rows() const = 0;
};

}  // namespace graphzero::compile
