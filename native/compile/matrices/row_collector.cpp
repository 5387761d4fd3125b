#include "compile/matrices/row_collector.h"

#include <algorithm>
#include <filesystem>

#include "base/errors.h"

namespace graphzero::compile {

RowCollector::RowCollector(const std::string& path, const store::MatrixShape& shape,
                           RowPlaces places, NameNode name_node, uint64_t expected_rows,
                           bool skip_repeated, const Resources& resources)
    : places_(std::move(places)),
      column_(std::filesystem::path(path).stem().string()),
      name_node_(std::move(name_node)),
      expected_rows_(shape.rows.value_or(expected_rows)),
      resources_(resources),
      out_(path, shape),
      skip_repeated_(skip_repeated) {}

void RowCollector::Check(std::span<const int64_t> ids, std::span<const int64_t> numbers) const {
  const std::optional<uint64_t> rows = out_.shape().rows;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && (!rows || static_cast<uint64_t>(ids[i]) < *rows)) continue;
    const uint64_t row = numbers.empty() ? rows_seen_ + i : static_cast<uint64_t>(numbers[i]);
    throw InputError(places_.At(row) + ": found node id " + std::to_string(ids[i]) + ", expected " +
                     (rows ? "an id below " + std::to_string(*rows) + ", the number of nodes"
                           : "an id from 0 to 2^63 - 1"));
  }
}

std::string RowCollector::NodeName(uint64_t id) const {
  return name_node_ ? name_node_(id) : std::to_string(id);
}

std::string RowCollector::Repeated(const DuplicateRow& row) const {
  return places_.At(row.offset) + ": found node id " + NodeName(row.id) +
         " again, expected each id once";
}

void RowCollector::Add(std::span<const int64_t> ids, std::span<const std::byte> rows,
                       std::span<const int64_t> numbers) {
  Check(ids, numbers);
  const uint64_t row_bytes = out_.shape().row_bytes();
  size_t in_order = 0;
  if (!sorter_) {
    const uint64_t next = out_.rows_written();
    while (in_order < ids.size() && static_cast<uint64_t>(ids[in_order]) == next + in_order) {
      ++in_order;
    }
    out_.Append(rows.first(in_order * row_bytes));
  }
  const uint64_t written = out_.rows_written();
  for (size_t i = in_order; i < ids.size(); ++i) {
    const auto id = static_cast<uint64_t>(ids[i]);
    const uint64_t row = numbers.empty() ? rows_seen_ + i : static_cast<uint64_t>(numbers[i]);
    if (id < written) {
      early_.AddDuplicate(row, id);
      if (!skip_repeated_) throw InputError(Repeated(*early_.first_duplicate));
      continue;
    }
    if (!sorter_) {
      sorter_ = std::make_unique<MatrixSorter>(SorterLimits::Share(resources_), row_bytes, written,
                                               expected_rows_);
    }
    sorter_->Add(0, id, row, rows.subspan(i * row_bytes, row_bytes));
  }
  rows_seen_ += ids.size();
}

RowCollector::Report RowCollector::Finish(std::span<const std::byte> fill, Progress* progress) {
  const uint64_t written = out_.rows_written();
  uint64_t end = written;
  uint64_t present = written;
  if (sorter_) {
    sorter_->Close();
    end = sorter_->end_id();
    present += sorter_->rows_added();
  }
  end = out_.shape().rows.value_or(end);
  // If rows are certain to be missing, nothing is written before the error.
  store::MatrixWriter* out = fill.empty() && present < end ? nullptr : &out_;
  progress->Start("sorting rows", end - written);
  SortedRows found;
  if (sorter_) {
    found = sorter_->Drain(end, fill, AppendTo(out), progress);
  } else {
    found.AddMissing(written, end - written);
    if (out) out->AppendCopies(fill, end - written);
  }
  Report report{end, found.missing, found.duplicates + early_.duplicates, ""};
  std::optional<DuplicateRow> repeated = early_.first_duplicate;
  if (found.first_duplicate && (!repeated || found.first_duplicate->offset < repeated->offset)) {
    repeated = found.first_duplicate;
  }
  if (repeated) report.message = Repeated(*repeated);
  if (repeated && !skip_repeated_) throw InputError(report.message);
  if (found.missing != 0 && fill.empty()) {
    throw InputError(places_.name + ": " + std::to_string(found.missing) + " of " +
                     std::to_string(end) + " node ids have no row, the first is " +
                     NodeName(found.first_missing) + "; --fill " + column_ +
                     "=VALUE gives such rows of column '" + column_ + "' a value");
  }
  progress->Start("making durable", 0);
  out_.Finish();
  return report;
}

}  // namespace graphzero::compile
