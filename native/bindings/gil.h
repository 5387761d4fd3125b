// The interpreter lock (GIL), given up while native code works and taken where it calls Python.
//
// Before Python 3.14, a daemon thread that asks for the lock after the interpreter has begun to end
// is ended by pthread_exit(). That unwinds the stack, which neither a destructor nor a frame of
// nanobind lets through: std::terminate() would abort a program that had only come to its end. Here
// such a thread stops instead, for good, as it does in Python 3.14, and the process ends without
// it. nanobind's gil_scoped_release and gil_scoped_acquire abort; use these two.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include "base/float_mode.h"

namespace graphzero::bindings {

[[noreturn]] inline void StopThread() {
  for (;;) ::pause();
}

// Gives the lock up until the end of its scope, in which the engine computes.
class GilRelease {
 public:
  GilRelease() : thread_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (abi::__forced_unwind&) {
      StopThread();
    }
  }

 private:
  PyThreadState* thread_;
  base::SubnormalScope subnormal_;
};

// Holds the lock until the end of its scope, on any thread.
class GilAcquire {
 public:
  GilAcquire() : state_(Ensure()) {}
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;
  ~GilAcquire() { PyGILState_Release(state_); }

 private:
  static PyGILState_STATE Ensure() {
    try {
      return PyGILState_Ensure();
    } catch (abi::__forced_unwind&) {
      StopThread();
    }
  }

  PyGILState_STATE state_;
};

}  // namespace graphzero::bindings
