// Numbers that Python describes in messages.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <string>

#include "bindings/gil.h"
#include "bindings/python_owner.h"
#include "compile/job.h"

namespace graphzero::bindings {

// `describe` is a callable int -> str, or None. The result may be called without the GIL.
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
