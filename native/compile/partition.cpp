#include "compile/partition.h"

#include <iterator>
#include <numeric>

namespace graphzero::compile {

Partition::Partition(ExtentStore* store, size_t buckets, size_t record_bytes, int writers)
    : store_(store),
      record_bytes_(record_bytes),
      usable_bytes_(store->extent_bytes() / record_bytes * record_bytes),
      writers_(static_cast<size_t>(writers)),
      buckets_(buckets) {
  for (Writer& writer : writers_) {
    writer.owner_ = this;
    writer.open_.resize(buckets);
  }
}

void Partition::Writer::Seal(Open* open) {
  const auto bytes = static_cast<uint64_t>(open->at - open->buffer.get());
  open->sealed.push_back(owner_->store_->Seal(&open->buffer, bytes));
}

void Partition::Writer::Turn(Open* open) {
  if (open->buffer) Seal(open);
  if (!open->buffer) open->buffer = store::MakeAlignedBuffer(owner_->store_->extent_bytes());
  open->at = open->buffer.get();
  open->end = open->at + owner_->usable_bytes_;
}

void Partition::Close() {
  for (Writer& writer : writers_) {
    for (size_t b = 0; b < buckets_.size(); ++b) {
      Writer::Open& open = writer.open_[b];
      if (open.buffer && open.at != open.buffer.get()) writer.Seal(&open);
      open.buffer.reset();
      Bucket& bucket = buckets_[b];
      for (const Extent& extent : open.sealed) bucket.records += extent.bytes / record_bytes_;
      std::move(open.sealed.begin(), open.sealed.end(), std::back_inserter(bucket.extents));
    }
    writer.open_.clear();
  }
  store_->Flush();
}

uint64_t Partition::total_records() const {
  return std::accumulate(buckets_.begin(), buckets_.end(), uint64_t{0},
                         [](uint64_t sum, const Bucket& b) { return sum + b.records; });
}

void Partition::Take(size_t bucket, std::vector<std::byte>* out) {
  out->resize(records(bucket) * record_bytes_);
  uint64_t at = 0;
  Stream(bucket, [&](std::span<const std::byte> piece) {
    std::memcpy(out->data() + at, piece.data(), piece.size());
    at += piece.size();
  });
}

}  // namespace graphzero::compile
