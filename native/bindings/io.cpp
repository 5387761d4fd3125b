#include <nanobind/stl/string.h>

#include "bindings/bindings.h"
#include "io/faults.h"
#include "io/read_queue.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {

void BindIo(nb::module_& m) {
  nb::class_<io::EngineChoice>(m, "IoEngine")
      .def_ro("name", &io::EngineChoice::name)
      .def_ro("reason", &io::EngineChoice::reason);
  m.def("io_engine", [] { return io::ChosenEngine(); });

  m.def("disk_waits", &io::DiskWaits);

  // For tests.
  m.def(
      "set_read_fault",
      [](const std::string& path_suffix, int64_t result, uint64_t begin, uint64_t end,
         uint64_t times) { io::SetFault({path_suffix, begin, end, result, times}); },
      "path_suffix"_a, "result"_a, nb::kw_only(), "begin"_a = 0, "end"_a = UINT64_MAX,
      "times"_a = UINT64_MAX);
  m.def("clear_read_faults", &io::ClearFaults);
}

}  // namespace graphzero::bindings
