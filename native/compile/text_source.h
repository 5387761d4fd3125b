// A text file handed out in pieces of whole lines, to several threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/file.h"

namespace graphzero::compile {

// Whole lines of a file. The text ends with '\n' (one is added at the end of a file that lacks it)
// and kPadding readable bytes follow, so that a parser may load eight bytes anywhere.
struct TextChunk {
  static constexpr size_t kPadding = 64;

  uint64_t index = 0;   // 0, 1, 2, ... in file order
  uint64_t offset = 0;  // of text[0] in the file
  std::string_view text;
  std::vector<char> buffer;  // owns the text; reused from chunk to chunk
};

// Thread-safe: any number of threads may call Next(), each with a chunk of its own. Reads with
// pread, not through a mapping: as fast, and a file that shrinks meanwhile is an error instead of
// SIGBUS.
class TextSource {
 public:
  // Small enough that a chunk and what is parsed from it stay in a core's cache.
  static constexpr uint64_t kChunkBytes = uint64_t{256} << 10;
  // A longer line is taken as a sign that the file is not text.
  static constexpr uint64_t kMaxLineBytes = uint64_t{64} << 20;

  explicit TextSource(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

  // Takes the next chunk; false at the end. Chunks may be empty. Throws IoError, InputError.
  bool Next(TextChunk* chunk);

  // Lets Next() begin again at the first chunk. Not while another thread is in Next().
  void Rewind() { next_ = 0; }

  // The lines that begin in [offset, offset + length), without taking part in Next(). For looking
  // at the head of a file and for samples.
  TextChunk Peek(uint64_t offset, uint64_t length) const;

  // 1-based number of the line that contains this byte. Reads the file up to there: for messages.
  uint64_t LineNumber(uint64_t offset) const;

 private:
  void Fill(TextChunk* chunk, uint64_t begin, uint64_t end) const;

  std::string path_;
  store::Fd fd_;
  uint64_t size_;
  uint64_t start_ = 0;  // after a byte order mark
  std::atomic<uint64_t> next_{0};
};

// At most 60 characters of a line, quoted, for a message.
std::string Shorten(std::string_view line);

}  // namespace graphzero::compile
