#include "bindings/run_job.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/team.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace graphzero::bindings {
namespace {

constexpr auto kReportEvery = std::chrono::milliseconds(100);

void Report(const nb::object& report, const compile::Progress& progress) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (!report.is_none()) report(progress.phase(), progress.done(), progress.total());
}

}  // namespace

void RunJob(const nb::object& report, const std::function<void(compile::Progress*)>& job) {
  compile::Progress progress;
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::exception_ptr job_error;
  std::exception_ptr report_error;
  {
    GilRelease release;
    const std::function<void(int)> run = [&](int) {
      try {
        job(&progress);
      } catch (...) {
        job_error = std::current_exception();
      }
      std::lock_guard lock(mutex);
      done = true;
      finished.notify_all();
    };
    const std::vector<std::jthread> worker = base::StartHelpers(1, run);
    // If the system refused a thread, the job runs here and reports nothing before its end.
    if (worker.empty()) run(0);
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, kReportEvery, [&] { return done; })) {
      if (report_error) continue;
      lock.unlock();
      try {
        GilAcquire acquire;
        Report(report, progress);
      } catch (...) {
        report_error = std::current_exception();
        progress.Cancel();
      }
      lock.lock();
    }
  }
  if (report_error) std::rethrow_exception(report_error);
  if (job_error) std::rethrow_exception(job_error);
  Report(report, progress);
}

}  // namespace graphzero::bindings
