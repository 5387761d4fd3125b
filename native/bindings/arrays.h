// Arrays and texts on their way between Python and C++.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "store/container/dtype.h"

namespace graphzero::bindings {

using AnyArray = nanobind::ndarray<nanobind::numpy>;
using IdArray =
    nanobind::ndarray<const int64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// Keeps `owner` alive as long as any view made with the capsule.
template <class T>
nanobind::capsule KeepAlive(std::shared_ptr<T> owner) {
  using Holder = std::shared_ptr<T>;
  return nanobind::capsule(new Holder(std::move(owner)),
                           [](void* p) noexcept { delete static_cast<Holder*>(p); });
}

// A NumPy array that owns the vector.
template <class T>
nanobind::ndarray<nanobind::numpy, T> TakeVector(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::ndarray<nanobind::numpy, T>(owned->data(), {owned->size()}, owner);
}

// Texts as Python hands them over: offsets, and the bytes of all of them. Throws
// std::invalid_argument for offsets that do not fit.
using TextBytes =
    nanobind::ndarray<const uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
inline base::TextView TextsOf(const IdArray& offsets, const TextBytes& data) {
  const base::TextView texts{{offsets.data(), offsets.size()},
                             {reinterpret_cast<const char*>(data.data()), data.size()}};
  texts.Check();
  return texts;
}

// bfloat16 has no NumPy type and travels as int16; the Python side gives it to torch as bfloat16.
nanobind::dlpack::dtype NumpyType(store::DType dtype);

}  // namespace graphzero::bindings
