// Texts as Python hands them over: offsets, and the bytes of all of them.
#pragma once

#include "bindings/arrays.h"
#include "compile/ids/id_collector.h"

namespace graphzero::bindings {

using TextBytes =
    nanobind::ndarray<const uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// Throws std::invalid_argument for offsets that do not fit.
inline base::TextView TextsOf(const IdArray& offsets, const TextBytes& data) {
  const base::TextView texts{{offsets.data(), offsets.size()},
                             {reinterpret_cast<const char*>(data.data()), data.size()}};
  texts.Check();
  return texts;
}

}  // namespace graphzero::bindings
