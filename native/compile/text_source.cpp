#include "compile/text_source.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "store/bytes.h"
#include "store/errors.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kExtend = uint64_t{64} << 10;

}  // namespace

TextSource::TextSource(const std::string& path)
    : path_(path), fd_(store::OpenForReading(path)), size_(store::RegularFileSize(fd_, path)) {
  (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  char mark[3] = {};
  if (size_ >= sizeof mark) {
    store::ReadExactly(fd_, 0, std::as_writable_bytes(std::span(mark)), path_);
    if (std::memcmp(mark, "\xef\xbb\xbf", sizeof mark) == 0) start_ = sizeof mark;
    if (std::memcmp(mark, "\x1f\x8b", 2) == 0) {
      throw InputError(path_ + ": found a gzip file, expected text; decompress it first");
    }
  }
}

bool TextSource::Next(TextChunk* chunk) {
  chunk->index = next_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t begin = chunk->index * kChunkBytes;
  if (begin >= size_) return false;
  Fill(chunk, begin, std::min(begin + kChunkBytes, size_));
  return true;
}

TextChunk TextSource::Peek(uint64_t offset, uint64_t length) const {
  TextChunk chunk;
  const uint64_t begin = std::min(offset, size_);
  Fill(&chunk, begin, begin + std::min(length, size_ - begin));
  return chunk;
}

// A chunk owns the lines that begin in [begin, end): a line begins at the file's start or after a
// newline. So it looks for a newline from begin - 1 on, and reads past `end` to finish its last
// line.
void TextSource::Fill(TextChunk* chunk, uint64_t begin, uint64_t end) const {
  begin = std::max(begin, start_);
  const uint64_t from = begin > start_ ? begin - 1 : begin;
  std::vector<char>& buffer = chunk->buffer;
  chunk->text = {};
  chunk->offset = begin;
  if (from >= end) return;
  const auto read_to = [&](uint64_t to) {
    const uint64_t have = buffer.size();
    buffer.resize(to - from);
    store::ReadExactly(fd_, from + have, std::as_writable_bytes(std::span(buffer)).subspan(have),
                       path_);
  };
  buffer.clear();
  buffer.reserve(end - from + kExtend + TextChunk::kPadding);
  read_to(end);

  size_t first = 0;
  if (begin > start_) {
    const void* newline = std::memchr(buffer.data(), '\n', buffer.size());
    if (newline == nullptr) return;  // inside a line that an earlier chunk owns
    first = static_cast<size_t>(static_cast<const char*>(newline) - buffer.data()) + 1;
    if (from + first >= end) return;
  }
  size_t last = buffer.size();  // one past the newline that ends the last line
  if (buffer.back() != '\n') {
    for (;;) {
      const uint64_t have = from + buffer.size();
      if (have == size_) {
        buffer.push_back('\n');
        last = buffer.size();
        break;
      }
      if (have - end > kMaxLineBytes) {
        throw InputError(path_ + " line " + std::to_string(LineNumber(end)) + ": longer than " +
                         std::to_string(kMaxLineBytes >> 20) + " MiB; is this a text file?");
      }
      const size_t searched = buffer.size();
      read_to(std::min(have + kExtend, size_));
      const void* newline = std::memchr(buffer.data() + searched, '\n', buffer.size() - searched);
      if (newline != nullptr) {
        last = static_cast<size_t>(static_cast<const char*>(newline) - buffer.data()) + 1;
        break;
      }
    }
  }
  buffer.resize(last + TextChunk::kPadding, '\0');
  std::fill(buffer.begin() + static_cast<ptrdiff_t>(last), buffer.end(), '\0');
  chunk->offset = from + first;
  chunk->text = {buffer.data() + first, last - first};
}

uint64_t TextSource::LineNumber(uint64_t offset) const {
  std::vector<char> buffer(uint64_t{1} << 20);
  uint64_t lines = 1;
  for (uint64_t at = 0; at < std::min(offset, size_);) {
    const size_t size = std::min<uint64_t>(buffer.size(), std::min(offset, size_) - at);
    store::ReadExactly(fd_, at, std::as_writable_bytes(std::span(buffer)).first(size), path_);
    lines += static_cast<uint64_t>(
        std::count(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(size), '\n'));
    at += size;
  }
  return lines;
}

std::string Shorten(std::string_view line) {
  constexpr size_t kMost = 60;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  std::string text(line.substr(0, kMost));
  for (char& c : text) {
    // Only ASCII is certain to be valid in the encoding of the message, whatever the file is in.
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte > 0x7e) c = '?';
  }
  return "\"" + text + (line.size() > kMost ? "...\"" : "\"");
}

}  // namespace graphzero::compile
