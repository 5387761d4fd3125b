// Text whose ids are being replaced, as a stream that parsers of plain text read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/id_index.h"
#include "compile/id_text.h"
#include "compile/text_source.h"

namespace graphzero::compile {

// Used by one thread at a time.
class RelabelledText final : public ByteStream {
 public:
  // An id becomes its row in `index`; without one, ids stay, and only columns are chosen.
  RelabelledText(IdText text, std::shared_ptr<const IdIndex> index);

  // Throws InputError also for an id that the index does not have.
  size_t Read(std::span<char> out) override;
  uint64_t stored_position() const override { return text_.input_units(); }

 private:
  bool Refill();
  void FindRows();

  IdText text_;
  std::shared_ptr<const IdIndex> index_;
  std::vector<int64_t> rows_;
  std::string piece_;
  size_t at_ = 0;  // in piece_
};

}  // namespace graphzero::compile
