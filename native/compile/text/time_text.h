// Dates and times in text -> integers since 1970-01-01T00:00:00Z.
//
// Reads the extended form of ISO 8601: 2013-01-31, 2013-01-31T05:17, 2013-01-31 05:17:30.25, where
// the latter two may have a zone: Z, +02:00, +0200 or +02. A time without a zone is UTC. Years have
// four digits and come first; 2013/01/31 is read too. Other orders are not read: 01/02/2013 may be
// a day in January or in February.
#pragma once

#include <cstdint>
#include <string_view>

namespace graphzero::compile {

enum class TimeUnit { kDay, kSecond, kMillisecond, kMicrosecond, kNanosecond };

enum class TimeStatus {
  kOk,
  kRounded,     // finer than the unit: rounded down
  kNotTime,     // another spelling, or a day or hour that does not exist
  kOutOfRange,  // int64 does not hold it in this unit
};

namespace time_text {

// Reads from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  // Exactly `count` digits.
  bool Digits(size_t count, int64_t* value) {
    if (rest_.size() < count) return false;
    *value = 0;
    for (size_t i = 0; i < count; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return false;
      *value = *value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return true;
  }
  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeAny(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Peek(std::string_view characters) const {
    return !rest_.empty() && characters.find(rest_.front()) != std::string_view::npos;
  }
  // Reads the digits after the point, at least one, as nanoseconds. Finer digits only set *rounded.
  bool Fraction(int64_t* nanoseconds, bool* rounded) {
    size_t count = 0;
    *nanoseconds = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++count) {
      const int64_t digit = rest_.front() - '0';
      if (count < 9) {
        *nanoseconds = *nanoseconds * 10 + digit;
      } else {
        *rounded |= digit != 0;
      }
      rest_.remove_prefix(1);
    }
    for (size_t i = count; i < 9; ++i) *nanoseconds *= 10;
    return count > 0;
  }

 private:
  std::string_view rest_;
};

inline bool IsLeapYear(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

inline int64_t DaysOfMonth(int64_t year, int64_t month) {
  constexpr int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[month - 1] + (month == 2 && IsLeapYear(year) ? 1 : 0);
}

// Days since 1970-01-01 in the Gregorian calendar. Counts in eras of 400 years that begin in March,
// so that the leap day is the last of its year.
inline int64_t DaysSince1970(int64_t year, int64_t month, int64_t day) {
  const int64_t y = year - (month <= 2 ? 1 : 0);
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

// Reads a zone as the seconds to add to reach UTC. False if there is no zone.
inline bool ParseZone(Scanner* scanner, int64_t* seconds) {
  *seconds = 0;
  if (scanner->TakeAny("Zz")) return true;
  const bool behind = scanner->Peek("-");
  if (!scanner->TakeAny("+-")) return false;
  int64_t hours = 0;
  int64_t minutes = 0;
  if (!scanner->Digits(2, &hours)) return false;
  const bool colon = scanner->Take(':');
  if ((colon || !scanner->done()) && !scanner->Digits(2, &minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  *seconds = (behind ? 1 : -1) * (hours * 3600 + minutes * 60);
  return true;
}

}  // namespace time_text

inline TimeStatus ParseTime(std::string_view text, TimeUnit unit, int64_t* value) {
  time_text::Scanner scanner(text);
  int64_t year, month, day;
  if (!scanner.Digits(4, &year)) return TimeStatus::kNotTime;
  const char between = scanner.Peek("/") ? '/' : '-';
  if (!scanner.Take(between) || !scanner.Digits(2, &month) || !scanner.Take(between) ||
      !scanner.Digits(2, &day)) {
    return TimeStatus::kNotTime;
  }
  if (month < 1 || month > 12 || day < 1 || day > time_text::DaysOfMonth(year, month)) {
    return TimeStatus::kNotTime;
  }
  int64_t seconds = time_text::DaysSince1970(year, month, day) * 86400;
  int64_t nanoseconds = 0;
  bool rounded = false;
  if (!scanner.done()) {
    int64_t hour, minute;
    int64_t second = 0;
    if (!scanner.TakeAny("Tt ") || !scanner.Digits(2, &hour) || !scanner.Take(':') ||
        !scanner.Digits(2, &minute)) {
      return TimeStatus::kNotTime;
    }
    if (scanner.Take(':')) {
      if (!scanner.Digits(2, &second)) return TimeStatus::kNotTime;
      if (scanner.TakeAny(".,") && !scanner.Fraction(&nanoseconds, &rounded)) {
        return TimeStatus::kNotTime;
      }
    }
    if (hour > 23 || minute > 59 || second > 59) return TimeStatus::kNotTime;
    (void)scanner.Take(' ');  // before the zone, as some programs write it
    int64_t zone = 0;
    if (!scanner.done() && (!time_text::ParseZone(&scanner, &zone) || !scanner.done())) {
      return TimeStatus::kNotTime;
    }
    seconds += hour * 3600 + minute * 60 + second + zone;
  }
  if (unit == TimeUnit::kDay) {
    const int64_t rest = (seconds % 86400 + 86400) % 86400;
    *value = (seconds - rest) / 86400;
    rounded |= rest != 0 || nanoseconds != 0;
    return rounded ? TimeStatus::kRounded : TimeStatus::kOk;
  }
  constexpr int64_t kBillion = 1'000'000'000;
  int64_t scale = 1;
  if (unit == TimeUnit::kMillisecond) scale = 1'000;
  if (unit == TimeUnit::kMicrosecond) scale = 1'000'000;
  if (unit == TimeUnit::kNanosecond) scale = kBillion;
  const int64_t step = kBillion / scale;  // nanoseconds of one unit
  rounded |= nanoseconds % step != 0;
  if (__builtin_mul_overflow(seconds, scale, value) ||
      __builtin_add_overflow(*value, nanoseconds / step, value)) {
    return TimeStatus::kOutOfRange;
  }
  return rounded ? TimeStatus::kRounded : TimeStatus::kOk;
}

}  // namespace graphzero::compile
