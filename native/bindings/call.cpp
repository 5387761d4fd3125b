#include "base/call.h"

#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/result_memory.h"
#include "base/threads.h"
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

// A call as a Python context manager: inside `with call:` the thread works for the call. What a
// thread has entered is kept by the thread and not by the call, so that a thread leaves what it has
// entered itself, even if another thread enters the same call meanwhile.
class EnteredCall {
 public:
  explicit EnteredCall(std::shared_ptr<base::Share> share) : call_(std::move(share)) {}

  base::Call& call() { return call_; }
  void Enter() { Entered().push_back(std::make_unique<base::CallScope>(&call_)); }
  static void Exit() {
    if (!Entered().empty()) Entered().pop_back();
  }

 private:
  static std::vector<std::unique_ptr<base::CallScope>>& Entered() {
    thread_local std::vector<std::unique_ptr<base::CallScope>> scopes;
    return scopes;
  }

  base::Call call_;
};

// An array for `count` ids whose memory counts as working memory.
nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> WorkIds(size_t count) {
  auto ids = std::make_shared<base::Buffer<int64_t>>();
  ids->Reserve(std::max<size_t>(count, 1));
  int64_t* const data = ids->data();
  return {data, {count}, KeepAlive(std::move(ids))};
}

// An array for a result. Its memory is kept for later results when the array dies.
nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> ResultBytes(size_t count) {
  std::shared_ptr<std::byte[]> memory = base::TakeResultMemory(count);
  auto* const data = reinterpret_cast<uint8_t*>(memory.get());
  return {data, {count}, KeepAlive(std::move(memory))};
}

}  // namespace

void BindCall(nb::module_& m) {
  nb::class_<base::Share>(m, "Share")
      .def("__init__", [](base::Share* self) { new (self) base::Share(); })
      .def_prop_ro("seconds", [](const base::Share& share) {
        return static_cast<double>(share.nanoseconds.load()) * 1e-9;
      });

  m.def("newcomers_seconds",
        [] { return static_cast<double>(base::NewcomersNanoseconds()) * 1e-9; });

  nb::class_<EnteredCall>(m, "Call")
      .def(nb::init<std::shared_ptr<base::Share>>(), "share"_a)
      .def("stop", [](EnteredCall& self) { self.call().Stop(); })
      .def_prop_ro("stopped", [](EnteredCall& self) { return self.call().stopped(); })
      .def_prop_ro("needed", [](EnteredCall& self) { return self.call().needed(); })
      .def(
          "reserve", [](EnteredCall& self, uint64_t bytes) { return self.call().Reserve(bytes); },
          "byte_size"_a, nb::call_guard<GilRelease>())
      .def("let_go", [](EnteredCall& self) { self.call().LetGo(); })
      .def("__enter__", [](EnteredCall& self) { self.Enter(); })
      .def(
          "__exit__",
          [](EnteredCall&, const nb::object&, const nb::object&, const nb::object&) {
            EnteredCall::Exit();
          },
          "kind"_a.none(), "error"_a.none(), "traceback"_a.none());

  nb::class_<base::WorkMemoryUsage>(m, "WorkMemoryUsage")
      .def_ro("limit", &base::WorkMemoryUsage::limit)
      .def_ro("used", &base::WorkMemoryUsage::used)
      .def_ro("idle", &base::WorkMemoryUsage::idle);
  m.def("set_work_limit", &base::SetWorkLimit, "byte_size"_a);
  m.def("set_work_claim", &base::SetWorkClaim, "byte_size"_a);
  m.def("work_memory", &base::GetWorkMemory);
  m.def("calls_at_disk", &base::CallsAtDisk);
  m.def("work_ids", &WorkIds, "count"_a);
  m.def("result_bytes", &ResultBytes, "count"_a);
  m.def("result_memory_kept", &base::ResultMemoryKept);
  m.def("check_stopped", &base::CheckStopped);
  m.def("return_freed_memory", &base::ReturnFreedMemory,
        "Lets large blocks go back to the system when they are freed, in this whole process.");
}

}  // namespace graphzero::bindings
