// Threads that work beside their caller for the length of one call.
//
// The system may refuse to start a thread: a control group or `ulimit -u` bounds how many there may
// be. That is no reason to fail, because the caller works in any case: it goes on with as many
// helpers as it got.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace graphzero::base {

// Starts threads that call work(rank), for ranks from 1 to `count`, as many of them as can be had;
// ranks are given out in order. `work` must not throw, and must outlive the threads, which the
// destructor of the result waits for. They read mappings on behalf of a call (MappedAccess) if the
// thread that starts them does.
[[nodiscard]] std::vector<std::jthread> StartHelpers(int count,
                                                     const std::function<void(int rank)>& work);

}  // namespace graphzero::base
