#include "compile/matrices/matrix_sorter.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kExtentBytes = uint64_t{64} << 10;
// A wider row is split into records of this size, because an extent must hold several records.
constexpr uint64_t kMaxFragment = uint64_t{16} << 10;
// Memory for text, parsed rows and the buffers of both files, and what each thread adds to it.
constexpr uint64_t kFixedBytes = uint64_t{16} << 20;
constexpr uint64_t kThreadBytes = uint64_t{3} << 20;

constexpr uint64_t kAbsent = UINT64_MAX;

// Begins each record; `fragment_bytes_` bytes of the row follow.
struct RecordHead {
  uint64_t id;
  uint64_t offset;
  uint64_t fragment;
};

}  // namespace

SorterLimits SorterLimits::Share(const Resources& resources) {
  const uint64_t quarter = resources.memory / 4;
  const auto threads = static_cast<uint64_t>(resources.threads);
  const uint64_t fixed = kFixedBytes + threads * kThreadBytes;
  SorterLimits limits;
  limits.buckets = std::clamp<uint64_t>(quarter / (threads * kExtentBytes), 2, 256);
  limits.kept_bytes = 2 * quarter > fixed ? 2 * quarter - fixed : 0;
  limits.assembly_bytes = quarter;
  limits.writers = resources.threads;
  limits.temp_dir = resources.temp_dir;
  return limits;
}

void SortedRows::AddMissing(uint64_t id, uint64_t count) {
  if (count == 0) return;
  if (missing == 0) first_missing = id;
  missing += count;
}

void SortedRows::AddDuplicate(uint64_t offset, uint64_t id) {
  ++duplicates;
  if (!first_duplicate || offset < first_duplicate->offset) first_duplicate = {offset, id};
}

RowSink AppendTo(store::MatrixWriter* out) {
  if (out == nullptr) return {};
  return [out](std::span<const std::byte> rows, uint64_t copies) {
    if (copies == 1) return out->Append(rows);
    out->AppendCopies(rows, copies);
  };
}

struct MatrixSorter::DrainJob {
  std::span<const std::byte> fill;
  const RowSink& out;
  Progress* progress;
  SortedRows result;
  std::vector<std::byte> rows;       // of the range being assembled
  std::vector<uint64_t> row_offset;  // offset of each row in the input; kAbsent: it is missing
};

MatrixSorter::MatrixSorter(const SorterLimits& limits, uint64_t row_bytes, uint64_t first_id,
                           uint64_t expected_end)
    : limits_(limits),
      row_bytes_(row_bytes),
      fragment_bytes_(std::min(row_bytes, kMaxFragment)),
      first_id_(first_id),
      bucket_width_(std::max<uint64_t>(
          base::DivideUp(std::max(expected_end, first_id) - first_id, limits.buckets), 1)),
      assembly_rows_(std::max<uint64_t>(limits.assembly_bytes / (row_bytes + sizeof(uint64_t)), 1)),
      store_(limits.kept_bytes, kExtentBytes, limits.temp_dir),
      rows_(&store_, limits.buckets, sizeof(RecordHead) + fragment_bytes_, limits.writers),
      ranks_(static_cast<size_t>(limits.writers)) {}

void MatrixSorter::Add(int rank, uint64_t id, uint64_t offset, std::span<const std::byte> row) {
  Rank& mine = ranks_[static_cast<size_t>(rank)];
  ++mine.rows;
  mine.end_id = std::max(mine.end_id, id + 1);
  const size_t bucket = std::min<uint64_t>((id - first_id_) / bucket_width_, limits_.buckets - 1);
  RecordHead head{id, offset, 0};
  for (uint64_t at = 0; at < row.size(); at += fragment_bytes_, ++head.fragment) {
    std::byte* record = rows_.writer(rank).Claim(bucket);
    std::memcpy(record, &head, sizeof head);
    std::memcpy(record + sizeof head, row.data() + at, std::min(fragment_bytes_, row.size() - at));
  }
}

void MatrixSorter::Close() {
  rows_.Close();
  for (const Rank& rank : ranks_) {
    rows_added_ += rank.rows;
    end_id_ = std::max(end_id_, rank.end_id);
  }
}

SortedRows MatrixSorter::Drain(uint64_t end, std::span<const std::byte> fill, const RowSink& out,
                               Progress* progress) {
  DrainJob job{fill, out, progress, {}, {}, {}};
  for (size_t b = 0; b < limits_.buckets; ++b) {
    // The last bucket also has every id beyond the expected ones.
    const bool last = b + 1 == limits_.buckets;
    const uint64_t first = std::min(first_id_ + b * bucket_width_, end);
    DrainRange(&rows_, b, {first, last ? end : std::min(first + bucket_width_, end)}, &job);
  }
  return job.result;
}

void MatrixSorter::DrainRange(Partition* from, size_t bucket, Range range, DrainJob* job) {
  job->progress->ThrowIfCancelled();
  if (from->records(bucket) == 0) {
    job->result.AddMissing(range.first, range.size());
    if (job->out) job->out(job->fill, range.size());
  } else if (range.size() > assembly_rows_) {
    Divide(from, bucket, range, job);
    return;
  } else {
    Assemble(from, bucket, range, job);
  }
  job->progress->Add(range.size());
}

void MatrixSorter::Divide(Partition* from, size_t bucket, Range range, DrainJob* job) {
  const uint64_t width = base::DivideUp(range.size(), limits_.buckets);
  Partition parts(&store_, limits_.buckets, from->record_bytes(), 1);
  from->Stream(bucket, [&](std::span<const std::byte> records) {
    job->progress->ThrowIfCancelled();
    for (; !records.empty(); records = records.subspan(from->record_bytes())) {
      RecordHead head;
      std::memcpy(&head, records.data(), sizeof head);
      std::byte* to = parts.writer(0).Claim((head.id - range.first) / width);
      std::memcpy(to, records.data(), from->record_bytes());
    }
  });
  parts.Close();
  for (size_t b = 0; b < limits_.buckets; ++b) {
    const uint64_t first = std::min(range.first + b * width, range.end);
    DrainRange(&parts, b, {first, std::min(first + width, range.end)}, job);
  }
}

// One pass in any order suffices: a record is copied unless its row already came from an earlier
// place of the input, so the earliest row's bytes are the ones that stay.
void MatrixSorter::Assemble(Partition* from, size_t bucket, Range range, DrainJob* job) {
  std::vector<uint64_t>& row_offset = job->row_offset;
  row_offset.assign(range.size(), kAbsent);
  job->rows.resize(range.size() * row_bytes_);
  uint64_t present = 0;
  from->Stream(bucket, [&](std::span<const std::byte> records) {
    for (; !records.empty(); records = records.subspan(from->record_bytes())) {
      RecordHead head;
      std::memcpy(&head, records.data(), sizeof head);
      const uint64_t row = head.id - range.first;
      uint64_t& holder = row_offset[row];
      if (holder == kAbsent) {
        ++present;
      } else if (head.offset != holder && head.fragment == 0) {
        job->result.AddDuplicate(std::max(head.offset, holder), head.id);
      }
      if (head.offset > holder) continue;
      holder = head.offset;
      const uint64_t at = head.fragment * fragment_bytes_;
      std::memcpy(job->rows.data() + row * row_bytes_ + at, records.data() + sizeof head,
                  std::min(fragment_bytes_, row_bytes_ - at));
    }
  });
  for (uint64_t row = 0; present != range.size() && row < range.size(); ++row) {
    if (row_offset[row] != kAbsent) continue;
    job->result.AddMissing(range.first + row, 1);
    if (job->out) std::memcpy(job->rows.data() + row * row_bytes_, job->fill.data(), row_bytes_);
  }
  if (job->out) job->out(job->rows, 1);
}

}  // namespace graphzero::compile
