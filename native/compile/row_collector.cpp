#include "compile/row_collector.h"

#include <algorithm>

#include "store/errors.h"

namespace graphzero::compile {

RowCollector::RowCollector(const std::string& path, const store::MatrixShape& shape,
                           RowPlaces places, uint64_t expected_rows, const Resources& resources)
    : places_(std::move(places)),
      expected_rows_(shape.rows.value_or(expected_rows)),
      resources_(resources),
      out_(path, shape) {}

void RowCollector::Check(std::span<const int64_t> ids) const {
  const std::optional<uint64_t> rows = out_.shape().rows;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && (!rows || static_cast<uint64_t>(ids[i]) < *rows)) continue;
    throw InputError(places_.At(rows_seen_ + i) + ": found node id " + std::to_string(ids[i]) +
                     ", expected " +
                     (rows ? "an id below " + std::to_string(*rows) + ", the number of nodes"
                           : "an id from 0 to 2^63 - 1"));
  }
}

void RowCollector::ThrowRepeated(uint64_t row, uint64_t id) const {
  throw InputError(places_.At(row) + ": found node id " + std::to_string(id) +
                   " again, expected each id once");
}

void RowCollector::Add(std::span<const int64_t> ids, std::span<const std::byte> rows) {
  Check(ids);
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
    if (id < written) ThrowRepeated(rows_seen_ + i, id);
    if (!sorter_) {
      sorter_ = std::make_unique<MatrixSorter>(SorterLimits::Share(resources_), row_bytes, written,
                                               expected_rows_);
    }
    sorter_->Add(0, id, rows_seen_ + i, rows.subspan(i * row_bytes, row_bytes));
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
  // Rows that are missing for certain need not be written first.
  store::MatrixWriter* out = fill.empty() && present < end ? nullptr : &out_;
  progress->Start("sorting rows", end - written);
  SortedRows found;
  if (sorter_) {
    found = sorter_->Drain(end, fill, out, progress);
  } else {
    found.AddMissing(written, end - written);
    if (out) out->AppendCopies(fill, end - written);
  }
  if (found.first_duplicate)
    ThrowRepeated(found.first_duplicate->offset, found.first_duplicate->id);
  if (found.missing != 0 && fill.empty()) {
    throw InputError(places_.name + ": " + std::to_string(found.missing) + " of " +
                     std::to_string(end) + " node ids have no row, the first is " +
                     std::to_string(found.first_missing) +
                     "; --fill VALUE gives such rows a value");
  }
  progress->Start("making durable", 0);
  out_.Finish();
  return {end, found.missing};
}

}  // namespace graphzero::compile
