#include "api/text_fields.h"

#include <algorithm>
#include <charconv>

namespace offcut::api {
namespace {

bool IsLabelOfAnyLength(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

constexpr std::string_view kBlanks = " \t\r\n";

}  // namespace

std::string_view WithoutBlanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> SplitFields(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return fields;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> ParseField(std::string_view text, int max) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < 0 || value > max) return std::nullopt;
  return value;
}

bool IsDnsLabel(std::string_view text) {
  constexpr std::size_t bytes_max = 63;
  return text.size() <= bytes_max && IsLabelOfAnyLength(text);
}

// Kubernetes holds the labels of one to no length of their own.
bool IsDnsSubdomain(std::string_view text) {
  constexpr std::size_t bytes_max = 253;
  return text.size() <= bytes_max &&
         std::ranges::all_of(SplitFields(text, '.'), IsLabelOfAnyLength);
}

}  // namespace offcut::api
