// Records of one fixed size, divided over buckets by several threads at once.
//
// The order of records inside a bucket depends on scheduling: a reader must sort a bucket by a key
// that is unique, or whose equal records are identical.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "compile/spill/extent_store.h"

namespace graphzero::compile {

class Partition {
 public:
  // One thread's side. Not shared between threads.
  class Writer {
   public:
    // Appends a record; sizeof(Record) is the partition's record size.
    template <class Record>
    void Push(size_t bucket, const Record& record) {
      Cursor& cursor = cursors_[bucket];
      if (cursor.at == cursor.end) Turn(bucket);
      std::memcpy(cursor.at, &record, sizeof(Record));
      cursor.at += sizeof(Record);
    }
    // Room for one record of the partition's record size, to be filled by the caller at once.
    std::byte* Claim(size_t bucket) {
      Cursor& cursor = cursors_[bucket];
      if (cursor.at == cursor.end) Turn(bucket);
      std::byte* at = cursor.at;
      cursor.at += owner_->record_bytes_;
      return at;
    }

   private:
    friend class Partition;
    // Apart from the other members, so that the cursors of all buckets stay in the first-level
    // cache.
    struct Cursor {
      std::byte* at = nullptr;
      std::byte* end = nullptr;
    };
    void Turn(size_t bucket);
    void Seal(size_t bucket);

    Partition* owner_ = nullptr;
    std::vector<Cursor> cursors_;
    std::vector<std::byte*> buffers_;
    std::vector<std::vector<Extent>> sealed_;
  };

  // A bucket's records in memory, piece by piece. Its destructor gives their memory back.
  class View {
   public:
    View(ExtentStore* store, std::vector<Extent> extents);
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    ~View();

    template <class Record>
    std::vector<std::span<const Record>> pieces() const {
      std::vector<std::span<const Record>> result;
      for (const Extent& extent : extents_) {
        result.emplace_back(reinterpret_cast<const Record*>(extent.memory),
                            extent.bytes / sizeof(Record));
      }
      return result;
    }

   private:
    ExtentStore* store_;
    std::vector<Extent> extents_;
  };

  // `store` must outlive the partition.
  Partition(ExtentStore* store, size_t buckets, size_t record_bytes, int writers);
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  ~Partition();

  size_t buckets() const { return buckets_.size(); }
  size_t record_bytes() const { return record_bytes_; }
  Writer& writer(int rank) { return writers_[static_cast<size_t>(rank)]; }

  // Ends writing. Afterwards buckets may be read, each once, from any thread.
  void Close();

  // Valid after Close().
  uint64_t records(size_t bucket) const { return buckets_[bucket].records; }
  uint64_t total_records() const;

  // Moves a whole bucket into memory without copying what is there already.
  View Take(size_t bucket);

  // Moves a bucket's records into `*out`, contiguous.
  void CopyOut(size_t bucket, std::vector<std::byte>* out);

  // Moves a bucket's records through consume(span of bytes) piece by piece: for buckets that exceed
  // memory.
  template <class Consume>
  void Stream(size_t bucket, Consume&& consume) {
    std::vector<Extent> extents = Release(bucket);
    for (Extent& extent : extents) {
      View one(store_, {std::exchange(extent, {})});
      consume(std::as_bytes(one.pieces<std::byte>().front()));
    }
  }

 private:
  struct Bucket {
    uint64_t records = 0;
    std::vector<Extent> extents;
  };

  std::vector<Extent> Release(size_t bucket);

  ExtentStore* store_;
  size_t record_bytes_;
  size_t usable_bytes_;  // of an extent: whole records only
  std::vector<Writer> writers_;
  std::vector<Bucket> buckets_;
};

}  // namespace graphzero::compile
