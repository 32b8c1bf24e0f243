#include "quota/unit_rules.h"

#include <algorithm>

#include "quota/exact.h"

namespace offcut::quota {
namespace {

constexpr std::int64_t kMicro = 1'000'000;

void Add(Quantities& to, const std::string& resource, std::int64_t amount) {
  std::int64_t& sum = to[resource];
  sum = SaturatingAdd(sum, amount);
}

}  // namespace

Quantities Convert(const Quantities& request, std::span<const UnitRule> rules) {
  Quantities charged;
  for (const auto& [resource, amount] : request) {
    const auto rule = std::ranges::find(rules, resource, &UnitRule::input);
    if (rule == rules.end() || rule->retain) Add(charged, resource, amount);
    if (rule == rules.end()) continue;
    const auto multiplier = request.find(rule->multiply_by);
    const std::int64_t times = multiplier == request.end() ? 1 : multiplier->second;
    const std::int64_t quantity = SaturatingMul(amount, times);
    for (const auto& [unit, factor_micro] : rule->factors_micro) {
      Add(charged, unit, Ceiling({Wide{quantity} * factor_micro, kMicro}));
    }
  }
  return charged;
}

}  // namespace offcut::quota
