#include "api/policy_quota.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "api/closest_word.h"
#include "quota/amount.h"
#include "quota/exact.h"

namespace offcut::api {
namespace {

using Json = nlohmann::ordered_json;
using quota::QuotaSpec;

constexpr std::string_view kInstances = "instances";

// A quota's resources in the order in which they are printed; those that are not here, profiles,
// come last.
constexpr std::array kPlainResources = {quota::kDevices, quota::kMemoryMib, quota::kCores};

// The three things that are said of a pool, each an object of amounts.
struct QuotaMember {
  std::string_view field;
  std::optional<std::int64_t> QuotaSpec::* amount;
  Place QuotaPlace::* place;
};
constexpr std::array kQuotaMembers = {
    QuotaMember{"guarantee", &QuotaSpec::guarantee, &QuotaPlace::guarantee},
    QuotaMember{"borrowingLimit", &QuotaSpec::borrowing_limit, &QuotaPlace::borrowing_limit},
    QuotaMember{"lendingLimit", &QuotaSpec::lending_limit, &QuotaPlace::lending_limit}};

// A resource of the entry of a pool. Keys order as quotas are printed.
struct ResourceQuota {
  QuotaSpec quota;
  QuotaPlace place;
};
using ResourceKey = std::pair<std::size_t, std::string>;
using PoolQuotas = std::map<ResourceKey, ResourceQuota>;

ResourceKey KeyOf(std::string_view resource) {
  const auto* found = std::ranges::find(kPlainResources, resource);
  return {static_cast<std::size_t>(found - kPlainResources.begin()), std::string(resource)};
}

// All of `text`, decimal digits alone.
std::optional<std::int64_t> ParseDigits(std::string_view text) {
  std::int64_t number = 0;
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// "1/7" in 1/1400 of a GPU.
std::optional<std::int64_t> ParseFraction(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto numerator = ParseDigits(text.substr(0, slash));
  const auto denominator = ParseDigits(text.substr(slash + 1));
  if (!numerator || !denominator || *denominator < 1 || *denominator > kMaxGpuParts) {
    return std::nullopt;
  }
  // Its whole part, so that the product below does not overflow.
  if (*numerator / *denominator > kMaxQuotaGpus ||
      (*numerator / *denominator == kMaxQuotaGpus && *numerator % *denominator > 0)) {
    return std::nullopt;
  }
  return quota::DevicesOf(*numerator, *denominator);
}

std::optional<std::int64_t> ReadGpus(const Value& value, const Place& place, ErrorList& errors) {
  if (const auto* text = std::get_if<std::string>(&value.content)) {
    const auto devices = ParseFraction(*text);
    if (devices) return devices;
    errors.Add(place, PolicyErrorCode::kOutOfRange,
               "got " + Describe(value) +
                   ", allowed a fraction of a GPU, \"1/7\", or GPUs from 0 to " +
                   std::to_string(kMaxQuotaGpus));
    return std::nullopt;
  }
  const auto* real = std::get_if<double>(&value.content);
  const bool is_integer = std::holds_alternative<std::int64_t>(value.content) ||
                          (real != nullptr && *real == std::trunc(*real));
  if (!is_integer) {
    RefuseType(value, place,
               "GPUs as an integer from 0 to " + std::to_string(kMaxQuotaGpus) +
                   ", or a fraction as a string: \"1/2\"",
               errors);
    return std::nullopt;
  }
  const auto gpus = ReadInt64(value, place, {0, kMaxQuotaGpus}, errors);
  return gpus ? std::optional(quota::DevicesOf(*gpus, 1)) : std::nullopt;
}

// Notes that `resource` is said, with what is read of it.
void TakeAmount(const Value& value, const Place& place, std::string_view resource,
                const QuotaMember& member, ErrorList& errors, PoolQuotas& quotas) {
  auto [entry, is_new] = quotas.try_emplace(KeyOf(resource));
  if (is_new) entry->second.quota.resource = resource;
  entry->second.place.*member.place = place;
  if (std::holds_alternative<std::monostate>(value.content)) return;
  entry->second.quota.*member.amount =
      resource == quota::kDevices ? ReadGpus(value, place, errors)
                                  : ReadInt64(value, place, {0, quota::kAmountMax}, errors);
}

// As charges have it: "1g.10gb" or "1g.10gb+me", and not "1g.10gb.me" as in names of resources.
bool IsProfileName(std::string_view text) {
  if (text.size() > kMaxNameBytes) return false;
  const auto skip_number = [&text] {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(digits);
    return digits > 0;
  };
  const auto skip = [&text](std::string_view word) {
    const bool is_there = text.starts_with(word);
    if (is_there) text.remove_prefix(word.size());
    return is_there;
  };
  if (!skip_number() || !skip("g.") || !skip_number() || !skip("gb")) return false;
  if (text.empty()) return true;
  return text.size() > 1 && (text.front() == '+' || text.front() == '-') &&
         std::ranges::all_of(text, [](char c) { return IsNameCharacter(c) || c == '+'; });
}

void ReadInstances(const Value& value, const Place& place, const QuotaMember& member,
                   ErrorList& errors, PoolQuotas& quotas) {
  const auto* object = std::get_if<Object>(&value.content);
  if (object == nullptr) {
    return RefuseType(value, place, "an object of MIG profiles with numbers of instances", errors);
  }
  if (object->empty()) {
    errors.Add(place, PolicyErrorCode::kMissingField, "must name a profile");
  }
  if (object->size() > kMaxQuotaProfiles) {
    errors.Add(place, PolicyErrorCode::kTooLarge,
               "got " + std::to_string(object->size()) + " profiles, allowed " +
                   std::to_string(kMaxQuotaProfiles));
    return;
  }
  for (const Member& profile : *object) {
    const std::string pointer = ChildPointer(place.pointer, profile.key);
    if (!IsProfileName(profile.key)) {
      RefuseName(profile.key, {profile.position, pointer},
                 "a MIG profile as nvidia-smi names it: \"1g.10gb\", \"1g.10gb+me\"", errors);
      continue;
    }
    TakeAmount(profile.value, {profile.value.position, pointer}, profile.key, member, errors,
               quotas);
  }
}

void ReadAmounts(const Value& value, const Place& place, const QuotaMember& member,
                 ErrorList& errors, PoolQuotas& quotas) {
  const auto amount = [&](std::string_view resource) {
    return Field{resource, [&, resource](const Value& v, const Place& p) {
                   TakeAmount(v, p, resource, member, errors, quotas);
                 }};
  };
  ReadFields(value, place, errors,
             {amount(quota::kDevices),
              amount(quota::kMemoryMib),
              amount(quota::kCores),
              {kInstances, [&](const Value& v, const Place& p) {
                 ReadInstances(v, p, member, errors, quotas);
               }}});
  const auto* object = std::get_if<Object>(&value.content);
  if (object == nullptr || !object->empty()) return;
  errors.Add(place, PolicyErrorCode::kMissingField, "must name a resource");
}

// The pool's name; empty: it is wrong.
std::string ReadPoolName(const Value& value, const Place& place,
                         std::span<const std::string_view> pools, ErrorList& errors) {
  const std::string* name = ReadString(value, place, errors);
  if (name == nullptr) return {};
  if (std::ranges::find(pools, *name) != pools.end()) return *name;
  errors.Add(place, PolicyErrorCode::kUnknownValue, "there is no pool " + Quoted(*name),
             ClosestWord(*name, pools));
  return {};
}

// Adds the quotas of one entry.
void ReadPoolQuotas(const Value& value, const Place& place, std::span<const std::string_view> pools,
                    ErrorList& errors, QuotasRead& out) {
  std::string pool;
  Place pool_place = place;
  PoolQuotas quotas;
  const auto amounts = [&](const QuotaMember& member) {
    return Field{member.field, [&](const Value& v, const Place& p) {
                   ReadAmounts(v, p, member, errors, quotas);
                 }};
  };
  ReadFields(value, place, errors,
             {{"pool",
               [&](const Value& v, const Place& p) {
                 pool = ReadPoolName(v, p, pools, errors);
                 pool_place = p;
               }},
              amounts(kQuotaMembers[0]),
              amounts(kQuotaMembers[1]),
              amounts(kQuotaMembers[2])});
  RequireFields(value, place, errors, {"pool"});
  const auto* object = std::get_if<Object>(&value.content);
  if (object == nullptr) return;
  if (std::ranges::none_of(kQuotaMembers, [&](const QuotaMember& member) {
        return FindMember(*object, member.field) != nullptr;
      })) {
    errors.Add(place, PolicyErrorCode::kMissingField,
               "must have one of guarantee, borrowingLimit and lendingLimit");
  }
  if (pool.empty()) return;
  if (std::ranges::find(out.quotas, pool, &QuotaSpec::pool) != out.quotas.end()) {
    errors.Add(pool_place, PolicyErrorCode::kNameConflict,
               "the tenant has quotas of pool " + Quoted(pool) + " already");
    return;
  }
  for (auto& [key, entry] : quotas) {
    entry.quota.pool = pool;
    for (const QuotaMember& member : kQuotaMembers) {
      Place& at = entry.place.*member.place;
      if (at.pointer.empty()) at = place;
    }
    out.quotas.push_back(std::move(entry.quota));
    out.places.push_back(std::move(entry.place));
  }
}

Json GpusJson(std::int64_t devices) {
  if (devices % quota::kWholeDevice == 0) return devices / quota::kWholeDevice;
  return GpusText(devices);
}

Json AmountJson(std::string_view resource, std::optional<std::int64_t> amount) {
  if (!amount) return nullptr;
  return resource == quota::kDevices ? GpusJson(*amount) : Json(*amount);
}

}  // namespace

QuotasRead ReadQuotas(const Value& value, const Place& place,
                      std::span<const std::string_view> pools, ErrorList& errors) {
  QuotasRead out;
  const List* list = ReadList(value, place, kMaxTenantQuotas, "quotas", errors);
  if (list == nullptr) return out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    ReadPoolQuotas((*list)[i], ItemPlace(place, *list, i), pools, errors, out);
  }
  return out;
}

Json ToJson(std::span<const QuotaSpec> quotas) {
  Json entries = Json::array();
  for (const QuotaSpec& quota : quotas) {
    auto entry = std::ranges::find_if(
        entries, [&](const Json& each) { return each.at("pool") == quota.pool; });
    if (entry == entries.end()) {
      entries.push_back({{"pool", quota.pool}});
      entry = std::prev(entries.end());
    }
    for (const QuotaMember& member : kQuotaMembers) {
      Json& amounts = (*entry)[std::string(member.field)];
      const bool is_plain = std::ranges::count(kPlainResources, quota.resource) > 0;
      Json& parent = is_plain ? amounts : amounts[std::string(kInstances)];
      parent[quota.resource] = AmountJson(quota.resource, quota.*member.amount);
    }
  }
  return entries;
}

std::string GpusText(std::int64_t devices) {
  const std::int64_t divisor = std::gcd(devices, quota::kWholeDevice);
  const std::int64_t parts = quota::kWholeDevice / divisor;
  const std::string numerator = std::to_string(devices / divisor);
  return parts == 1 ? numerator : numerator + "/" + std::to_string(parts);
}

}  // namespace offcut::api
