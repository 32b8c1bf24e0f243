#include "api/kube_time.h"

#include <charconv>
#include <ctime>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace offcut::api {
namespace {

// Digits at a fixed place of a time.
std::optional<int> TimeField(std::string_view text, std::size_t start, std::size_t size) {
  if (text.size() < start + size) return std::nullopt;
  const std::string_view field = text.substr(start, size);
  if (field.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int value = 0;
  std::from_chars(field.data(), field.data() + field.size(), value);
  return value;
}

// Seconds east of UTC of "Z" or "+08:00".
std::optional<int> ParseZone(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
    return std::nullopt;
  }
  const std::optional<int> hours = TimeField(text, 1, 2);
  const std::optional<int> minutes = TimeField(text, 4, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const int zone_s = *hours * 3600 + *minutes * 60;
  return text[0] == '-' ? -zone_s : zone_s;
}

}  // namespace

std::string MicroTimeText(std::chrono::system_clock::time_point time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time - second).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(second)), micros);
}

std::string TimeText(std::int64_t time_s) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(time_s)));
}

std::expected<std::int64_t, Error> ParseTime(std::string_view text) {
  const auto malformed = std::unexpected(Error{ErrorKind::kBadRequest, "is no RFC 3339 time"});
  // 2026-11-29T19:24:15Z
  const std::optional<int> year = TimeField(text, 0, 4);
  const std::optional<int> month = TimeField(text, 5, 2);
  const std::optional<int> day = TimeField(text, 8, 2);
  const std::optional<int> hour = TimeField(text, 11, 2);
  const std::optional<int> minute = TimeField(text, 14, 2);
  const std::optional<int> second = TimeField(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return malformed;
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' ||
      text[16] != ':') {
    return malformed;
  }
  std::string_view rest = text.substr(19);
  if (rest.starts_with('.')) {
    const std::size_t end = rest.find_first_not_of("0123456789", 1);
    if (end == 1 || end == std::string_view::npos) return malformed;
    rest.remove_prefix(end);
  }
  const std::optional<int> zone_s = ParseZone(rest);
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!zone_s || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return malformed;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t minutes = (days * 24 + *hour) * 60 + *minute;
  return minutes * 60 + *second - *zone_s;
}

std::int64_t NowSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace offcut::api
