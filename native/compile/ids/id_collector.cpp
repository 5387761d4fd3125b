#include "compile/ids/id_collector.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>
#include <utility>

#include "base/errors.h"
#include "base/hash.h"
#include "compile/text/text_source.h"
#include "store/matrix_writer.h"

namespace graphzero::compile {
namespace {

constexpr int64_t kFree = std::numeric_limits<int64_t>::min();
constexpr uint64_t kFirstSlots = uint64_t{1} << 12;
constexpr uint64_t kCancelEvery = uint64_t{1} << 16;

store::MatrixWriter NewIntegers(const std::string& path, store::Role role) {
  return {path, {std::nullopt, 1, 1, store::DType::kInt64, role, sizeof(int64_t)}};
}

store::MatrixWriter NewTexts(const std::string& path, store::Role role, size_t width) {
  return {path, {std::nullopt, width, 2, store::DType::kUInt8, role, width}};
}

// Calls visit(value, sides) for the values of all sorted runs in ascending order, each once with
// all of its sides. read(reader, *value, *sides) reads the next value of a run.
template <class Value, class ReadValue, class Visit>
void MergeRuns(const RunFile& file, std::span<const RunFile::Run> runs, const ReadValue& read,
               const Visit& visit) {
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
    if (read(&readers.back(), &head.value, &head.sides)) heads.push(std::move(head));
  }
  std::optional<Value> last;
  uint8_t sides = 0;
  while (!heads.empty()) {
    Head head = heads.top();
    heads.pop();
    if (last && *last != head.value) visit(*last, std::exchange(sides, uint8_t{0}));
    last = head.value;
    sides |= head.sides;
    if (read(&readers[head.run], &head.value, &head.sides)) heads.push(std::move(head));
  }
  if (last) visit(*last, sides);
}

// Appends rows in pieces, and lets the job be cancelled between them.
class RowBuffer {
 public:
  RowBuffer(store::MatrixWriter* out, Progress* progress) : out_(out), progress_(progress) {}

  void Append(const void* row, size_t bytes, size_t width) {
    const auto* begin = static_cast<const std::byte*>(row);
    rows_.insert(rows_.end(), begin, begin + bytes);
    rows_.resize(rows_.size() + width - bytes);
    if (++count_ % kCancelEvery == 0) Flush();
  }
  void Flush() {
    progress_->ThrowIfCancelled();
    out_->Append(rows_);
    rows_.clear();
  }

 private:
  store::MatrixWriter* out_;
  Progress* progress_;
  std::vector<std::byte> rows_;
  uint64_t count_ = 0;
};

}  // namespace

IntegerIdCollector::IntegerIdCollector(const Resources& resources)
    : resources_(resources),
      // Half of the memory: the other half is for the old table while it grows, and for sorting.
      most_slots_(std::max(std::bit_floor(resources.memory / 2 / sizeof(int64_t)), kFirstSlots)),
      slots_(kFirstSlots, kFree),
      sides_(kFirstSlots) {}

void IntegerIdCollector::Add(std::span<const int64_t> ids, uint8_t sides) {
  constexpr size_t kAhead = 16;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (2 * used_ >= slots_.size()) {
      if (slots_.size() < most_slots_) {
        Grow();
      } else {
        Spill();
      }
    }
    if (i + kAhead < ids.size()) {
      __builtin_prefetch(&slots_[base::HashId(ids[i + kAhead]) & (slots_.size() - 1)], 1);
    }
    Insert(ids[i], sides);
  }
}

void IntegerIdCollector::Insert(int64_t id, uint8_t sides) {
  if (id == kFree) {
    has_marker_ = true;
    marker_sides_ |= sides;
    return;
  }
  const uint64_t mask = slots_.size() - 1;
  uint64_t at = base::HashId(id) & mask;
  while (slots_[at] != kFree && slots_[at] != id) at = (at + 1) & mask;
  used_ += slots_[at] == kFree;
  slots_[at] = id;
  sides_[at] |= sides;
}

void IntegerIdCollector::Grow() {
  std::vector<int64_t> ids(2 * slots_.size(), kFree);
  std::vector<uint8_t> sides(ids.size());
  ids.swap(slots_);
  sides.swap(sides_);
  used_ = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != kFree) Insert(ids[i], sides[i]);
  }
}

std::vector<IntegerIdCollector::Entry> IntegerIdCollector::TakeSorted() {
  std::vector<Entry> entries;
  entries.reserve(used_ + 1);
  if (has_marker_) entries.push_back({kFree, marker_sides_});
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] != kFree) entries.push_back({slots_[i], sides_[i]});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.id < b.id; });
  std::fill(slots_.begin(), slots_.end(), kFree);
  std::fill(sides_.begin(), sides_.end(), uint8_t{0});
  used_ = 0;
  has_marker_ = false;
  marker_sides_ = 0;
  return entries;
}

void IntegerIdCollector::Spill() {
  if (!file_) file_ = std::make_unique<RunFile>(resources_.temp_dir);
  for (const Entry& entry : TakeSorted()) {
    file_->Append(std::as_bytes(std::span(&entry.id, 1)));
    file_->Append(std::as_bytes(std::span(&entry.sides, 1)));
  }
  runs_.push_back(file_->End());
}

IdCounts IntegerIdCollector::Write(const std::string& path, store::Role role, Progress* progress) {
  progress->Start("sorting ids", 0);
  store::MatrixWriter out = NewIntegers(path, role);
  RowBuffer rows(&out, progress);
  IdCounts counts;
  const auto add = [&](int64_t id, uint8_t sides) {
    counts.Add(sides);
    rows.Append(&id, sizeof id, sizeof id);
  };
  if (runs_.empty()) {
    for (const Entry& entry : TakeSorted()) add(entry.id, entry.sides);
  } else {
    Spill();
    slots_ = {};
    file_->Flush();
    MergeRuns<int64_t>(
        *file_, runs_,
        [](RunFile::Reader* reader, int64_t* id, uint8_t* sides) {
          return reader->Read(std::as_writable_bytes(std::span(id, 1))) &&
                 reader->Read(std::as_writable_bytes(std::span(sides, 1)));
        },
        add);
  }
  rows.Flush();
  out.Finish();
  return counts;
}

TextIdCollector::TextIdCollector(const Resources& resources)
    : resources_(resources),
      most_bytes_(std::max<uint64_t>(resources.memory / 3, kFirstSlots * 2 * sizeof(Entry))),
      slots_(kFirstSlots) {}

void TextIdCollector::Add(const base::TextView& ids, const RowPlaces& places, uint64_t first_row,
                          const std::string& what, uint8_t sides) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view text = ids[i];
    const bool has_zero = std::memchr(text.data(), '\0', text.size()) != nullptr;
    if (text.empty() || text.size() > kMaxBytes || has_zero) {
      const std::string article = what == "id" ? "an " : "a ";
      const std::string found =
          text.empty() ? "an empty " + what
          : has_zero   ? article + what + " with a zero byte, " + Shorten(text)
                       : article + what + " of " + std::to_string(text.size()) + " bytes";
      throw InputError(places.At(first_row + i) + ": found " + found +
                       ", expected a text of 1 to " + std::to_string(kMaxBytes) + " bytes");
    }
    if (2 * used_ >= slots_.size()) Grow();
    Insert(text, sides);
    if (arena_.size() + slots_.size() * sizeof(Entry) >= most_bytes_) Spill();
  }
}

void TextIdCollector::Insert(std::string_view text, uint8_t sides) {
  const uint64_t hash = base::HashId(text);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const uint64_t mask = slots_.size() - 1;
  uint64_t at = hash & mask;
  for (; slots_[at].bytes != 0; at = (at + 1) & mask) {
    if (slots_[at].tag == tag && TextOf(slots_[at]) == text) {
      slots_[at].sides |= sides;
      return;
    }
  }
  slots_[at] = {arena_.size(), static_cast<uint16_t>(text.size()), sides, tag};
  arena_.insert(arena_.end(), text.begin(), text.end());
  width_ = std::max(width_, text.size());
  ++used_;
}

void TextIdCollector::Grow() {
  std::vector<Entry> old(2 * slots_.size());
  old.swap(slots_);
  const uint64_t mask = slots_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.bytes == 0) continue;
    uint64_t at = base::HashId(TextOf(entry)) & mask;
    while (slots_[at].bytes != 0) at = (at + 1) & mask;
    slots_[at] = entry;
  }
}

std::vector<TextIdCollector::Entry> TextIdCollector::TakeSorted() {
  std::vector<Entry> entries;
  entries.reserve(used_);
  for (const Entry& entry : slots_) {
    if (entry.bytes != 0) entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(),
            [this](const Entry& a, const Entry& b) { return TextOf(a) < TextOf(b); });
  slots_.assign(kFirstSlots, {});
  used_ = 0;
  return entries;
}

void TextIdCollector::Spill() {
  if (!file_) file_ = std::make_unique<RunFile>(resources_.temp_dir);
  for (const Entry& entry : TakeSorted()) {
    const uint32_t head[] = {entry.bytes, entry.sides};
    file_->Append(std::as_bytes(std::span(head)));
    file_->Append(std::as_bytes(std::span(TextOf(entry))));
  }
  runs_.push_back(file_->End());
  arena_.clear();
}

IdCounts TextIdCollector::Write(const std::string& path, store::Role role, Progress* progress) {
  progress->Start("sorting ids", 0);
  store::MatrixWriter out = NewTexts(path, role, std::max<size_t>(width_, 1));
  RowBuffer rows(&out, progress);
  IdCounts counts;
  const auto add = [&](std::string_view text, uint32_t sides) {
    counts.Add(static_cast<uint8_t>(sides));
    rows.Append(text.data(), text.size(), width_);
  };
  if (runs_.empty()) {
    for (const Entry& entry : TakeSorted()) add(TextOf(entry), entry.sides);
  } else {
    Spill();
    file_->Flush();
    MergeRuns<std::string>(
        *file_, runs_,
        [](RunFile::Reader* reader, std::string* text, uint8_t* sides) {
          uint32_t head[2];
          if (!reader->Read(std::as_writable_bytes(std::span(head)))) return false;
          text->resize(head[0]);
          *sides = static_cast<uint8_t>(head[1]);
          return reader->Read(std::as_writable_bytes(std::span(*text)));
        },
        add);
  }
  rows.Flush();
  out.Finish();
  return counts;
}

}  // namespace graphzero::compile
