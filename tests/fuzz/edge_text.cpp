// Edge lists as text. Options in the first byte; the rest is the text. Whatever compiles must be a
// file without fault, with as many edges as the report says, read from a file or from a stream.
#include "compile/edges/edge_text.h"

#include <map>

#include "compile/edges/topology_compiler.h"
#include "store/topology/topology_reader.h"
#include "store/verify/verify.h"
#include "text_input.h"

namespace graphzero::fuzz {
namespace {

using compile::TextEdgeSource;

constexpr uint64_t kNodes = 4096;  // rows of the file that is made

struct Options {
  explicit Options(uint8_t bits)
      : timed(bits & 1),
        skip(bits & 2),
        undirected(bits & 4),
        dedup(bits & 8),
        edge_ids(bits & 16),
        given_nodes(bits & 32) {}

  bool timed, skip, undirected, dedup, edge_ids, given_nodes;
};

std::shared_ptr<TextEdgeSource> OpenEdges(const TextInput& text, const Options& options,
                                          bool as_stream, const compile::IdLimits& limits) {
  return std::make_shared<TextEdgeSource>(
      text.Open(as_stream),
      TextEdgeSource::Options{options.skip ? compile::OnError::kSkip : compile::OnError::kStop,
                              options.timed, true, limits});
}

// What reading gives: edges, or the message without the name of the input.
struct Outcome {
  std::vector<uint64_t> ends;
  uint64_t rows = 0;
  uint64_t skipped = 0;
  bool failed = false;

  bool operator==(const Outcome&) const = default;
};

Outcome ReadEdges(const TextInput& text, const Options& options, bool as_stream) {
  Outcome outcome;
  try {
    const auto source = OpenEdges(text, options, as_stream, {});
    compile::EdgeBatch batch;
    while (source->Next(&batch)) {
      for (size_t i = 0; i < batch.size; ++i) {
        outcome.ends.insert(outcome.ends.end(), {batch.src[i], batch.dst[i], batch.Row(i)});
      }
    }
    source->ThrowIfFailed();
    outcome.rows = source->input_rows();
    outcome.skipped = source->skips().skipped;
  } catch (const InputError&) {
    outcome = {};
    outcome.failed = true;
  }
  return outcome;
}

bool Compile(const TextInput& text, const Options& options, const Workshop& workshop) {
  const std::string path = workshop.NewFile("graph.gl");
  compile::TopologyOptions wanted;
  wanted.undirected = options.undirected;
  wanted.dedup = options.dedup;
  wanted.edge_ids = options.edge_ids;
  if (options.given_nodes) wanted.num_nodes = kNodes;
  compile::Progress progress;
  const auto open = [&](const compile::IdLimits& limits, bool) {
    return OpenEdges(text, options, false, limits);
  };
  const auto report = compile::CompileTopology(
      open, path, wanted, {uint64_t{1} << 20, 1, workshop.directory()}, &progress);
  const auto graph = store::TopologyReader::Open(path);
  Require(graph.num_edges() == report.num_edges, "the file has the edges of the report");
  Require(store::Verify(graph, {.threads = 1, .advance = [](uint64_t) {}}).empty(),
          "what the compiler writes has no fault");
  return true;
}

void Exercise(std::span<const uint8_t> input) {
  static TextInput text;
  static Workshop workshop;
  InputHead head(input);
  const Options options(head.Byte());
  text.Fill(head.rest());
  const Outcome outcome = ReadEdges(text, options, false);
  Require(outcome == ReadEdges(text, options, true), "a stream gives what the file gives");
  uint64_t largest = 0;
  for (size_t i = 0; i < outcome.ends.size(); ++i) {
    if (i % 3 != 2) largest = std::max(largest, outcome.ends[i]);
    Require(i % 3 == 2 || outcome.ends[i] < compile::kIdLimit, "ids are below their limit");
  }
  // A single large id makes a file of gigabytes, as it must.
  if (largest >= kNodes && !options.given_nodes) return;
  bool compiled = false;
  Tolerate([&] { compiled = Compile(text, options, workshop); });
  Require(compiled || outcome.failed || outcome.ends.empty() || largest >= kNodes,
          "what can be read can be compiled");
}

}  // namespace
}  // namespace graphzero::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphzero::fuzz::Tolerate([&] { graphzero::fuzz::Exercise({data, size}); });
  return 0;
}
