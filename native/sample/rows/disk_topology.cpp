#include "sample/rows/disk_topology.h"

#include <algorithm>
#include <cstring>

#include "base/buffer.h"
#include "base/errors.h"
#include "base/threads.h"
#include "sample/rows/row_starts_reading.h"
#include "store/files/warm.h"

namespace graphzero::sample {
namespace {

// Items of one read pass: bounds the memory of a hop with very many edges.
constexpr size_t kPass = size_t{1} << 21;

class RowSink : public io::ItemSink {
 public:
  RowSink(uint64_t* begins, uint64_t* degrees, uint64_t edges)
      : begins_(begins), degrees_(degrees), edges_(edges) {}

  void Take(const io::WantedItem& wanted, const std::byte* data) noexcept override {
    uint64_t pair[2];
    std::memcpy(pair, data, sizeof(pair));
    begins_[wanted.place] = pair[0];
    degrees_[wanted.place] = pair[1] - pair[0];
    if (pair[0] > pair[1] || pair[1] > edges_) damaged_ = std::min(damaged_, wanted.place);
  }
  std::byte* Destination(const io::WantedItem&) noexcept override { return nullptr; }

  uint64_t damaged() const { return damaged_; }

 private:
  uint64_t* const begins_;
  uint64_t* const degrees_;
  const uint64_t edges_;
  uint64_t damaged_ = UINT64_MAX;
};

template <class From, class To>
class ValueSink : public io::ItemSink {
 public:
  explicit ValueSink(To* to) : to_(to) {}

  void Take(const io::WantedItem& wanted, const std::byte* data) noexcept override {
    From value;
    std::memcpy(&value, data, sizeof(value));
    to_[wanted.place] = static_cast<To>(value);
  }
  std::byte* Destination(const io::WantedItem&) noexcept override { return nullptr; }

 private:
  To* const to_;
};

// Ranges of at most this many bytes are read in sweeps, as blocks of the file, if there are as many
// ranges as sweeps are made for. Few ranges, and long ones, are read by their own call.
constexpr uint64_t kSweptBytes = 16384;
constexpr size_t kLeastSwept = 4096;
constexpr uint32_t kBlock = 512;

// Copies from blocks of the file to the ranges that want a part of them. The place of an item is
// the number of its range.
class RangeSink : public io::ItemSink {
 public:
  explicit RangeSink(std::span<const io::WantedRange> ranges) : ranges_(ranges) {}

  void Take(const io::WantedItem& wanted, const std::byte* data) noexcept override {
    const io::WantedRange& range = ranges_[wanted.place];
    const uint64_t block = wanted.item * kBlock;
    const uint64_t begin = std::max(range.offset, block);
    const uint64_t end = std::min(range.offset + range.bytes, block + kBlock);
    std::memcpy(range.to + (begin - range.offset), data + (begin - block), end - begin);
  }
  std::byte* Destination(const io::WantedItem&) noexcept override { return nullptr; }

 private:
  const std::span<const io::WantedRange> ranges_;
};

// Calls read(wanted) for at most kPass items at a time; places count from 0 over all of them.
template <class Read>
void InPasses(std::span<const uint64_t> items, const Read& read) {
  base::WorkVector<io::WantedItem> wanted;
  for (size_t begin = 0; begin < items.size(); begin += kPass) {
    const size_t end = std::min(begin + kPass, items.size());
    wanted.resize(end - begin);
    for (size_t i = begin; i < end; ++i) wanted[i - begin] = {items[i], i};
    read(std::span(wanted));
  }
}

}  // namespace

std::shared_ptr<const DiskTopology> DiskTopology::Open(const store::TopologyReader& graph) {
  store::ExpectRandomAccess(*graph.file());
  return std::shared_ptr<const DiskTopology>(
      new DiskTopology(graph, io::RandomFile::OpenCached(graph.file())));
}

DiskTopology::DiskTopology(const store::TopologyReader& graph, io::RandomFile file)
    : file_(std::move(file)), draws_(io::DiskDraws::OfFile(graph.file()->fd().get())) {
  try {
    std::string why;
    direct_ = io::RandomFile::OpenDirect(graph.file(), &why);
  } catch (const IoError&) {
    // No descriptor is left: everything goes through the page cache.
  }
  std::vector<const uint64_t*> found;
  for (const store::Adjacency* adjacency : StoredAdjacencies(graph)) {
    found.push_back(adjacency->indptr);
  }
  std::sort(found.begin(), found.end());
  for (const uint64_t* indptr : found) starts_.emplace_back(indptr);
}

DiskTopology::~DiskTopology() {
  for (const KeptStarts& kept : starts_) delete kept.starts.load();
}

const DiskTopology::KeptStarts* DiskTopology::Kept(const store::Adjacency& adjacency) const {
  const auto at = std::lower_bound(
      starts_.begin(), starts_.end(), adjacency.indptr,
      [](const KeptStarts& kept, const uint64_t* indptr) { return kept.indptr < indptr; });
  return at != starts_.end() && at->indptr == adjacency.indptr ? &*at : nullptr;
}

void DiskTopology::Keep(const store::Adjacency& adjacency,
                        std::unique_ptr<const RowStarts> starts) const {
  const KeptStarts* const kept = Kept(adjacency);
  const RowStarts* none = nullptr;
  if (kept != nullptr && kept->starts.compare_exchange_strong(none, starts.get())) {
    starts.release();
  }
}

uint64_t DiskTopology::starts_bytes() const {
  uint64_t bytes = 0;
  for (const KeptStarts& kept : starts_) {
    const RowStarts* const starts = kept.starts.load(std::memory_order_acquire);
    if (starts != nullptr) bytes += starts->bytes();
  }
  return bytes;
}

std::optional<io::DiskRates> DiskTopology::MeasureDisk() const {
  if (!direct_ || direct_->file().size() < io::kLeastMeasured) return {};
  return io::MeasureDisk(*direct_);
}

void DiskTopology::Read(const io::ItemLayout& layout, std::span<io::WantedItem> wanted,
                        io::ItemSink& sink) const {
  counters_.calls.fetch_add(1, std::memory_order_relaxed);
  counters_.items.fetch_add(wanted.size(), std::memory_order_relaxed);
  const io::SweepFile from{
      .file = file_, .direct = direct_ ? &*direct_ : nullptr, .gap = merge_gap()};
  sweeps_.ReadAll(from, layout, wanted, sink, counters_.io);
}

bool DiskTopology::ReadRows(const store::Adjacency& adjacency, std::span<const uint64_t> nodes,
                            uint64_t* begins, uint64_t* degrees, size_t* damaged) const {
  const io::ItemLayout pairs{.base = OffsetOf(adjacency.indptr),
                             .stride = sizeof(uint64_t),
                             .bytes = 2 * sizeof(uint64_t)};
  RowSink sink(begins, degrees, adjacency.edges);
  InPasses(nodes, [&](std::span<io::WantedItem> wanted) { Read(pairs, wanted, sink); });
  *damaged = sink.damaged();
  return sink.damaged() == UINT64_MAX;
}

template <class From, class To>
void DiskTopology::ReadSlots(const From* array, std::span<const uint64_t> slots, To* to) const {
  const io::ItemLayout values{
      .base = OffsetOf(array), .stride = sizeof(From), .bytes = sizeof(From)};
  ValueSink<From, To> sink(to);
  InPasses(slots, [&](std::span<io::WantedItem> wanted) { Read(values, wanted, sink); });
}

template void DiskTopology::ReadSlots(const uint32_t*, std::span<const uint64_t>, uint64_t*) const;
template void DiskTopology::ReadSlots(const uint64_t*, std::span<const uint64_t>, uint64_t*) const;
template void DiskTopology::ReadSlots(const uint32_t*, std::span<const uint64_t>, int64_t*) const;
template void DiskTopology::ReadSlots(const uint64_t*, std::span<const uint64_t>, int64_t*) const;
template void DiskTopology::ReadSlots(const int64_t*, std::span<const uint64_t>, int64_t*) const;
template void DiskTopology::ReadSlots(const float*, std::span<const uint64_t>, float*) const;

void DiskTopology::ReadRanges(std::span<io::WantedRange> ranges) const {
  // The last block of the file may be shorter than the others: sweeps leave it out.
  const uint64_t whole_blocks = file_.file().size() / kBlock * kBlock;
  const auto is_swept = [&](const io::WantedRange& range) {
    return range.bytes > 0 && range.bytes <= kSweptBytes &&
           range.offset + range.bytes <= whole_blocks;
  };
  const auto others = std::partition(ranges.begin(), ranges.end(), is_swept);
  auto swept = ranges.first(static_cast<size_t>(others - ranges.begin()));
  if (swept.size() < kLeastSwept) swept = {};
  ReadInSweeps(swept);
  const auto alone = ranges.subspan(swept.size());
  if (alone.empty()) return;
  counters_.calls.fetch_add(1, std::memory_order_relaxed);
  counters_.items.fetch_add(alone.size(), std::memory_order_relaxed);
  io::ReadRanges(file_, alone, counters_.io);
}

void DiskTopology::ReadInSweeps(std::span<const io::WantedRange> ranges) const {
  base::WorkVector<io::WantedItem> blocks;
  RangeSink sink(ranges);
  base::CheckedLoop loop;
  const auto read = [&] {
    Read({.base = 0, .stride = kBlock, .bytes = kBlock}, blocks, sink);
    blocks.clear();
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    loop.Next();
    const uint64_t last = (ranges[i].offset + ranges[i].bytes - 1) / kBlock;
    for (uint64_t block = ranges[i].offset / kBlock; block <= last; ++block) {
      blocks.push_back({block, i});
    }
    if (blocks.size() >= kPass) read();
  }
  if (!blocks.empty()) read();
}

}  // namespace graphzero::sample
