#include "compile/relabelled_text.h"

#include <algorithm>

namespace graphzero::compile {

RelabelledText::RelabelledText(IdText text, std::shared_ptr<const IdIndex> index)
    : text_(std::move(text)), index_(std::move(index)) {}

size_t RelabelledText::Read(std::span<char> out) {
  size_t filled = 0;
  while (filled < out.size() && (at_ < piece_.size() || Refill())) {
    const size_t now = std::min(out.size() - filled, piece_.size() - at_);
    std::copy_n(piece_.data() + at_, now, out.data() + filled);
    at_ += now;
    filled += now;
  }
  return filled;
}

// False at the end. The new piece may be empty: chunks of text may.
bool RelabelledText::Refill() {
  at_ = 0;
  piece_.clear();
  if (!text_.Next()) return false;
  rows_.clear();
  if (index_) FindRows();
  piece_ = text_.Rewritten(rows_);
  return true;
}

void RelabelledText::FindRows() {
  rows_.resize(text_.num_ids());
  if (text_.kind() == IdKind::kInteger) {
    index_->Find(text_.integers(), rows_.data());
  } else {
    index_->Find(text_.texts(), rows_.data());
  }
  const auto unknown = std::find(rows_.begin(), rows_.end(), kNoRow);
  if (unknown == rows_.end()) return;
  const auto id = static_cast<size_t>(unknown - rows_.begin());
  text_.Refuse(id, "found id " + Shorten(text_.texts()[id]) +
                       ", expected one that occurs in the edges or in a column");
}

}  // namespace graphzero::compile
