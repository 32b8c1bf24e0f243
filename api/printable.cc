#include "api/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace offcut::api {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t size = 0;  // bytes; 0: the text does not begin with UTF-8
};

// Source: Unicode 15, table 3-7: no overlong forms, no surrogates, nothing beyond U+10FFFF.
Character FirstOf(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool is_overlong = code < (size == 4 ? 0x10000U : size == 3 ? 0x800U : 0x80U);
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return is_overlong || is_surrogate || code > 0x10FFFF ? Character{} : Character{code, size};
}

bool Steers(std::uint32_t code) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 6> ranges = {{
      {0x00, 0x1F},
      {0x7F, 0x9F},
      {0x061C, 0x061C},  // Arabic letter mark
      {0x200E, 0x200F},  // left-to-right and right-to-left marks
      {0x2028, 0x202E},  // separators, embeddings and overrides
      {0x2066, 0x2069},  // isolates
  }};
  return std::ranges::any_of(
      ranges, [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string Escaped(std::uint32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", code);
  }
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto [code, size] = FirstOf(text);
    if (size == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (Steers(code)) {
      result += Escaped(code);
    } else {
      result += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return result;
}

std::string PrintableLines(std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t end = text.find('\n');
    result += Printable(text.substr(0, end));
    if (end == std::string_view::npos) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string_view CutText(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace offcut::api
