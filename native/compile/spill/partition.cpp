#include "compile/spill/partition.h"

#include <numeric>
#include <utility>

namespace graphzero::compile {

Partition::Partition(ExtentStore* store, size_t buckets, size_t record_bytes, int writers)
    : store_(store),
      record_bytes_(record_bytes),
      usable_bytes_(store->extent_bytes() / record_bytes * record_bytes),
      writers_(static_cast<size_t>(writers)),
      buckets_(buckets) {
  for (Writer& writer : writers_) {
    writer.owner_ = this;
    writer.cursors_.resize(buckets);
    writer.buffers_.resize(buckets);
    writer.sealed_.resize(buckets);
  }
}

// After an exception there may be records that nobody will read.
Partition::~Partition() {
  for (Writer& writer : writers_) {
    for (std::byte* buffer : writer.buffers_) {
      if (buffer) store_->ReturnBuffer(buffer);
    }
    for (const std::vector<Extent>& sealed : writer.sealed_) {
      for (const Extent& extent : sealed) store_->Free(extent);
    }
  }
  for (const Bucket& bucket : buckets_) {
    for (const Extent& extent : bucket.extents) store_->Free(extent);
  }
}

void Partition::Writer::Seal(size_t bucket) {
  const auto bytes = static_cast<uint64_t>(cursors_[bucket].at - buffers_[bucket]);
  sealed_[bucket].push_back(owner_->store_->Seal(&buffers_[bucket], bytes));
}

void Partition::Writer::Turn(size_t bucket) {
  if (buffers_[bucket]) Seal(bucket);
  if (!buffers_[bucket]) buffers_[bucket] = owner_->store_->TakeBuffer();
  cursors_[bucket] = {buffers_[bucket], buffers_[bucket] + owner_->usable_bytes_};
}

void Partition::Close() {
  for (Writer& writer : writers_) {
    for (size_t b = 0; b < buckets_.size(); ++b) {
      if (writer.buffers_[b]) {
        writer.Seal(b);
        if (writer.buffers_[b]) store_->ReturnBuffer(std::exchange(writer.buffers_[b], nullptr));
      }
      Bucket& bucket = buckets_[b];
      for (const Extent& extent : std::exchange(writer.sealed_[b], {})) {
        bucket.records += extent.bytes / record_bytes_;
        bucket.extents.push_back(extent);
      }
    }
  }
  store_->Flush();
}

uint64_t Partition::total_records() const {
  return std::accumulate(buckets_.begin(), buckets_.end(), uint64_t{0},
                         [](uint64_t sum, const Bucket& b) { return sum + b.records; });
}

// `records` keeps its value, because totals are needed while buckets are being read.
std::vector<Extent> Partition::Release(size_t bucket) {
  return std::exchange(buckets_[bucket].extents, {});
}

Partition::View Partition::Take(size_t bucket) { return View(store_, Release(bucket)); }

void Partition::CopyOut(size_t bucket, std::vector<std::byte>* out) {
  out->clear();
  out->reserve(records(bucket) * record_bytes_);
  Stream(bucket, [&](std::span<const std::byte> piece) {
    out->insert(out->end(), piece.begin(), piece.end());
  });
}

Partition::View::View(ExtentStore* store, std::vector<Extent> extents)
    : store_(store), extents_(std::move(extents)) {
  for (Extent& extent : extents_) store_->Load(&extent);
}

Partition::View::~View() {
  for (const Extent& extent : extents_) store_->Free(extent);
}

}  // namespace graphzero::compile
