// The engine's exceptions. Each message is complete for a person: what is wrong, where, what was
// found, what was expected, and where it helps, what to do next. bindings/errors.cpp maps each type
// to one Python exception.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

namespace graphzero {

// A data file that is truncated, damaged, foreign, or newer than this reader.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  FormatError(const std::string& file, const std::string& place, const std::string& found,
              const std::string& expected)
      : std::runtime_error(file + ": " + place + ": found " + found + ", expected " + expected) {}
};

// Input that a user gave and can correct: a bad line in a CSV, a missing row, a wrong option.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A request that would have more edges than its caller allows.
class TooManyEdges : public InputError {
 public:
  using InputError::InputError;
};

// A system call that failed. Becomes the OSError subclass that belongs to `code`.
class IoError : public std::runtime_error {
 public:
  IoError(int code, const std::string& action, const std::string& path)
      : std::runtime_error(action + ": " + std::strerror(code)), code_(code), path_(path) {}
  int code() const { return code_; }
  const std::string& path() const { return path_; }

 private:
  int code_;
  std::string path_;
};

// The caller asked a running job to stop (Ctrl-C). What it had written is removed.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace graphzero
