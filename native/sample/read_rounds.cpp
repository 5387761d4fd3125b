#include "sample/read_rounds.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/threads.h"

namespace graphzero::sample {
namespace {

// Every range starts where any number may.
size_t RoundedUp(size_t bytes) { return base::AlignUp(bytes, alignof(uint64_t)); }

}  // namespace

// Suspended at its end, until it is destroyed by whoever resumed it last.
struct ReadRounds::Root {
  struct promise_type {
    Root get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }  // Start() catches all
  };
  std::coroutine_handle<> handle;
};

ReadRounds::Root ReadRounds::Start(Reading<void> program, size_t number) {
  try {
    co_await program;
  } catch (...) {
    if (number < failed_number_) {
      failed_number_ = number;
      error_ = std::current_exception();
    }
  }
}

ReadRounds::~ReadRounds() {
  for (const std::coroutine_handle<> root : roots_) root.destroy();
}

void ReadRounds::Run(size_t count, size_t side, const Make& make) {
  size_t next = 0;
  for (;;) {
    base::CheckPoint();
    while (next < count && roots_.size() < side && !error_) {
      const Root root = Start(make(next), next);
      ++next;
      roots_.push_back(root.handle);
      root.handle.resume();
      if (!root.handle.done()) continue;
      root.handle.destroy();
      roots_.pop_back();
    }
    if (error_) std::rethrow_exception(error_);
    // Short reads first: what waits for long ones meanwhile becomes more, and shares more.
    if (!reads_.empty()) {
      RunReads();
    } else if (!loads_.empty()) {
      RunLoads();
    } else {
      return;
    }
    const auto ended = [](std::coroutine_handle<> root) {
      if (!root.done()) return false;
      root.destroy();
      return true;
    };
    std::erase_if(roots_, ended);
  }
}

void ReadRounds::RunReads() {
  {
    const base::ThreadLease::Pause pause;
    staged_.ReadRanges(reads_);
  }
  reads_.clear();
  std::vector<std::coroutine_handle<>> programs;
  programs.swap(readers_);
  for (const std::coroutine_handle<> program : programs) program.resume();
}

void ReadRounds::RunLoads() {
  // In the order of the file: those that want the same come together.
  std::stable_sort(loads_.begin(), loads_.end(), [](const Wanted* a, const Wanted* b) {
    return a->ranges[0].data() < b->ranges[0].data();
  });
  std::map<std::pair<const std::byte*, size_t>, size_t> places;  // of ranges in loaded_
  size_t bytes = 0;
  size_t taken = 0;
  for (; taken < loads_.size(); ++taken) {
    size_t more = 0;
    for (const auto& range : loads_[taken]->ranges) {
      if (!places.contains({range.data(), range.size()})) more += RoundedUp(range.size());
    }
    if (taken > 0 && bytes + more > kLoadBytes) break;
    for (const auto& range : loads_[taken]->ranges) {
      const bool fresh = places.try_emplace({range.data(), range.size()}, bytes).second;
      if (fresh) bytes += RoundedUp(range.size());
    }
  }
  if (loaded_.bytes() > 2 * kLoadBytes) loaded_ = {};  // a very long row blew it up
  loaded_.Reserve(bytes);
  std::vector<io::WantedRange> wanted;
  for (const auto& [range, place] : places) {
    wanted.push_back({staged_.OffsetOf(range.first), range.second, loaded_.data() + place});
  }
  {
    const base::ThreadLease::Pause pause;
    staged_.ReadRanges(wanted);
  }
  const std::vector<Wanted*> served(loads_.begin(), loads_.begin() + static_cast<ptrdiff_t>(taken));
  loads_.erase(loads_.begin(), loads_.begin() + static_cast<ptrdiff_t>(taken));
  for (Wanted* const load : served) {
    for (auto& range : load->ranges) {
      const size_t place = places.at({range.data(), range.size()});
      range = {loaded_.data() + place, range.size()};
    }
    load->program.resume();
  }
}

}  // namespace graphzero::sample
