// Python objects held by C++ threads.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "bindings/gil.h"

namespace graphzero::bindings {

// A reference that may be dropped by a thread without the GIL.
inline std::shared_ptr<nanobind::object> HoldObject(nanobind::object object) {
  return {new nanobind::object(std::move(object)), [](nanobind::object* held) {
            GilAcquire acquire;
            delete held;
          }};
}

}  // namespace graphzero::bindings
