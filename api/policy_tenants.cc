#include "api/policy_tenants.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/closest_word.h"
#include "api/policy_pools.h"
#include "api/policy_quota.h"
#include "api/text_fields.h"
#include "quota/tenant_tree.h"

namespace offcut::api {
namespace {

using Json = nlohmann::ordered_json;
using quota::TenantFault;
using quota::TenantFaultKind;
using scheduler::IsolationLevel;
using scheduler::Sharers;
using scheduler::SpotUse;
using scheduler::Tenancy;
using scheduler::TenantSource;

constexpr std::array kSources = {EnumName<TenantSource>{"namespace", TenantSource::kNamespace},
                                 EnumName<TenantSource>{"kueue", TenantSource::kKueue}};
constexpr std::array kSharers = {EnumName<Sharers>{"anyone", Sharers::kAnyone},
                                 EnumName<Sharers>{"same-tenant", Sharers::kSameTenant},
                                 EnumName<Sharers>{"same-namespace", Sharers::kSameNamespace}};
constexpr std::array kLevels = {EnumName<IsolationLevel>{"none", IsolationLevel::kNone},
                                EnumName<IsolationLevel>{"process", IsolationLevel::kProcess},
                                EnumName<IsolationLevel>{"software", IsolationLevel::kSoftware},
                                EnumName<IsolationLevel>{"hardware", IsolationLevel::kHardware}};
constexpr std::array kSpotUses = {EnumName<SpotUse>{"allow", SpotUse::kAllow},
                                  EnumName<SpotUse>{"avoid", SpotUse::kAvoid},
                                  EnumName<SpotUse>{"never", SpotUse::kNever}};

// A tenant as the text has it, and where.
struct TenantText {
  quota::TenantSpec spec;
  scheduler::TenantRules rules;  // its own
  Place place;
  Place name_place;
  Place parent_place;
  Place queues_place;                    // empty: there are none
  std::vector<QuotaPlace> quota_places;  // as spec.quotas
  std::vector<NamedPlace> namespaces;
  std::vector<NamedPlace> label_namespaces;
  std::vector<NamedPlace> queues;
};

bool IsLabelValue(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, IsNameCharacter);
}

void ReadSharingRule(const Value& value, const Place& place, ErrorList& errors,
                     scheduler::SharingRule& rule) {
  ReadFields(value, place, errors,
             {{"sharers", [&](const Value& v,
                              const Place& p) { ReadEnum(v, p, kSharers, errors, rule.sharers); }},
              {"required", [&](const Value& v, const Place& p) {
                 rule.is_required = ReadBool(v, p, errors).value_or(rule.is_required);
               }}});
}

void ReadIsolation(const Section& section, ErrorList& errors, scheduler::IsolationRules& rules) {
  if (section.value == nullptr) return;
  const auto rule = [&](std::string_view field, scheduler::SharingRule& out) {
    return Field{field, [&errors, &out](const Value& v, const Place& p) {
                   ReadSharingRule(v, p, errors, out);
                 }};
  };
  ReadFields(*section.value, section.place, errors,
             {rule("timeSlicing", rules.time_slicing),
              rule("mps", rules.mps),
              rule("hami", rules.hami),
              {"memoryOvercommit", [&](const Value& v, const Place& p) {
                 rules.allows_memory_overcommit =
                     ReadBool(v, p, errors).value_or(rules.allows_memory_overcommit);
               }}});
}

// Requires: `is_name` and `allowed` say the same.
std::vector<NamedPlace> ReadNames(const Value& value, const Place& place, std::size_t count_max,
                                  std::string_view what, bool (*is_name)(std::string_view),
                                  std::string_view allowed, ErrorList& errors) {
  std::vector<NamedPlace> names;
  const List* list = ReadList(value, place, count_max, what, errors);
  if (list == nullptr) return names;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Place item = ItemPlace(place, *list, i);
    const std::string* name = ReadString((*list)[i], item, errors);
    if (name == nullptr) continue;
    if (!is_name(*name)) {
      RefuseName(*name, item, allowed, errors);
    } else if (!seen.insert(*name).second) {
      errors.Add(item, PolicyErrorCode::kNameConflict, Quoted(*name) + " is listed twice");
    } else {
      names.push_back({*name, item});
    }
  }
  return names;
}

std::vector<NamedPlace> ReadNamespaces(const Value& value, const Place& place, ErrorList& errors) {
  return ReadNames(value, place, kMaxTenantNamespaces, "namespaces", IsDnsLabel, kDnsLabelAllowed,
                   errors);
}

std::vector<NamedPlace> ReadQueues(const Value& value, const Place& place, ErrorList& errors) {
  return ReadNames(value, place, kMaxTenantQueues, "queues", IsDnsSubdomain,
                   "at most 253 lower case letters, digits, inner '-' and '.'", errors);
}

// Millionths.
void ReadWeight(const Value& value, const Place& place, ErrorList& errors, std::int64_t& out) {
  constexpr std::string_view allowed = "0, or a number from 0.000001 to 1000000";
  double weight = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value.content)) {
    weight = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&value.content)) {
    weight = *real;
  } else {
    return RefuseType(value, place, allowed, errors);
  }
  const bool is_too_small = weight < 0.000001 && weight != 0;
  if (is_too_small || weight > static_cast<double>(kMaxTenantWeight)) {
    errors.Add(place, PolicyErrorCode::kOutOfRange,
               "got " + Describe(value) + ", allowed " + std::string(allowed));
    return;
  }
  out = std::llround(weight * quota::kWeightOne);
}

void ReadTenantName(const Value& value, const Place& place, ErrorList& errors, std::string& out) {
  const std::string* name = ReadString(value, place, errors);
  if (name == nullptr) return;
  out = *name;  // right or wrong: a child that names it should not be told that it names nobody
  if (IsLabelValue(*name)) return;
  RefuseName(*name, place,
             "the value of a label: at most 63 letters, digits and inner '-', '_' and '.'", errors);
}

TenantText ReadTenant(const Value& value, const Place& place,
                      std::span<const std::string_view> pools, ErrorList& errors) {
  TenantText tenant{.place = place, .name_place = place, .parent_place = place};
  const auto name = [&errors](std::string_view field, std::string& out, Place& out_place) {
    return Field{field, [&](const Value& v, const Place& p) {
                   out_place = p;
                   ReadTenantName(v, p, errors, out);
                 }};
  };
  const auto namespaces = [&errors](std::string_view field, std::vector<NamedPlace>& out) {
    return Field{field,
                 [&](const Value& v, const Place& p) { out = ReadNamespaces(v, p, errors); }};
  };
  scheduler::TenantRules& rules = tenant.rules;
  ReadFields(
      value, place, errors,
      {name("name", tenant.spec.name, tenant.name_place),
       name("parent", tenant.spec.parent, tenant.parent_place),
       {"weight", [&](const Value& v,
                      const Place& p) { ReadWeight(v, p, errors, tenant.spec.weight_micro); }},
       namespaces("namespaces", tenant.namespaces),
       namespaces("labelNamespaces", tenant.label_namespaces),
       {"queues",
        [&](const Value& v, const Place& p) {
          tenant.queues = ReadQueues(v, p, errors);
          const auto* list = std::get_if<List>(&v.content);
          if (list != nullptr && !list->empty()) tenant.queues_place = p;
        }},
       {"minIsolation",
        [&](const Value& v, const Place& p) {
          ReadEnum(v, p, kLevels, errors, rules.isolation_min);
        }},
       {"spot",
        [&](const Value& v, const Place& p) { ReadEnum(v, p, kSpotUses, errors, rules.spot); }},
       {"quotas", [&](const Value& v, const Place& p) {
          QuotasRead read = ReadQuotas(v, p, pools, errors);
          tenant.spec.quotas = std::move(read.quotas);
          tenant.quota_places = std::move(read.places);
        }}});
  RequireFields(value, place, errors, {"name"});
  return tenant;
}

std::vector<TenantText> ReadTenants(const Section& section, const std::vector<NamedPlace>& pools,
                                    ErrorList& errors) {
  std::vector<TenantText> tenants;
  if (section.value == nullptr) return tenants;
  const List* list = ReadList(*section.value, section.place, quota::kTenantsMax, "tenants", errors);
  if (list == nullptr) return tenants;
  std::vector<std::string_view> names;
  names.reserve(names.size() + pools.size());
  for (const NamedPlace& pool : pools) names.emplace_back(pool.name);
  names.insert(names.end(), {scheduler::kDefaultPool, quota::kAllPools});
  for (std::size_t i = 0; i < list->size(); ++i) {
    tenants.push_back(ReadTenant((*list)[i], ItemPlace(section.place, *list, i), names, errors));
  }
  return tenants;
}

// What leads to a tenant leads to one alone.
void CheckOwners(const std::vector<TenantText>& tenants, std::string_view what,
                 std::vector<NamedPlace> TenantText::* names, ErrorList& errors) {
  std::map<std::string_view, std::string_view> owners;
  for (const TenantText& tenant : tenants) {
    for (const NamedPlace& each : tenant.*names) {
      const auto [owner, is_new] = owners.try_emplace(each.name, tenant.spec.name);
      if (is_new) continue;
      errors.Add(
          each.place, PolicyErrorCode::kNameConflict,
          Quoted(each.name) + " is a " + std::string(what) + " of tenant " + Quoted(owner->second));
    }
  }
}

void CheckQueues(const std::vector<TenantText>& tenants, TenantSource source, ErrorList& errors) {
  if (source == TenantSource::kKueue)
    return CheckOwners(tenants, "queue", &TenantText::queues, errors);
  for (const TenantText& tenant : tenants) {
    if (tenant.queues_place.pointer.empty()) continue;
    errors.Add(tenant.queues_place, PolicyErrorCode::kConflict,
               "goes with tenantSource kueue alone");
  }
}

std::string_view ClosestTenant(std::string_view name, const std::vector<TenantText>& tenants) {
  std::vector<std::string_view> names;
  for (const TenantText& tenant : tenants) {
    if (names.size() == kMaxTenantsSuggested) break;
    names.emplace_back(tenant.spec.name);
  }
  return ClosestWord(name, names);
}

std::string GuaranteesText(const TenantFault& fault, std::string_view resource) {
  const auto text = [&](std::int64_t amount) {
    return resource == quota::kDevices ? GpusText(amount) : std::to_string(amount);
  };
  return "the guarantees of its children add up to " + text(fault.children) + ", and its own is " +
         text(fault.stated);
}

// What all tenants together show to be wrong. What one shows alone has been told: a name that is
// not there, amounts out of range, a pool that is given twice.
void AddFault(const TenantFault& fault, const std::vector<TenantText>& tenants,
              const std::vector<quota::TenantSpec>& specs, const Place& section,
              ErrorList& errors) {
  if (errors.size() > kMaxPolicyErrors) return;  // it would be dropped, and has its price
  using enum TenantFaultKind;
  using enum PolicyErrorCode;
  const TenantText* tenant = fault.tenant < tenants.size() ? &tenants[fault.tenant] : nullptr;
  const std::string message = quota::Describe(fault, specs);
  switch (fault.kind) {
    case kNameRepeated:
      return errors.Add(tenant->name_place, kNameConflict, message);
    case kParentUnknown:
      return errors.Add(tenant->parent_place, kUnknownValue, message,
                        ClosestTenant(tenant->spec.parent, tenants));
    case kParentCycle:
    case kUnreachable:
      return errors.Add(tenant->parent_place, kConflict, message);
    case kTooDeep:
      return errors.Add(tenant->parent_place, kTooLarge, message);
    case kGuaranteesBeyondParent:
      return errors.Add(tenant->quota_places[*fault.quota].guarantee, kConflict,
                        GuaranteesText(fault, tenant->spec.quotas[*fault.quota].resource));
    case kTooManyTenants:
    case kTooManyCells:
      return errors.Add(section, kTooLarge, message);
    case kNameEmpty:
    case kWeightOutOfRange:
    case kQuotaUnnamed:
    case kQuotaRepeated:
    case kGuaranteeOutOfRange:
    case kBorrowingLimitOutOfRange:
    case kLendingLimitOutOfRange:
      assert(errors.size() > 0 && "an error of the text that its reader did not see");
      return;
  }
}

// The stricter of its own and its parent's.
std::vector<scheduler::TenantRules> Inherit(const quota::TenantTree& tree,
                                            const std::vector<TenantText>& tenants) {
  std::vector<scheduler::TenantRules> rules;
  for (std::size_t t = 0; t < tree.tenants.size(); ++t) {
    scheduler::TenantRules own = tenants[tree.tenants[t].spec].rules;
    if (const int parent = tree.Parent(static_cast<int>(t)); parent >= 0) {
      const scheduler::TenantRules& above = rules[static_cast<std::size_t>(parent)];
      own.isolation_min = std::max(own.isolation_min, above.isolation_min);
      own.spot = std::max(own.spot, above.spot);
    }
    rules.push_back(own);
  }
  return rules;
}

void MapNames(const std::vector<TenantText>& tenants, Tenancy& tenancy) {
  for (std::size_t t = 0; t < tenancy.tree->tenants.size(); ++t) {
    const TenantText& tenant = tenants[tenancy.tree->tenants[t].spec];
    const int index = static_cast<int>(t);
    for (const NamedPlace& each : tenant.namespaces) tenancy.by_namespace[each.name] = index;
    for (const NamedPlace& each : tenant.queues) tenancy.by_queue[each.name] = index;
    for (const NamedPlace& each : tenant.label_namespaces) {
      tenancy.by_label_in[each.name].push_back(index);
    }
  }
}

// False, and errors, where the tenants make no tree.
bool BuildTree(const std::vector<TenantText>& tenants, const Place& section, ErrorList& errors,
               Tenancy& tenancy) {
  for (const TenantText& tenant : tenants) tenancy.specs.push_back(tenant.spec);
  std::vector<std::string> pools{std::string(scheduler::kDefaultPool)};
  for (const scheduler::PoolSpec& pool : tenancy.pools) pools.push_back(pool.name);
  auto tree = quota::BuildTenantTree(tenancy.specs, pools);
  if (!tree) {
    for (const TenantFault& fault : tree.error()) {
      AddFault(fault, tenants, tenancy.specs, section, errors);
    }
    return false;
  }
  tenancy.tree = std::make_shared<const quota::TenantTree>(*std::move(tree));
  tenancy.rules = Inherit(*tenancy.tree, tenants);
  MapNames(tenants, tenancy);
  return true;
}

Json SharingJson(const scheduler::SharingRule& rule) {
  Json json;
  json["sharers"] = NameOf(rule.sharers, kSharers);
  json["required"] = rule.is_required;
  return json;
}

Json WeightJson(std::int64_t micro) {
  if (micro % quota::kWeightOne == 0) return micro / quota::kWeightOne;
  return static_cast<double>(micro) / static_cast<double>(quota::kWeightOne);
}

// The names that lead to each tenant of the tree.
struct NamesOfTenant {
  std::vector<std::string> namespaces;
  std::vector<std::string> label_namespaces;
  std::vector<std::string> queues;
};

std::vector<NamesOfTenant> NamesByTenant(const Tenancy& tenancy) {
  std::vector<NamesOfTenant> names(tenancy.tree->tenants.size());
  const auto of = [&](int tenant) -> NamesOfTenant& {
    return names[static_cast<std::size_t>(tenant)];
  };
  for (const auto& [name, tenant] : tenancy.by_namespace) of(tenant).namespaces.push_back(name);
  for (const auto& [name, tenant] : tenancy.by_queue) of(tenant).queues.push_back(name);
  for (const auto& [name, tenants] : tenancy.by_label_in) {
    for (const int tenant : tenants) of(tenant).label_namespaces.push_back(name);
  }
  return names;
}

Json TenantsJson(const Tenancy& tenancy) {
  const std::vector<NamesOfTenant> names = NamesByTenant(tenancy);
  Json tenants = Json::array();
  for (const quota::TenantSpec& spec : tenancy.specs) {
    const auto t = static_cast<std::size_t>(quota::FindTenant(*tenancy.tree, spec.name));
    Json tenant;
    tenant["name"] = spec.name;
    if (!spec.parent.empty()) tenant["parent"] = spec.parent;
    tenant["weight"] = WeightJson(spec.weight_micro);
    tenant["namespaces"] = names[t].namespaces;
    tenant["labelNamespaces"] = names[t].label_namespaces;
    tenant["queues"] = names[t].queues;
    tenant["minIsolation"] = NameOf(tenancy.rules[t].isolation_min, kLevels);
    tenant["spot"] = NameOf(tenancy.rules[t].spot, kSpotUses);
    tenant["quotas"] = ToJson(spec.quotas);
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

}  // namespace

std::shared_ptr<const Tenancy> ReadTenancy(const TenancySections& sections, ErrorList& errors) {
  Tenancy tenancy;
  const std::vector<NamedPlace> pools = ReadPools(sections.pools, errors, tenancy.pools);
  if (sections.tenant_source.value != nullptr) {
    ReadEnum(*sections.tenant_source.value, sections.tenant_source.place, kSources, errors,
             tenancy.source);
  }
  ReadIsolation(sections.isolation, errors, tenancy.isolation);
  const std::vector<TenantText> tenants = ReadTenants(sections.tenants, pools, errors);
  CheckOwners(tenants, "namespace", &TenantText::namespaces, errors);
  CheckQueues(tenants, tenancy.source, errors);
  if (!BuildTree(tenants, sections.tenants.place, errors, tenancy)) return nullptr;
  const bool is_said = sections.pools.value != nullptr || sections.isolation.value != nullptr ||
                       sections.tenants.value != nullptr;
  return is_said ? std::make_shared<const Tenancy>(std::move(tenancy)) : nullptr;
}

void PrintTenancy(const Tenancy& tenancy, Json& root) {
  assert(tenancy.specs.size() == tenancy.tree->tenants.size());
  root["pools"] = ToJson(tenancy.pools);
  root["tenantSource"] = NameOf(tenancy.source, kSources);
  Json& isolation = root["isolation"];
  isolation["timeSlicing"] = SharingJson(tenancy.isolation.time_slicing);
  isolation["mps"] = SharingJson(tenancy.isolation.mps);
  isolation["hami"] = SharingJson(tenancy.isolation.hami);
  isolation["memoryOvercommit"] = tenancy.isolation.allows_memory_overcommit;
  root["tenants"] = TenantsJson(tenancy);
}

}  // namespace offcut::api
