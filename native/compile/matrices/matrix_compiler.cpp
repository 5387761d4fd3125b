#include "compile/matrices/matrix_compiler.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/team.h"
#include "compile/matrices/matrix_parser.h"
#include "compile/matrices/matrix_sorter.h"
#include "store/matrix/matrix_writer.h"

namespace graphzero::compile {
namespace {

constexpr size_t kMaxMessages = 5;

class Compiler {
 public:
  Compiler(std::unique_ptr<TextSource> source, const MatrixTextJob& job, Progress* progress);
  MatrixTextReport Run();

 private:
  void Work(int rank);
  bool Commit(int rank, uint64_t index, const RowBatch& batch);
  size_t InOrder(const RowBatch& batch) const;
  size_t CheckRoom(const RowBatch& batch);
  void Collect(int rank, const RowBatch& batch, size_t first);
  const char* Owner() const { return job_.role == store::Role::kEdge ? "edge" : "node"; }
  void NoteBadLines(const RowBatch& batch);

  uint64_t EstimateRows() const;
  void AppendSorted(MatrixTextReport* report);
  std::string DescribeDuplicate(const DuplicateRow& duplicate) const;
  uint64_t FindFirst(uint64_t id) const;

  const MatrixTextJob& job_;
  Progress* progress_;
  Resources resources_;
  std::unique_ptr<TextSource> source_;
  TableDialect dialect_;
  RowFormat format_;
  RowParser parse_;
  std::unique_ptr<store::MatrixWriter> out_;

  base::Turnstile turn_;  // keeps chunks in order while rows come in order
  uint64_t next_id_ = 0;  // rows written; changes only in turn, and no more once sorter_ is set
  std::unique_ptr<MatrixSorter> sorter_;
  std::atomic<bool> sorting_{false};  // published after sorter_

  base::FirstError error_;
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> nans_{0};
  std::atomic<uint64_t> missing_{0};
  std::mutex mutex_;  // guards the members below
  uint64_t skipped_ = 0;
  std::vector<BadLine> bad_;
  SortedRows early_;  // duplicates of rows that are written already
};

// Only the first bad lines by position are shown.
void KeepFirst(std::vector<BadLine>* bad) {
  std::sort(bad->begin(), bad->end(),
            [](const BadLine& a, const BadLine& b) { return a.offset < b.offset; });
  if (bad->size() > kMaxMessages) bad->erase(bad->begin() + kMaxMessages, bad->end());
}

TableDialect CheckedDialect(const TextSource& source, const MatrixTextJob& job) {
  const bool has_ids = job.has_ids;
  const TableDialect dialect =
      DetectDialect(source, has_ids ? FirstField::kId : FirstField::kValue);
  if (dialect.columns == 0) throw InputError(source.path() + ": found no data line");
  if (dialect.columns == 1 && has_ids) {
    throw InputError(source.path() + " line " +
                     std::to_string(source.LineNumber(dialect.data_offset)) +
                     ": expected a node id and at least one value, found 1 column");
  }
  if (dialect.columns > 1 && job.role == store::Role::kIds) {
    throw InputError(
        source.path() + " line " + std::to_string(source.LineNumber(dialect.data_offset)) +
        ": expected a node id alone, found " + std::to_string(dialect.columns) + " columns");
  }
  return dialect;
}

RowFormat MakeFormat(const MatrixTextJob& job, const TableDialect& dialect) {
  RowFormat format{};
  format.dtype = job.dtype;
  format.cols = dialect.columns - (job.has_ids ? 1 : 0);
  format.row_bytes = format.cols * store::ItemSize(job.dtype);
  format.num_rows = job.num_rows;
  format.has_ids = job.has_ids;
  format.skip_bad_lines = job.skip_bad_lines && job.has_ids;
  if (job.nan) format.nan_value = ParseValue(job.dtype, *job.nan, "value for NaN");
  return format;
}

store::MatrixShape MakeShape(const MatrixTextJob& job, const RowFormat& format) {
  const uint64_t item = store::ItemSize(job.dtype);
  if (job.row_align % item != 0) {
    throw InputError("found a row alignment of " + std::to_string(job.row_align) +
                     " bytes, expected a multiple of " + std::to_string(item) + ", the size of " +
                     std::string(store::Name(job.dtype)));
  }
  store::MatrixShape shape{};
  shape.rows = job.num_rows;
  shape.cols = format.cols;
  shape.ndim = format.cols == 1 && !job.always_2d ? 1 : 2;
  shape.dtype = job.dtype;
  shape.role = job.role;
  shape.row_stride = job.row_align == 0
                         ? format.row_bytes
                         : base::DivideUp(format.row_bytes, job.row_align) * job.row_align;
  shape.description = job.description;
  return shape;
}

Compiler::Compiler(std::unique_ptr<TextSource> source, const MatrixTextJob& job, Progress* progress)
    : job_(job),
      progress_(progress),
      resources_(job.resources),
      source_(std::move(source)),
      dialect_(CheckedDialect(*source_, job)),
      format_(MakeFormat(job, dialect_)),
      parse_(ParserFor(job.dtype)) {
  const uint64_t most = std::max<uint64_t>(resources_.memory / kMemoryPerThread, 1);
  resources_.threads = static_cast<int>(
      std::min<uint64_t>(static_cast<uint64_t>(std::max(resources_.threads, 1)), most));
  out_ = std::make_unique<store::MatrixWriter>(job.target, MakeShape(job, format_));
  // An estimate that is too high must not fail for lack of space: reserve a little less.
  if (!job.num_rows) out_->ReserveRows(EstimateRows() / 10 * 9);
}

MatrixTextReport Compiler::Run() {
  progress_->Start("reading rows", source_->input_units());
  base::RunTeam(resources_.threads, [this](int rank) { Work(rank); });
  error_.RethrowIfAny();

  MatrixTextReport report;
  AppendSorted(&report);
  report.rows = job_.num_rows.value_or(out_->rows_written());
  report.cols = format_.cols;
  report.ndim = out_->shape().ndim;
  report.skipped = skipped_;
  report.nans = nans_;
  report.missing = missing_;
  KeepFirst(&bad_);
  for (const BadLine& bad : bad_) report.messages.push_back(Describe(*source_, bad));
  out_->Finish();
  return report;
}

void Compiler::Work(int rank) {
  try {
    TextChunk chunk;
    RowBatch batch;
    while (!error_.any() && !failed_ && source_->Next(&chunk)) {
      progress_->ThrowIfCancelled();
      parse_(chunk, dialect_, format_, &batch);
      if (batch.bad_count != 0) NoteBadLines(batch);
      nans_.fetch_add(batch.nan_count, std::memory_order_relaxed);
      missing_.fetch_add(batch.missing_count, std::memory_order_relaxed);
      if (!Commit(rank, chunk.index, batch)) return;
      progress_->Add(chunk.input_units);
    }
  } catch (...) {
    failed_ = true;
    turn_.Abort();
    throw;
  }
}

void Compiler::NoteBadLines(const RowBatch& batch) {
  if (!format_.skip_bad_lines) {
    const BadLine& first = batch.bad.front();
    error_.Report(first.offset, std::make_exception_ptr(InputError(Describe(*source_, first))));
    return;
  }
  std::lock_guard lock(mutex_);
  skipped_ += batch.bad_count;
  bad_.insert(bad_.end(), batch.bad.begin(), batch.bad.end());
  if (bad_.size() > 64 * kMaxMessages) KeepFirst(&bad_);
}

// Writes or collects the rows of a chunk. False if there is no use in going on.
bool Compiler::Commit(int rank, uint64_t index, const RowBatch& batch) {
  size_t written = 0;
  if (!sorting_.load(std::memory_order_acquire)) {
    const bool in_turn = turn_.Wait(index);
    if (!sorting_.load(std::memory_order_acquire)) {
      if (!in_turn) return false;
      written = format_.has_ids ? InOrder(batch) : CheckRoom(batch);
      out_->Append(batch.Rows(0, written, format_.row_bytes));
      next_id_ += written;
      if (written < batch.size()) {
        sorter_ = std::make_unique<MatrixSorter>(SorterLimits::Share(resources_), format_.row_bytes,
                                                 next_id_, job_.num_rows.value_or(EstimateRows()));
        sorting_.store(true, std::memory_order_release);
        turn_.Abort();  // order no longer matters
      }
      turn_.Done(index);
    }
  }
  if (error_.any()) return false;
  Collect(rank, batch, written);
  return true;
}

// How many rows at the front of the batch directly follow the rows that are written.
size_t Compiler::InOrder(const RowBatch& batch) const {
  size_t count = 0;
  while (count < batch.size() && batch.ids[count] == next_id_ + count) ++count;
  return count;
}

// For a table without ids: the number of rows of the batch. Throws InputError if the matrix has no
// room for them.
size_t Compiler::CheckRoom(const RowBatch& batch) {
  const uint64_t room = job_.num_rows.value_or(UINT64_MAX) - next_id_;
  if (batch.size() <= room) return batch.size();
  const BadLine bad{batch.offsets[room], "found another row, expected " +
                                             std::to_string(*job_.num_rows) + ", one for each " +
                                             Owner()};
  throw InputError(Describe(*source_, bad));
}

void Compiler::Collect(int rank, const RowBatch& batch, size_t first) {
  for (size_t i = first; i < batch.size(); ++i) {
    if (batch.ids[i] < next_id_) {
      std::lock_guard lock(mutex_);
      early_.AddDuplicate(batch.offsets[i], batch.ids[i]);
    } else {
      sorter_->Add(rank, batch.ids[i], batch.offsets[i], batch.Rows(i, 1, format_.row_bytes));
    }
  }
}

uint64_t Compiler::EstimateRows() const {
  const TextChunk head = source_->Peek(dialect_.data_offset, TextSource::kChunkBytes);
  const auto lines = static_cast<uint64_t>(std::count(head.text.begin(), head.text.end(), '\n'));
  const uint64_t line_bytes =
      std::max<uint64_t>(head.text.size() / std::max<uint64_t>(lines, 1), 1);
  return source_->size() / line_bytes + 1;
}

void Compiler::AppendSorted(MatrixTextReport* report) {
  uint64_t end = next_id_;
  uint64_t present = next_id_;
  if (sorter_) {
    sorter_->Close();
    end = std::max(end, sorter_->end_id());
    present += sorter_->rows_added();
  }
  end = job_.num_rows.value_or(end);

  std::string fill_row;
  if (job_.fill) {
    const std::string value = ParseValue(job_.dtype, *job_.fill, "fill value");
    for (uint64_t i = 0; i < format_.cols; ++i) fill_row += value;
  }
  // If rows are certain to be missing, nothing is written before the error: a mistaken id of 2^60
  // would otherwise fill the disk first.
  const bool hopeless = !job_.fill && present < end;
  store::MatrixWriter* out = hopeless ? nullptr : out_.get();
  if (out && !job_.num_rows) {
    try {
      out->ReserveRows(end);
    } catch (const std::invalid_argument& error) {
      throw InputError(source_->path() + ": with node ids up to " + std::to_string(end - 1) + ", " +
                       error.what());
    }
  }
  SortedRows found;
  progress_->Start("sorting rows", end - next_id_);
  if (sorter_) {
    found = sorter_->Drain(end, std::as_bytes(std::span(fill_row)), AppendTo(out), progress_);
    report->spilled_bytes = sorter_->spilled_bytes();
  } else {
    found.AddMissing(next_id_, end - next_id_);
    if (out) out->AppendCopies(std::as_bytes(std::span(fill_row)), end - next_id_);
  }

  found.duplicates += early_.duplicates;
  if (early_.first_duplicate &&
      (!found.first_duplicate || early_.first_duplicate->offset < found.first_duplicate->offset)) {
    found.first_duplicate = early_.first_duplicate;
  }
  if (found.first_duplicate) {
    const BadLine bad{found.first_duplicate->offset, DescribeDuplicate(*found.first_duplicate)};
    if (!job_.skip_bad_lines) throw InputError(Describe(*source_, bad));
    skipped_ += found.duplicates;
    bad_.push_back(bad);
  }
  if (found.missing != 0 && !job_.fill && !job_.has_ids) {
    throw InputError(source_->path() + ": found " + std::to_string(next_id_) + " rows, expected " +
                     std::to_string(end) + ", one for each " + Owner());
  }
  if (found.missing != 0 && !job_.fill) {
    throw InputError(source_->path() + ": " + std::to_string(found.missing) + " of " +
                     std::to_string(end) + " node ids have no row, the first is " +
                     std::to_string(found.first_missing) +
                     "; --fill VALUE gives such rows a value");
  }
  report->filled = found.missing;
}

std::string Compiler::DescribeDuplicate(const DuplicateRow& duplicate) const {
  const TextChunk line = source_->Peek(duplicate.offset, 1);
  return "node id " + std::to_string(duplicate.id) + " again, first on line " +
         std::to_string(source_->LineNumber(FindFirst(duplicate.id))) + ": " +
         Shorten(line.text.substr(0, line.text.find('\n')));
}

// Offset of the first row with this id. Reads the file again from its start.
uint64_t Compiler::FindFirst(uint64_t id) const {
  const std::unique_ptr<TextSource> source = source_->Reopen();
  TextChunk chunk;
  RowBatch batch;
  while (source->Next(&chunk)) {
    progress_->ThrowIfCancelled();
    parse_(chunk, dialect_, format_, &batch);
    const auto found = std::find(batch.ids.begin(), batch.ids.end(), id);
    if (found != batch.ids.end()) {
      return batch.offsets[static_cast<size_t>(found - batch.ids.begin())];
    }
  }
  throw InputError(source_->path() + ": changed while it was read");
}

}  // namespace

MatrixTextReport CompileMatrixText(std::unique_ptr<TextSource> source, const MatrixTextJob& job,
                                   Progress* progress) {
  return Compiler(std::move(source), job, progress).Run();
}

}  // namespace graphzero::compile
