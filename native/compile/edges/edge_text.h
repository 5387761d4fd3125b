// Edges from CSV, TSV or space-separated text.
//
// A data line is `source DELIMITER target [DELIMITER weight] [DELIMITER time]`. Comments, header
// and delimiter are as table_dialect.h says. The caller says whether there are times, which are
// integers. The first data line decides whether there are weights, and every other line must agree
// with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/team.h"
#include "compile/edges/edge_source.h"
#include "compile/job.h"
#include "compile/text/table_dialect.h"
#include "compile/text/text_source.h"

namespace graphzero::compile {

enum class OnError { kStop, kSkip };

// Bad lines that were skipped on request.
struct SkipReport {
  uint64_t skipped = 0;
  std::vector<std::string> messages;  // of the first few, in the order of the file
};

class TextEdgeSource final : public EdgeSource {
 public:
  struct Options {
    OnError on_error = OnError::kStop;
    bool timed = false;  // the last column is a time
    // The caller needs EdgeBatch::Row(). Without this, weights or times, rows are not numbered,
    // because threads would have to wait for each other.
    bool number_rows = false;
    IdLimits limits = {};
  };

  TextEdgeSource(std::unique_ptr<TextSource> text, Options options);

  const std::string& name() const override { return text_->path(); }
  bool weighted() const override { return dialect_.columns == LeastColumns() + 1; }
  bool timed() const override { return options_.timed; }
  EdgeEstimate Estimate() const override;
  void Rewind() override;
  bool Next(EdgeBatch* batch) override;
  void ThrowIfFailed() const override { error_.RethrowIfAny(); }
  uint64_t input_rows() const override { return rows_; }

  // Valid when Next() has returned false in every thread.
  SkipReport skips() const;

 private:
  struct Line;
  struct Skipped {
    uint64_t offset;
    std::string line;
    std::string problem;
  };

  uint64_t LeastColumns() const { return options_.timed ? 3 : 2; }
  void CheckColumns() const;
  void ParseChunk(const TextChunk& chunk, EdgeBatch* batch, uint64_t* data_lines);
  // Reads edges up to the first line that is not in the usual form; returns where that line begins.
  const char* ParsePlainLines(const char* at, const char* end, EdgeBatch* batch) const;
  // Understands any line: data, blank, comment, wrong.
  Line ParseLine(std::string_view line) const;
  std::string Message(uint64_t offset, std::string_view line, const std::string& problem) const;
  void Skip(uint64_t offset, std::string_view line, const std::string& problem);

  std::unique_ptr<TextSource> text_;
  TableDialect dialect_;
  Options options_;

  base::FirstError error_;
  base::Turnstile turn_;
  std::atomic<uint64_t> rows_{0};
  mutable std::mutex skip_mutex_;
  uint64_t skipped_ = 0;
  std::vector<Skipped> first_skipped_;
};

}  // namespace graphzero::compile
