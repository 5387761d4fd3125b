// Many small programs over one file, each of which reads a place, looks at it, and then knows the
// next: walks, searches, rejections. Programs are coroutines that wait for their reads side by
// side; what all of them wait for is read in one round, at full depth.
//
//   Reading<void> Walk(ReadRounds& rounds, ...) {
//     uint64_t value;
//     co_await rounds.Read(place, sizeof(value), &value);
//     ...
//   }
//   rounds.Run(count, [&](size_t i) { return Walk(rounds, i); });
//
// Everything happens in the calling thread, one program at a time, so programs share state freely
// between two reads. What they read may not fit into memory at once: see Load().
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "io/range_read.h"
#include "sample/staged_topology.h"

namespace graphzero::sample {

// A program, or a part of one that another awaits: co_await gives what it returns, or throws what
// it threw. Starts when awaited. Arguments that are references must outlive it.
template <class T>
class [[nodiscard]] Reading {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  Reading(Reading&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Reading& operator=(Reading&&) = delete;
  ~Reading() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().awaiting = awaiting;
    return handle_;
  }
  T await_resume() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return handle_.promise().Take();
  }

 private:
  struct BackToAwaiting {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle ended) noexcept {
      return ended.promise().awaiting;
    }
    void await_resume() const noexcept {}
  };

  struct Promise {
    std::coroutine_handle<> awaiting;
    std::exception_ptr error;

    Reading get_return_object() {
      return Reading(Handle::from_promise(static_cast<promise_type&>(*this)));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    BackToAwaiting final_suspend() const noexcept { return {}; }
    void unhandled_exception() { error = std::current_exception(); }
  };

  explicit Reading(Handle handle) : handle_(handle) {}

  Handle handle_;
};

template <class T>
struct Reading<T>::promise_type : Reading<T>::Promise {
  std::optional<T> value;
  void return_value(T given) { value.emplace(std::move(given)); }
  T Take() { return std::move(*value); }
};

template <>
struct Reading<void>::promise_type : Reading<void>::Promise {
  void return_void() {}
  void Take() {}
};

// Used by one thread, inside a ThreadLease, which it lends to others while it reads.
class ReadRounds {
 public:
  explicit ReadRounds(const StagedTopology& staged) : staged_(staged) {}
  ReadRounds(const ReadRounds&) = delete;
  ReadRounds& operator=(const ReadRounds&) = delete;
  ~ReadRounds();

  using Make = std::function<Reading<void>(size_t number)>;
  // Runs make(0) to make(count - 1), as many at a time as `side` says. If programs throw, ends all
  // of them and throws the exception of the first among those that threw in the same round; IoError
  // if a read fails; it cannot be used again then.
  void Run(size_t count, size_t side, const Make& make);

  // Awaitable: copies `bytes` bytes of the file, at a place given by its address in the mapping, to
  // `to`, which belongs to the program.
  auto Read(const void* place, size_t bytes, void* to) {
    struct Awaitable {
      ReadRounds& rounds;
      io::WantedRange range;
      bool await_ready() const noexcept { return range.bytes == 0; }
      void await_suspend(std::coroutine_handle<> program) {
        rounds.reads_.push_back(range);
        rounds.readers_.push_back(program);
      }
      void await_resume() const noexcept {}
    };
    return Awaitable{*this, {staged_.OffsetOf(place), bytes, static_cast<std::byte*>(to)}};
  }

  // Ranges that belong together, up to three.
  static constexpr size_t kMostRanges = 3;
  using Ranges = std::array<std::span<const std::byte>, kMostRanges>;

  // Awaitable: gives copies of whole ranges of the mapping, which may be long (the rows of hubs):
  // so many programs get theirs at a time as kLoadBytes have room for, those that want the same
  // share one copy. The copies are gone when the program waits again. A single request may be
  // longer than that: memory follows the longest row.
  auto Load(const Ranges& ranges) {
    struct Awaitable : Wanted {
      ReadRounds& rounds;
      bool await_ready() const noexcept { return Bytes() == 0; }
      void await_suspend(std::coroutine_handle<> waiting) {
        program = waiting;
        rounds.loads_.push_back(this);
      }
      Ranges await_resume() const noexcept { return ranges; }

      Awaitable(ReadRounds& of, const Ranges& wanted) : Wanted{wanted, nullptr}, rounds(of) {}
    };
    return Awaitable(*this, ranges);
  }

  static constexpr size_t kLoadBytes = size_t{16} << 20;
  // Programs under way, unless there is a reason for fewer: enough that a round keeps a disk busy
  // to its end and that programs on the same pages share reads; each takes a kilobyte or two.
  static constexpr size_t kSide = 8192;

 private:
  struct Root;  // the outermost coroutine of a program

  // A request of Load(): in the mapping, then in memory.
  struct Wanted {
    Ranges ranges;
    std::coroutine_handle<> program;

    size_t Bytes() const {
      size_t bytes = 0;
      for (const auto& range : ranges) bytes += range.size();
      return bytes;
    }
  };

  Root Start(Reading<void> program, size_t number);
  void RunReads();
  void RunLoads();

  const StagedTopology& staged_;
  std::vector<io::WantedRange> reads_;
  std::vector<std::coroutine_handle<>> readers_;  // one for each of reads_
  std::vector<Wanted*> loads_;
  base::Buffer<std::byte> loaded_;              // of the programs that got theirs last
  std::vector<std::coroutine_handle<>> roots_;  // of the programs under way
  size_t failed_number_ = SIZE_MAX;
  std::exception_ptr error_;
};

}  // namespace graphzero::sample
