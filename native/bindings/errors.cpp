// The one table from engine exceptions to Python exceptions. std::out_of_range (IndexError) and
// std::invalid_argument (ValueError) are mapped by nanobind itself.
#include "base/errors.h"

#include "base/call.h"
#include "bindings/bindings.h"

namespace nb = nanobind;

namespace graphzero::bindings {
namespace {

void RaiseOurs(const char* name, const char* message) {
  nb::object type = nb::module_::import_("graphzero.base.errors").attr(name);
  PyErr_SetString(type.ptr(), message);
}

void RaiseOsError(const IoError& e) {
  // OSError(errno, text, filename) picks the subclass: FileNotFoundError, PermissionError, ...
  nb::object error =
      nb::steal(PyObject_CallFunction(PyExc_OSError, "iss", e.code(), e.what(), e.path().c_str()));
  if (error.is_valid())
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void Translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const FormatError& e) {
    RaiseOurs("FormatError", e.what());
  } catch (const TooManyEdges& e) {
    RaiseOurs("TooManyEdges", e.what());
  } catch (const InputError& e) {
    RaiseOurs("InputError", e.what());
  } catch (const base::Stopped& e) {
    RaiseOurs("CallStopped", e.what());
  } catch (const base::NeedsMemory& e) {
    RaiseOurs("NeedsMemory", e.what());
  } catch (const IoError& e) {
    RaiseOsError(e);
  } catch (const Cancelled&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

void BindErrors(nb::module_&) { nb::register_exception_translator(Translate); }

}  // namespace graphzero::bindings
