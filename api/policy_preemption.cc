#include "api/policy_preemption.h"

#include <array>
#include <limits>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace offcut::api {
namespace {

using quota::Taking;

// kAny has no name: kube-scheduler preempts lower priorities alone.
constexpr std::array kTakings = {EnumName<Taking>{"lower-priority", Taking::kLower},
                                 EnumName<Taking>{"never", Taking::kNever}};

void ReadBand(const Value& value, const Place& place, ErrorList& errors,
              std::vector<scheduler::PriorityBand>& bands) {
  std::optional<std::int32_t> from;
  std::optional<std::int32_t> to;
  const auto bound = [&](std::string_view field, std::optional<std::int32_t>& out) {
    return Field{field, [&errors, &out](const Value& v, const Place& p) {
                   constexpr Range range{std::numeric_limits<std::int32_t>::min(),
                                         std::numeric_limits<std::int32_t>::max()};
                   out = ReadInteger(v, p, range, errors);
                 }};
  };
  ReadFields(value, place, errors, {bound("from", from), bound("to", to)});
  RequireFields(value, place, errors, {"from", "to"});
  if (!from || !to) return;
  if (*from > *to) {
    errors.Add(place, PolicyErrorCode::kOutOfRange,
               "got " + std::to_string(*from) + " to " + std::to_string(*to) +
                   ", allowed is a first priority that is not above the last");
  }
  bands.push_back({.from = *from, .to = *to});
}

}  // namespace

void ReadPreemption(const Value& value, const Place& place, ErrorList& errors,
                    scheduler::PreemptionRules& rules) {
  const auto taking = [&](std::string_view field, Taking& out) {
    return Field{field, [&errors, &out](const Value& v, const Place& p) {
                   ReadEnum(v, p, kTakings, errors, out);
                 }};
  };
  ReadFields(value, place, errors,
             {taking("withinTenant", rules.within_tenant),
              taking("fromBorrowers", rules.from_borrowers),
              {"fairSharing",
               [&](const Value& v, const Place& p) {
                 rules.fair_sharing = ReadBool(v, p, errors).value_or(rules.fair_sharing);
               }},
              {"protectedPriorities",
               [&](const Value& v, const Place& p) {
                 const List* list = ReadList(v, p, kMaxProtectedBands, "bands", errors);
                 if (list == nullptr) return;
                 for (std::size_t i = 0; i < list->size(); ++i) {
                   ReadBand((*list)[i], ItemPlace(p, *list, i), errors, rules.protected_bands);
                 }
               }},
              {"minRunSeconds", [&](const Value& v, const Place& p) {
                 rules.run_s_min =
                     ReadInt64(v, p, {0, kMaxRunSeconds}, errors).value_or(rules.run_s_min);
               }}});
}

nlohmann::ordered_json ToJson(const scheduler::PreemptionRules& rules) {
  nlohmann::ordered_json out;
  out["withinTenant"] = NameOf(rules.within_tenant, kTakings);
  out["fromBorrowers"] = NameOf(rules.from_borrowers, kTakings);
  out["fairSharing"] = rules.fair_sharing;
  out["protectedPriorities"] = nlohmann::ordered_json::array();
  for (const scheduler::PriorityBand& band : rules.protected_bands) {
    out["protectedPriorities"].push_back({{"from", band.from}, {"to", band.to}});
  }
  out["minRunSeconds"] = rules.run_s_min;
  return out;
}

}  // namespace offcut::api
