// Threads that help calls through their parallel loops.
//
// All calls of a process share them; they are started when they are first needed and then stay. Not
// OpenMP: libgomp ends the process when the system refuses a thread (a control group's pids.max,
// `ulimit -u`), keeps a team for each thread that ever ran a loop, and its helpers spin for
// milliseconds after each.
#pragma once

#include <functional>

namespace graphzero::base {

// Calls work(0) on this thread and meanwhile work(1), work(2), ... up to work(helpers) on others,
// as soon as they are awake; returns when every call that began has ended. `work` shares a loop's
// items out as they are asked for, so that it does not matter how many helpers come, or whether any
// does. It must not throw. Not for a forked child, which has none of the threads.
void RunWithHelpers(int helpers, const std::function<void(int rank)>& work);

}  // namespace graphzero::base
