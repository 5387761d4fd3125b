#include "compile/ids/id_collector.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <queue>
#include <utility>

#include "base/errors.h"
#include "base/hash.h"
#include "base/prefetch.h"
#include "compile/text/text_source.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kFirstSlots = uint64_t{1} << 12;
constexpr uint64_t kCancelEvery = uint64_t{1} << 16;
// Ids that are looked up together, so that their cache misses overlap.
constexpr size_t kGroup = 16;

// Calls visit(value, sides) for the values of all sorted runs in ascending order, each once with
// all of its sides.
template <class Store, class Visit>
void MergeRuns(const RunFile& file, std::span<const RunFile::Run> runs, const Visit& visit) {
  using Value = typename Store::Value;
  struct Head {
    Value value;
    uint8_t sides;
    size_t run;
    bool operator>(const Head& other) const { return value > other.value; }
  };
  std::vector<RunFile::Reader> readers;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  for (const RunFile::Run& run : runs) {
    readers.emplace_back(file, run);
    Head head{{}, 0, readers.size() - 1};
    if (Store::Read(&readers.back(), &head.value, &head.sides)) heads.push(std::move(head));
  }
  std::optional<Value> last;
  uint8_t sides = 0;
  while (!heads.empty()) {
    Head head = heads.top();
    heads.pop();
    if (last && *last != head.value) visit(*last, std::exchange(sides, uint8_t{0}));
    last = head.value;
    sides |= head.sides;
    if (Store::Read(&readers[head.run], &head.value, &head.sides)) heads.push(std::move(head));
  }
  if (last) visit(*last, sides);
}

// Appends rows in pieces, and lets the job be cancelled between them.
class RowBuffer {
 public:
  RowBuffer(store::MatrixWriter* out, size_t width, Progress* progress)
      : out_(out), width_(width), progress_(progress) {}

  void Append(std::span<const std::byte> row) {
    rows_.insert(rows_.end(), row.begin(), row.end());
    rows_.resize(rows_.size() + width_ - row.size());
    if (++count_ % kCancelEvery == 0) Flush();
  }
  void Flush() {
    progress_->ThrowIfCancelled();
    out_->Append(rows_);
    rows_.clear();
  }
  uint64_t count() const { return count_; }

 private:
  store::MatrixWriter* out_;
  const size_t width_;
  Progress* progress_;
  std::vector<std::byte> rows_;
  uint64_t count_ = 0;
};

}  // namespace

store::MatrixWriter IntegerStore::Create(const std::string& path, store::Role role, size_t) {
  return {path, {std::nullopt, 1, 1, store::DType::kInt64, role, sizeof(int64_t)}};
}

void IntegerStore::Append(RunFile* file, int64_t id, uint8_t sides) {
  file->Append(BytesOf(id));
  file->Append(std::as_bytes(std::span(&sides, 1)));
}

bool IntegerStore::Read(RunFile::Reader* reader, int64_t* id, uint8_t* sides) {
  return reader->Read(std::as_writable_bytes(std::span(id, 1))) &&
         reader->Read(std::as_writable_bytes(std::span(sides, 1)));
}

store::MatrixWriter TextStore::Create(const std::string& path, store::Role role, size_t width) {
  return {path, {std::nullopt, width, 2, store::DType::kUInt8, role, width}};
}

void TextStore::Append(RunFile* file, std::string_view text, uint8_t sides) {
  const uint32_t head[] = {static_cast<uint32_t>(text.size()), sides};
  file->Append(std::as_bytes(std::span(head)));
  file->Append(BytesOf(text));
}

bool TextStore::Read(RunFile::Reader* reader, std::string* text, uint8_t* sides) {
  uint32_t head[2];
  if (!reader->Read(std::as_writable_bytes(std::span(head)))) return false;
  text->resize(head[0]);
  *sides = static_cast<uint8_t>(head[1]);
  return reader->Read(std::as_writable_bytes(std::span(*text)));
}

template <class Store>
IdCollector<Store>::IdCollector(const Resources& resources, uint64_t most_bytes)
    : temp_dir_(resources.temp_dir),
      most_bytes_(std::max(most_bytes, kFirstSlots * 2 * sizeof(Slot))),
      slots_(kFirstSlots, Slot{kFree, 0}) {}

// Makes room for `count` more ids in a table that stays at most half full. May spill the present
// ids to the disk.
template <class Store>
void IdCollector<Store>::MakeRoom(size_t count) {
  if (bytes(slots_.size()) >= most_bytes_) Spill();
  if (2 * (ids_.size() + count) <= slots_.size()) return;
  if (bytes(2 * slots_.size()) < most_bytes_ && ids_.size() < kFree / 2) {
    Grow();
  } else {
    Spill();
  }
}

template <class Store>
void IdCollector<Store>::Grow() {
  std::vector<Slot> slots(2 * slots_.size(), Slot{kFree, 0});
  const uint64_t mask = slots.size() - 1;
  for (uint32_t number = 0; number < ids_.size(); ++number) {
    const uint64_t hash = base::HashId(ids_[number]);
    uint64_t at = hash & mask;
    while (slots[at].number != kFree) at = (at + 1) & mask;
    slots[at] = {number, static_cast<uint32_t>(hash >> 32)};
  }
  slots_ = std::move(slots);
}

template <class Store>
template <class Keys>
void IdCollector<Store>::AddAll(const Keys& keys, uint8_t sides, uint32_t* numbers) {
  uint64_t hashes[kGroup];
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const size_t count = std::min(kGroup, keys.size() - begin);
    MakeRoom(count);
    const uint64_t mask = slots_.size() - 1;
    for (size_t j = 0; j < count; ++j) {
      hashes[j] = base::HashId(keys[begin + j]);
      base::Prefetch<base::Use::kWrite>(&slots_[hashes[j] & mask]);
    }
    const auto likely = [&](size_t j) -> const Slot* {
      const Slot& slot = slots_[hashes[j] & mask];
      const bool same = slot.number != kFree && slot.tag == static_cast<uint32_t>(hashes[j] >> 32);
      return same ? &slot : nullptr;
    };
    for (size_t j = 0; j < count; ++j) {
      if (const Slot* slot = likely(j)) {
        ids_.Prefetch(slot->number);
        base::Prefetch<base::Use::kWrite>(&sides_[slot->number]);
      }
    }
    for (size_t j = 0; j < count; ++j) {
      if (const Slot* slot = likely(j)) ids_.PrefetchValue(slot->number);
    }
    for (size_t j = 0; j < count; ++j) {
      const uint32_t number = FindOrAdd(keys[begin + j], hashes[j], sides);
      if (numbers != nullptr) numbers[begin + j] = number;
    }
  }
}

template <class Store>
template <class Key>
uint32_t IdCollector<Store>::FindOrAdd(const Key& key, uint64_t hash, uint8_t sides) {
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const uint64_t mask = slots_.size() - 1;
  uint64_t at = hash & mask;
  for (; slots_[at].number != kFree; at = (at + 1) & mask) {
    const uint32_t number = slots_[at].number;
    if (slots_[at].tag != tag || ids_[number] != key) continue;
    sides_[number] |= sides;
    return number;
  }
  const auto number = static_cast<uint32_t>(ids_.size());
  slots_[at] = {number, tag};
  ids_.Append(key);
  sides_.push_back(sides);
  width_ = std::max(width_, Store::BytesOf(key).size());
  return number;
}

template <class Store>
template <class Visit>
void IdCollector<Store>::VisitSorted(const Visit& visit) {
  slots_ = {};
  using Key = decltype(ids_[0]);
  std::vector<std::pair<Key, uint32_t>> sorted;
  sorted.reserve(ids_.size());
  for (uint32_t number = 0; number < ids_.size(); ++number) {
    sorted.emplace_back(ids_[number], number);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [id, number] : sorted) visit(id, sides_[number], number);
}

template <class Store>
void IdCollector<Store>::Spill() {
  if (!file_) file_ = std::make_unique<RunFile>(temp_dir_);
  VisitSorted(
      [this](const auto& id, uint8_t sides, uint32_t) { Store::Append(file_.get(), id, sides); });
  runs_.push_back(file_->End());
  ids_.Clear();
  sides_ = {};
  slots_.assign(kFirstSlots, Slot{kFree, 0});
}

template <class Store>
IdCounts IdCollector<Store>::Write(const std::string& path, store::Role role, Progress* progress) {
  progress->Start("sorting ids", 0);
  store::MatrixWriter out = Store::Create(path, role, width_);
  RowBuffer rows(&out, width_, progress);
  IdCounts counts;
  const auto add = [&](const auto& id, uint8_t sides) {
    counts.Add(sides);
    rows.Append(Store::BytesOf(id));
  };
  if (numbered()) {
    std::vector<uint32_t> row_of(ids_.size());
    VisitSorted([&](const auto& id, uint8_t sides, uint32_t number) {
      row_of[number] = static_cast<uint32_t>(rows.count());
      add(id, sides);
    });
    rows_ = std::make_shared<const std::vector<uint32_t>>(std::move(row_of));
    ids_.Clear();
  } else {
    Spill();
    file_->Flush();
    MergeRuns<Store>(*file_, runs_, add);
  }
  rows.Flush();
  out.Finish();
  return counts;
}

template class IdCollector<IntegerStore>;
template class IdCollector<TextStore>;

// Half of the memory: the other half is for the old table while it grows, and for sorting.
IntegerIdCollector::IntegerIdCollector(const Resources& resources)
    : IdCollector(resources, resources.memory / 2) {}

void IntegerIdCollector::Add(std::span<const int64_t> ids, uint8_t sides, uint32_t* numbers) {
  AddAll(ids, sides, numbers);
}

TextIdCollector::TextIdCollector(const Resources& resources)
    : IdCollector(resources, resources.memory / 3) {}

void TextIdCollector::Add(const base::TextView& ids, const RowPlaces& places, uint64_t first_row,
                          const std::string& what, uint8_t sides, uint32_t* numbers) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view text = ids[i];
    const bool has_zero = std::memchr(text.data(), '\0', text.size()) != nullptr;
    if (!text.empty() && text.size() <= kMaxBytes && !has_zero) continue;
    const std::string article = what == "id" ? "an " : "a ";
    const std::string found =
        text.empty() ? "an empty " + what
        : has_zero   ? article + what + " with a zero byte, " + Shorten(text)
                     : article + what + " of " + std::to_string(text.size()) + " bytes";
    throw InputError(places.At(first_row + i) + ": found " + found + ", expected a text of 1 to " +
                     std::to_string(kMaxBytes) + " bytes");
  }
  AddAll(ids, sides, numbers);
}

}  // namespace graphzero::compile
