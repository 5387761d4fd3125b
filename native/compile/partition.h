// Records of one fixed size, divided over buckets by several threads at once.
//
// The order of records inside a bucket depends on scheduling: whoever reads a bucket sorts it by a
// key that is unique, or whose equal records are identical.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "compile/extent_store.h"

namespace graphzero::compile {

class Partition {
 public:
  // One thread's side. Not shared between threads.
  class Writer {
   public:
    // Appends a record; sizeof(Record) is the partition's record size.
    template <class Record>
    void Push(size_t bucket, const Record& record) {
      std::memcpy(Claim(bucket), &record, sizeof(Record));
    }
    // Room for one record of the partition's record size, to be filled by the caller at once.
    std::byte* Claim(size_t bucket) {
      Open& open = open_[bucket];
      if (open.at == open.end) Turn(&open);
      std::byte* at = open.at;
      open.at += owner_->record_bytes_;
      return at;
    }

   private:
    friend class Partition;
    struct Open {
      std::byte* at = nullptr;
      std::byte* end = nullptr;
      store::AlignedBuffer buffer;
      std::vector<Extent> sealed;
    };
    void Turn(Open* open);
    void Seal(Open* open);

    Partition* owner_ = nullptr;
    std::vector<Open> open_;
  };

  // `store` must outlive the partition.
  Partition(ExtentStore* store, size_t buckets, size_t record_bytes, int writers);

  size_t buckets() const { return buckets_.size(); }
  size_t record_bytes() const { return record_bytes_; }
  Writer& writer(int rank) { return writers_[static_cast<size_t>(rank)]; }

  // Ends writing. Afterwards buckets may be read, each once, from any thread.
  void Close();

  // Valid after Close().
  uint64_t records(size_t bucket) const { return buckets_[bucket].records; }
  uint64_t total_records() const;

  // Moves a bucket's records into `*out`, contiguous, and gives their room back.
  void Take(size_t bucket, std::vector<std::byte>* out);

  // Moves a bucket's records through `consume` piece by piece: for buckets that exceed memory.
  template <class Consume>
  void Stream(size_t bucket, Consume&& consume) {
    store::AlignedBuffer piece = store::MakeAlignedBuffer(store_->extent_bytes());
    for (Extent& extent : buckets_[bucket].extents) {
      const uint64_t bytes = extent.bytes;
      store_->Take(std::move(extent), piece.get());
      consume(std::span<const std::byte>(piece.get(), bytes));
    }
    buckets_[bucket] = {};
  }

 private:
  struct Bucket {
    uint64_t records = 0;
    std::vector<Extent> extents;
  };

  ExtentStore* store_;
  size_t record_bytes_;
  size_t usable_bytes_;  // of an extent: whole records only
  std::vector<Writer> writers_;
  std::vector<Bucket> buckets_;
};

}  // namespace graphzero::compile
