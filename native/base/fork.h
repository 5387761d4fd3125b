// What a forked child must not inherit.
//
// A child has one thread: the one that forked. Whatever the other threads of its parent were in the
// middle of stays as it was: a lock that one of them held is held for ever, the threads of a pool
// do not exist. So a child never uses what threads of its parent shared. It makes its own at first
// use, and leaves the parent's alone, which could not be destroyed safely either.
//
// The only fork handler increments a counter and does nothing else: there is no order of handlers,
// no lock to take before a fork, and no allocation in the middle of one.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace graphzero::base {

inline std::atomic<uint64_t> fork_count = 0;
// Registered while the library is loaded, before anything in it can be used.
[[maybe_unused]] inline const int fork_handler =
    ::pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });

// How many forks lie between the process that loaded the library and this one. An object that was
// made at another count belongs to an ancestor.
inline uint64_t ForkCount() { return fork_count.load(std::memory_order_relaxed); }

// One T for each process, made at first use and never destroyed. If T has a constructor from
// `const T*`, that receives the T of the parent process, or null if there is none. It may only read
// members that no thread changes, or members of which any value will do. Two threads may make a T
// at the same time; one of the two is then destroyed again. Meant for variables with static
// storage: it is constant-initialised.
template <class T>
class PerProcess {
 public:
  T& Get() {
    Made* const made = made_.load(std::memory_order_acquire);
    if (made != nullptr && made->forks == ForkCount()) [[likely]]
      return made->value;
    return Make(made);
  }

 private:
  struct Made {
    explicit Made(const Made* parents)
      requires std::is_constructible_v<T, const T*>
        : value(parents == nullptr ? nullptr : &parents->value) {}
    explicit Made(const Made*)
      requires(!std::is_constructible_v<T, const T*>)
    {}

    const uint64_t forks = ForkCount();
    T value;
  };

  T& Make(Made* parents) {
    Made* const own = new Made(parents);
    if (made_.compare_exchange_strong(parents, own)) return own->value;
    delete own;
    return parents->value;  // made by another thread, which was faster
  }

  std::atomic<Made*> made_ = nullptr;
};

}  // namespace graphzero::base
