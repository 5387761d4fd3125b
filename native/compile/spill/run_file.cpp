#include "compile/spill/run_file.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace graphzero::compile {
namespace {

constexpr size_t kWriteBuffers = 4;
// Buffer size of a reader. Small, because a merge has one reader for each run.
constexpr size_t kReadBytes = size_t{64} << 10;

}  // namespace

RunFile::RunFile(const std::string& temp_dir)
    : file_(base::FileWriter::CreateTemporary(temp_dir, kWriteBuffers)) {}

void RunFile::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (!buffer_) buffer_ = file_->TakeBuffer();
    const size_t now = std::min(bytes.size(), base::FileWriter::kBufferSize - used_);
    std::memcpy(buffer_.get() + used_, bytes.data(), now);
    used_ += now;
    bytes = bytes.subspan(now);
    if (used_ == base::FileWriter::kBufferSize) WriteBuffer();
  }
}

RunFile::Run RunFile::End() {
  const Run run{run_begin_, end_ + used_ - run_begin_};
  if (used_ != 0) WriteBuffer();
  run_begin_ = end_;
  return run;
}

void RunFile::WriteBuffer() {
  const size_t size = base::DivideUp(used_, base::kDirectAlign) * base::kDirectAlign;
  std::memset(buffer_.get() + used_, 0, size - used_);
  file_->Write(std::move(buffer_), size, end_);
  end_ += size;
  used_ = 0;
}

RunFile::Reader::Reader(const RunFile& file, Run run)
    : file_(file.file_.get()),
      at_(run.offset),
      end_(run.offset + run.bytes),
      buffer_(base::MakeAlignedBuffer(kReadBytes)) {}

bool RunFile::Reader::Read(std::span<std::byte> out) {
  while (!out.empty()) {
    if (used_ == filled_) {
      if (at_ >= end_) return false;
      filled_ = static_cast<size_t>(std::min<uint64_t>(kReadBytes, end_ - at_));
      const size_t whole = base::DivideUp(filled_, base::kDirectAlign) * base::kDirectAlign;
      file_->ReadBack(at_, {buffer_.get(), whole});
      at_ += filled_;
      used_ = 0;
    }
    const size_t now = std::min(out.size(), filled_ - used_);
    std::memcpy(out.data(), buffer_.get() + used_, now);
    used_ += now;
    out = out.subspan(now);
  }
  return true;
}

}  // namespace graphzero::compile
