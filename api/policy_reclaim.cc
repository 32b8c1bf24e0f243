#include "api/policy_reclaim.h"

#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

namespace offcut::api {
namespace {

using scheduler::ReclaimMode;

constexpr std::array kModes = {EnumName<ReclaimMode>{"off", ReclaimMode::kOff},
                               EnumName<ReclaimMode>{"dry-run", ReclaimMode::kDryRun},
                               EnumName<ReclaimMode>{"on", ReclaimMode::kOn}};

}  // namespace

void ReadReclaim(const Value& value, const Place& place, ErrorList& errors,
                 scheduler::ReclaimRules& rules, scheduler::DatedHoldRules& dated) {
  const auto number = [&errors](std::string_view field, Range range, auto& out) {
    return Field{field, [&errors, range, &out](const Value& v, const Place& p) {
                   if (const auto read = ReadInt64(v, p, range, errors)) {
                     out = static_cast<std::remove_reference_t<decltype(out)>>(*read);
                   }
                 }};
  };
  constexpr Range from_zero{0, kMaxReclaimSeconds};
  constexpr Range from_one{1, kMaxReclaimSeconds};
  constexpr Range evictions{1, kMaxEvictions};
  ReadFields(value, place, errors,
             {{"mode",
               [&](const Value& v, const Place& p) { ReadEnum(v, p, kModes, errors, rules.mode); }},
              number("afterSeconds", from_zero, rules.after_s),
              number("holdSeconds", from_one, rules.hold_s),
              number("maxBackoffSeconds", from_one, rules.backoff_s_max),
              number("windowSeconds", from_one, rules.window_s),
              number("maxEvictionsPerWorkload", evictions, rules.evictions_per_workload_max),
              number("maxEvictionsPerTenant", evictions, rules.evictions_per_tenant_max),
              number("dateAfterSeconds", from_zero, dated.after_s)});
}

nlohmann::ordered_json ToJson(const scheduler::ReclaimRules& rules,
                              const scheduler::DatedHoldRules& dated) {
  nlohmann::ordered_json out;
  out["mode"] = NameOf(rules.mode, kModes);
  out["afterSeconds"] = rules.after_s;
  out["holdSeconds"] = rules.hold_s;
  out["maxBackoffSeconds"] = rules.backoff_s_max;
  out["windowSeconds"] = rules.window_s;
  out["maxEvictionsPerWorkload"] = rules.evictions_per_workload_max;
  out["maxEvictionsPerTenant"] = rules.evictions_per_tenant_max;
  out["dateAfterSeconds"] = dated.after_s;
  return out;
}

}  // namespace offcut::api
