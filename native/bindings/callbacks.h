// Python objects that C++ threads hold and call, with the GIL and without it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "bindings/gil.h"
#include "compile/job.h"

namespace graphzero::bindings {

// A reference that may be dropped by a thread without the GIL.
inline std::shared_ptr<nanobind::object> HoldObject(nanobind::object object) {
  return {new nanobind::object(std::move(object)), [](nanobind::object* held) {
            GilAcquire acquire;
            delete held;
          }};
}

// A function by which messages name a number (of a row, of a line). `describe` is a callable
// int -> str, or None. The result may be called without the GIL.
inline std::function<std::string(uint64_t)> DescriberOf(const nanobind::object& describe) {
  if (describe.is_none()) return {};
  const auto held = HoldObject(describe);
  return [held](uint64_t number) {
    GilAcquire acquire;
    return nanobind::cast<std::string>((*held)(number));
  };
}

inline compile::RowPlaces PlacesOf(const std::string& name, const nanobind::object& place) {
  return {name, DescriberOf(place)};
}

}  // namespace graphzero::bindings
