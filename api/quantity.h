// Kubernetes quantities: "95500m", "16Gi", "1.5", "2e3".
//
// What surprises: a count of devices may come in any of these spellings ("8k" of gpumem is 8000),
// and values beyond int64 are legal ("1e30"); they saturate.
// Source: Kubernetes, apimachinery pkg/api/resource (grammar, rounding up of Value, MilliValue).
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "api/error.h"

namespace offcut::api {

// A longer text is refused: the API server writes at most some twenty characters.
inline constexpr std::size_t kQuantityBytesMax = 256;

struct Quantity {
  std::int64_t value = 0;  // whole units, rounded away from zero; saturates
  std::int64_t milli = 0;  // thousandths, likewise
  bool is_whole = true;    // no fraction was rounded off `value`
  bool operator==(const Quantity&) const = default;
};

// Takes plain numbers with sign and decimal point, the suffixes n u m k M G T P E and Ki to Ei, and
// exponents ("1e3", "1E-2"); blanks around are dropped. Stricter than Kubernetes in one point: at
// least one digit is required, so "." and "+" are errors.
std::expected<Quantity, Error> ParseQuantity(std::string_view text);

}  // namespace offcut::api
