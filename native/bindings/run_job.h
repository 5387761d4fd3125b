// Runs a long job on a thread of its own, so that Python can show progress and take Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include "compile/job.h"

namespace graphzero::bindings {

// Calls job(progress) without the GIL while this thread calls report(phase, done, total) about ten
// times a second and once at the end; None reports nothing. Ctrl-C cancels the job and raises
// KeyboardInterrupt; an exception of `report` cancels it too and is raised.
void RunJob(const nanobind::object& report,
            const std::function<void(compile::Progress* progress)>& job);

}  // namespace graphzero::bindings
