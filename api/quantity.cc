#include "api/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "api/text_fields.h"

namespace offcut::api {
namespace {

// Beyond this many decimal places either way every number of kQuantityBytesMax digits is zero,
// rounded to one unit, or saturated, so that a larger exponent says nothing more.
constexpr int kExponentMax = 2 * static_cast<int>(kQuantityBytesMax);

constexpr std::size_t kInt64Digits = 19;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

// A number is `digits` x 10^`exponent` x 1024^`kibi_power`.
struct Decimal {
  std::string digits;  // no leading zero; empty: zero
  int exponent = 0;
  int kibi_power = 0;
};

struct Suffix {
  std::string_view text;
  int exponent;
  int kibi_power;
};

constexpr std::array kSuffixes = {
    Suffix{"", 0, 0},   Suffix{"n", -9, 0}, Suffix{"u", -6, 0}, Suffix{"m", -3, 0},
    Suffix{"k", 3, 0},  Suffix{"M", 6, 0},  Suffix{"G", 9, 0},  Suffix{"T", 12, 0},
    Suffix{"P", 15, 0}, Suffix{"E", 18, 0}, Suffix{"Ki", 0, 1}, Suffix{"Mi", 0, 2},
    Suffix{"Gi", 0, 3}, Suffix{"Ti", 0, 4}, Suffix{"Pi", 0, 5}, Suffix{"Ei", 0, 6},
};

// Cuts the leading digits off `text`.
std::string_view TakeDigits(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

// The power of ten of "e3", "E-2", "e+10"; nullopt where the text is none. Clamped.
std::optional<int> ParseExponent(std::string_view text) {
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return std::nullopt;
  text.remove_prefix(1);
  const bool is_negative = text.front() == '-';
  if (is_negative || text.front() == '+') text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  int exponent = 0;
  for (const char digit : text) exponent = std::min(kExponentMax, exponent * 10 + (digit - '0'));
  return is_negative ? -exponent : exponent;
}

bool ReadSuffix(std::string_view text, Decimal& number) {
  const auto* const suffix = std::ranges::find(kSuffixes, text, &Suffix::text);
  if (suffix != kSuffixes.end()) {
    number.exponent += suffix->exponent;
    number.kibi_power = suffix->kibi_power;
    return true;
  }
  const std::optional<int> exponent = ParseExponent(text);
  if (!exponent) return false;
  number.exponent += *exponent;
  return true;
}

void MultiplyBy1024(std::string& digits) {
  int carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    const int product = (*digit - '0') * 1024 + carry;
    *digit = static_cast<char>('0' + product % 10);
    carry = product / 10;
  }
  if (carry > 0) digits.insert(0, std::to_string(carry));
}

struct Rounded {
  std::int64_t value = 0;
  bool is_exact = true;
};

// `digits` x 10^`exponent`, rounded up, at most INT64_MAX.
Rounded RoundUp(std::string_view digits, int exponent) {
  if (digits.empty()) return {};
  const std::ptrdiff_t integer_digits = std::ssize(digits) + exponent;
  if (integer_digits <= 0) return {.value = 1, .is_exact = false};
  if (integer_digits > static_cast<std::ptrdiff_t>(kInt64Digits)) {
    // Whether a fraction was dropped does not matter to anyone at this size.
    return {.value = kInt64Max, .is_exact = true};
  }
  std::string integer(digits.substr(0, static_cast<std::size_t>(integer_digits)));
  integer.resize(static_cast<std::size_t>(integer_digits), '0');
  Rounded rounded;
  if (exponent < 0) {
    rounded.is_exact = digits.find_first_not_of('0', integer.size()) == std::string_view::npos;
  }
  const auto [end, code] =
      std::from_chars(integer.data(), integer.data() + integer.size(), rounded.value);
  if (code != std::errc{}) return {.value = kInt64Max, .is_exact = true};
  if (!rounded.is_exact && rounded.value < kInt64Max) ++rounded.value;
  return rounded;
}

}  // namespace

std::expected<Quantity, Error> ParseQuantity(std::string_view text) {
  const auto malformed = [&](std::string_view problem) {
    return std::unexpected(Error{ErrorKind::kBadRequest, std::string(problem)});
  };
  if (text.size() > kQuantityBytesMax) return malformed("quantity is too long");
  std::string_view rest = WithoutBlanks(text);
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);

  Decimal number;
  number.digits = TakeDigits(rest);
  bool has_digit = !number.digits.empty();
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::string_view fraction = TakeDigits(rest);
    has_digit = has_digit || !fraction.empty();
    number.digits += fraction;
    number.exponent = -static_cast<int>(fraction.size());
  }
  if (!has_digit || !ReadSuffix(rest, number)) {
    return malformed("\"" + std::string(text) + "\" is no quantity");
  }
  number.digits.erase(0, std::min(number.digits.find_first_not_of('0'), number.digits.size()));
  for (int power = 0; power < number.kibi_power; ++power) MultiplyBy1024(number.digits);

  const Rounded whole = RoundUp(number.digits, number.exponent);
  const Rounded milli = RoundUp(number.digits, number.exponent + 3);
  const std::int64_t sign = is_negative ? -1 : 1;
  return Quantity{
      .value = sign * whole.value, .milli = sign * milli.value, .is_whole = whole.is_exact};
}

}  // namespace offcut::api
