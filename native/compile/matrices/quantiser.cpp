#include "compile/matrices/quantiser.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <stdexcept>

#include "base/bytes.h"
#include "base/half.h"
#include "base/team.h"
#include "store/matrix/matrix_writer.h"

namespace graphzero::compile {
namespace {

using store::DType;
using store::Quantisation;

// About this many values make a block. Errors are summed by block, so this number affects the
// result.
constexpr uint64_t kBlockValues = uint64_t{1} << 16;

struct Block {
  uint64_t number;
  uint64_t first;  // row
  uint64_t rows;
};

constexpr double kLargest = std::numeric_limits<float>::max();

// Whether float32 has room for the value. False for NaN.
bool HasRoom(double value) { return std::abs(value) <= kLargest; }

// Rows of the source as float64, which holds the values of all floating types: errors are those
// against the values of the source, not against what float32 makes of them.
class DoubleRows {
 public:
  explicit DoubleRows(const store::MatrixReader& source) : source_(source) {}

  std::span<const double> Read(const Block& block) {
    values_.resize(block.rows * source_.cols());
    if (source_.dtype() == DType::kFloat64) {
      source_.ReadRows(block.first, std::as_writable_bytes(std::span(values_)));
      return values_;
    }
    bytes_.resize(block.rows * source_.row_bytes());
    source_.ReadRows(block.first, bytes_);
    switch (source_.dtype()) {
      case DType::kFloat32:
        Widen<float>([](float value) { return value; });
        break;
      case DType::kFloat16:
        Widen<base::Half>([](base::Half value) { return base::WidenFloat(value); });
        break;
      default:
        Widen<base::BFloat16>([](base::BFloat16 value) { return base::WidenFloat(value); });
    }
    return values_;
  }

 private:
  template <class T, class Make>
  void Widen(const Make& make) {
    for (size_t i = 0; i < values_.size(); ++i) {
      T value;
      std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof value);
      values_[i] = make(value);
    }
  }

  const store::MatrixReader& source_;
  std::vector<std::byte> bytes_;
  std::vector<double> values_;
};

// The range of each feature.
struct Ranges {
  explicit Ranges(uint64_t cols)
      : low(cols, std::numeric_limits<double>::infinity()),
        high(cols, -std::numeric_limits<double>::infinity()) {}

  // False if float32 has no room for a value.
  bool Add(std::span<const double> rows) {
    const size_t cols = low.size();
    bool finite = true;
    for (; !rows.empty(); rows = rows.subspan(cols)) {
      for (size_t col = 0; col < cols; ++col) {
        const double value = rows[col] + 0.0;  // turns -0.0 into 0.0
        low[col] = std::min(low[col], value);
        high[col] = std::max(high[col], value);
        finite &= HasRoom(value);
      }
    }
    return finite;
  }

  void Add(const Ranges& other) {
    for (size_t col = 0; col < low.size(); ++col) {
      low[col] = std::min(low[col], other.low[col]);
      high[col] = std::max(high[col], other.high[col]);
    }
  }

  std::vector<double> low;
  std::vector<double> high;
};

// The errors that codes cause in some rows.
struct Loss {
  double largest = 0;
  double sum = 0;
  uint64_t clipped = 0;
};

class Quantiser {
 public:
  Quantiser(const store::MatrixReader& source, const QuantiseJob& job, Progress* progress)
      : source_(source),
        job_(job),
        progress_(progress),
        block_rows_(std::max<uint64_t>(1, kBlockValues / source.cols())),
        blocks_(base::DivideUp(source.rows(), block_rows_)),
        ranges_(source.cols()) {
    // A thread holds rows as they are stored, as doubles and as codes, and its ranges.
    const uint64_t row = source.cols() * (source.row_bytes() / source.cols() + 9);
    const uint64_t own = block_rows_ * row + source.cols() * 16 + (uint64_t{2} << 20);
    const uint64_t most = std::max<uint64_t>(job.resources.memory / own, 1);
    threads_ = static_cast<int>(
        std::min<uint64_t>(static_cast<uint64_t>(std::max(job.resources.threads, 1)), most));
  }

  QuantiseReport Run() {
    QuantiseReport report;
    if (job_.kept) {
      report.quantisation = *job_.kept;
    } else {
      StateRanges();
      if (job_.low.empty()) FindRanges();
      if (bad_) {
        report.not_finite = bad_;
        return report;
      }
      if (!MakeScales(&report)) return report;
    }
    WriteCodes(&report);
    report.not_finite = bad_;
    return report;
  }

 private:
  Block BlockAt(uint64_t number) const {
    const uint64_t first = number * block_rows_;
    return {number, first, std::min(block_rows_, source_.rows() - first)};
  }

  // Several threads call work(state, block, its rows), each with its own copy of `initial`, and
  // finish(state) at their end. Blocks are started in order; blocks after one with a value that is
  // not finite are left out.
  template <class State, class Work, class Finish>
  void ForBlocks(const char* phase, const State& initial, const Work& work, const Finish& finish) {
    progress_->Start(phase, source_.rows());
    std::atomic<uint64_t> next = 0;
    base::RunTeam(threads_, [&](int) {
      try {
        DoubleRows rows(source_);
        State state = initial;
        for (uint64_t i = next++; i < std::min(blocks_, end_.load()); i = next++) {
          progress_->ThrowIfCancelled();
          const Block block = BlockAt(i);
          work(state, block, rows.Read(block));
          progress_->Add(block.rows);
        }
        finish(state);
      } catch (...) {
        turn_.Abort();
        throw;
      }
    });
  }

  void StateRanges() {
    const uint64_t cols = source_.cols();
    if (job_.low.size() != job_.high.size() ||
        (!job_.low.empty() && job_.low.size() != 1 && job_.low.size() != cols)) {
      throw std::invalid_argument("found " + std::to_string(job_.low.size()) +
                                  " ranges, expected one, or one for each of " +
                                  std::to_string(cols) + " features");
    }
    if (job_.low.empty()) return;
    for (uint64_t col = 0; col < cols; ++col) {
      const size_t at = job_.low.size() == 1 ? 0 : col;
      ranges_.low[col] = job_.low[at];
      ranges_.high[col] = job_.high[at];
      if (std::isfinite(job_.low[at]) && job_.low[at] <= job_.high[at] &&
          std::isfinite(job_.high[at])) {
        continue;
      }
      throw std::invalid_argument("found a range from " + std::to_string(job_.low[at]) + " to " +
                                  std::to_string(job_.high[at]) +
                                  ", expected two finite numbers, the lower one first");
    }
  }

  void FindRanges() {
    std::mutex mutex;
    ForBlocks(
        "finding ranges", Ranges(source_.cols()),
        [&](Ranges& own, const Block& block, std::span<const double> rows) {
          if (!own.Add(rows)) NoteBad(block, rows);
        },
        [&](const Ranges& own) {
          const std::lock_guard lock(mutex);
          ranges_.Add(own);
        });
  }

  // Keeps the first value by position that is not finite. All blocks before that value's block are
  // still checked.
  void NoteBad(const Block& block, std::span<const double> rows) {
    const auto at = std::find_if_not(rows.begin(), rows.end(), HasRoom);
    const auto index = static_cast<uint64_t>(at - rows.begin());
    const BadValue found{block.first + index / source_.cols(), index % source_.cols()};
    const std::lock_guard lock(bad_mutex_);
    if (!bad_ || found.row < bad_->row) bad_ = found;
    end_ = std::min(end_.load(), block.number);
    turn_.Abort();  // the file will not be finished
  }

  // False if the delivered type has no room for a feature, which the report then names.
  bool MakeScales(QuantiseReport* report) {
    Quantisation& made = report->quantisation;
    const uint64_t cols = source_.cols();
    made.delivered = job_.delivered;
    made.scales.resize(cols);
    made.offsets.resize(cols);
    for (uint64_t col = 0; col < cols; ++col) {
      const bool none = source_.rows() == 0 && job_.low.empty();
      const double low = none ? 0.0 : ranges_.low[col];
      const double high = none ? 0.0 : ranges_.high[col];
      made.offsets[col] = static_cast<float>(low);
      made.scales[col] = static_cast<float>((high - low) / store::kHighestCode);
      const Quantisation one{made.delivered, {made.scales[col]}, {made.offsets[col]}};
      if (store::FindProblem(one, source_.rows(), 1).found.empty()) continue;
      report->too_wide = col;
      report->low = low;
      report->high = high;
      return false;
    }
    return true;
  }

  void WriteCodes(QuantiseReport* report) {
    const uint64_t cols = source_.cols();
    const uint64_t align = std::max<uint64_t>(job_.row_align, 1);
    const bool shaped = source_.row_shape().size() > 1;
    store::MatrixWriter out(
        job_.target, {.rows = source_.rows(),
                      .cols = cols,
                      .ndim = source_.ndim(),
                      .dtype = DType::kUInt8,
                      .role = source_.role(),
                      .row_stride = base::DivideUp(cols, align) * align,
                      .row_shape = shaped ? std::vector<uint64_t>(source_.row_shape().begin(),
                                                                  source_.row_shape().end())
                                          : std::vector<uint64_t>(),
                      .description = source_.description(),
                      .quantisation = report->quantisation});
    Loss loss;
    ForBlocks(
        "quantising", std::vector<std::byte>(),
        [&](std::vector<std::byte>& codes, const Block& block, std::span<const double> rows) {
          codes.resize(rows.size());
          Loss own;
          if (!Encode(report->quantisation, rows, codes.data(), &own)) NoteBad(block, rows);
          if (!turn_.Wait(block.number)) throw base::StoppedByOther{};
          out.Append(codes);
          loss.largest = std::max(loss.largest, own.largest);
          loss.sum += own.sum;
          loss.clipped += own.clipped;
          turn_.Done(block.number);
        },
        [](const auto&) {});
    if (bad_) return;
    if (job_.kept && loss.largest > 0) {
      report->kept_lost = true;
      return;
    }
    if (!job_.kept) {
      const double count = static_cast<double>(source_.rows()) * static_cast<double>(cols);
      const double mean = count == 0 ? 0 : std::min(loss.sum / count, loss.largest);
      out.SetErrors(loss.largest, mean, loss.clipped);
      report->quantisation.largest_error = loss.largest;
      report->quantisation.mean_error = mean;
      report->quantisation.clipped = loss.clipped;
    }
    progress_->Start("making durable", 0);
    out.Finish();
  }

  // The code that `value` was decoded from, which is `nearest` or the one before or after it: the
  // delivered type rounds, so the nearest code need not be the one. `nearest` if it is none of
  // them.
  static uint8_t CodeOfDelivered(const Quantisation& by, size_t col, uint8_t nearest,
                                 double value) {
    for (const int step : {0, -1, 1}) {
      const int code = nearest + step;
      if (code < 0 || code > store::kHighestCode) continue;
      const auto found = static_cast<uint8_t>(code);
      if (store::DeliveredValue(by, col, found) == value) return found;
    }
    return nearest;
  }

  // False if float32 has no room for a value.
  bool Encode(const Quantisation& by, std::span<const double> rows, std::byte* codes, Loss* loss) {
    const size_t cols = source_.cols();
    bool finite = true;
    for (size_t row = 0; row < rows.size(); row += cols) {
      for (size_t col = 0; col < cols; ++col) {
        const double value = rows[row + col];
        if (!HasRoom(value)) {
          finite = false;
          continue;
        }
        const double scale = by.scales[col];
        const double offset = by.offsets[col];
        const double steps = scale > 0 ? (value - offset) / scale + 0.5 : 0.0;
        const double most = store::kHighestCode;
        auto code = static_cast<uint8_t>(std::clamp(steps, 0.0, most));
        if (job_.kept) code = CodeOfDelivered(by, col, code, value);
        codes[row + col] = static_cast<std::byte>(code);
        const double error = std::abs(store::DeliveredValue(by, col, code) - value);
        loss->largest = std::max(loss->largest, error);
        loss->sum += error;
        if (!job_.low.empty()) {
          // Stated ranges are float32: a value that float32 rounds to an end is not outside.
          const double rounded = static_cast<float>(value);
          loss->clipped += rounded < ranges_.low[col] || rounded > ranges_.high[col];
        }
      }
    }
    return finite;
  }

  const store::MatrixReader& source_;
  const QuantiseJob& job_;
  Progress* progress_;
  const uint64_t block_rows_;
  const uint64_t blocks_;
  int threads_ = 1;
  Ranges ranges_;
  base::Turnstile turn_;
  std::atomic<uint64_t> end_ = UINT64_MAX;  // the first block with a value that is not finite
  std::mutex bad_mutex_;
  std::optional<BadValue> bad_;
};

}  // namespace

QuantiseReport QuantiseMatrix(const store::MatrixReader& source, const QuantiseJob& job,
                              Progress* progress) {
  switch (source.dtype()) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16:
      break;
    default:
      throw std::invalid_argument("found a matrix of " + std::string(store::Name(source.dtype())) +
                                  ", expected floating values");
  }
  if (source.cols() > store::kMostQuantisedCols) {
    throw std::invalid_argument("found rows of " + std::to_string(source.cols()) +
                                " values, expected at most " +
                                std::to_string(store::kMostQuantisedCols));
  }
  return Quantiser(source, job, progress).Run();
}

}  // namespace graphzero::compile
