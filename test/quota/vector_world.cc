#include "test/quota/vector_world.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace offcut::quota {
namespace {

using nlohmann::json;

std::optional<std::int64_t> OptionalInt(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<std::int64_t>();
}

// A Kubernetes quantity of the forms that weights have: "2", "0.5", "500m".
std::int64_t WeightMicro(const json& node) {
  const auto found = node.find("fairWeight");
  if (found == node.end() || found->is_null()) return kWeightOne;
  if (!found->is_string()) return ScaledNumber(*found, 6);
  std::string text = found->get<std::string>();
  const bool is_milli = !text.empty() && text.back() == 'm';
  if (is_milli) text.pop_back();
  return ScaledNumber(json::parse(text), is_milli ? 3 : 6);
}

}  // namespace

int PlacesOf(const json& number) {
  const std::string text = number.dump();
  const std::size_t exponent = text.find_first_of("eE");
  const std::size_t dot = text.find('.');
  const std::string digits =
      dot == std::string::npos ? "" : text.substr(dot + 1, exponent - dot - 1);
  int places = digits == "0" ? 0 : static_cast<int>(digits.size());
  if (exponent != std::string::npos) places -= std::stoi(text.substr(exponent + 1));
  return std::max(0, places);
}

std::int64_t ScaledNumber(const json& number, int places) {
  std::int64_t scale = 1;
  for (int i = 0; i < places; ++i) scale = SaturatingMul(scale, 10);
  const std::int64_t scaled = number.is_number_integer()
                                  ? SaturatingMul(number.get<std::int64_t>(), scale)
                                  : std::llround(static_cast<long double>(number.get<double>()) *
                                                 static_cast<long double>(scale));
  if (scaled < 0 || scaled == kUnlimited) {
    throw std::runtime_error("out of range: " + number.dump());
  }
  return scaled;
}

void KueueWorld::AddTenant(const std::string& name, const std::string& parent,
                           std::int64_t weight_micro, bool is_queue) {
  tenants_.push_back({.name = name, .parent = parent, .weight_micro = weight_micro, .quotas = {}});
  if (is_queue) queues_.push_back(name);
}

TenantSpec& KueueWorld::Find(std::string_view name) {
  const auto found = std::ranges::find(tenants_, name, &TenantSpec::name);
  if (found == tenants_.end()) throw std::runtime_error("no such tenant: " + std::string(name));
  return *found;
}

void KueueWorld::AddQuota(const std::string& tenant, QuotaSpec nominal) {
  Find(tenant).quotas.push_back(std::move(nominal));
}

KueueWorld KueueWorld::Read(const json& vector) {
  KueueWorld world;
  std::set<std::string> known;
  const auto quotas = [&](const json& node) {
    for (const json& quota : node.value("quotas", json::array())) {
      world.AddQuota(node.at("name"), {.pool = quota.at("flavor"),
                                       .resource = quota.at("resource"),
                                       .guarantee = quota.at("nominal").get<std::int64_t>(),
                                       .borrowing_limit = OptionalInt(quota, "borrowingLimit"),
                                       .lending_limit = OptionalInt(quota, "lendingLimit")});
    }
  };
  for (const json& cohort : vector.value("cohorts", json::array())) {
    world.AddTenant(cohort.at("name"), cohort.value("parent", ""), WeightMicro(cohort), false);
    known.insert(cohort.at("name").get<std::string>());
    quotas(cohort);
  }
  std::vector<std::string> mentioned;
  for (const json& cohort : vector.value("cohorts", json::array())) {
    mentioned.push_back(cohort.value("parent", ""));
  }
  for (const json& queue : vector.value("queues", json::array())) {
    world.AddTenant(queue.at("name"), queue.value("cohort", ""), WeightMicro(queue), true);
    mentioned.push_back(queue.value("cohort", ""));
    quotas(queue);
  }
  for (const std::string& name : mentioned) {
    if (name.empty() || !known.insert(name).second) continue;
    world.AddTenant(name, "", kWeightOne, false);
  }
  return world;
}

std::shared_ptr<const TenantTree> KueueWorld::Tree() const {
  std::vector<TenantSpec> specs = tenants_;
  std::set<std::pair<std::string, std::string>> cells;
  for (const TenantSpec& spec : specs) {
    for (const QuotaSpec& quota : spec.quotas) cells.emplace(quota.pool, quota.resource);
  }
  for (TenantSpec& spec : specs) {
    for (const auto& [pool, resource] : cells) {
      const bool is_queue = std::ranges::find(queues_, spec.name) != queues_.end();
      const bool is_named = std::ranges::any_of(spec.quotas, [&](const QuotaSpec& quota) {
        return quota.pool == pool && quota.resource == resource;
      });
      if (is_queue && !is_named) spec.quotas.push_back({pool, resource, 0, {}, {}});
    }
  }
  // What each has below it, added to what it has itself. Children may stand anywhere in the list.
  std::vector<TenantSpec> result = specs;
  const auto add_below = [&](TenantSpec& into, const auto& self, const std::string& name) -> void {
    for (const TenantSpec& child : specs) {
      if (child.parent != name || name.empty()) continue;
      for (const QuotaSpec& quota : child.quotas) {
        const auto own = std::ranges::find_if(into.quotas, [&](const QuotaSpec& q) {
          return q.pool == quota.pool && q.resource == quota.resource;
        });
        if (own != into.quotas.end()) *own->guarantee += quota.guarantee.value_or(0);
      }
      self(into, self, child.name);
    }
  };
  for (TenantSpec& spec : result) add_below(spec, add_below, spec.name);
  auto tree = BuildTenantTree(result);
  if (!tree) {
    std::string text;
    for (const TenantFault& fault : tree.error()) {
      text += result[fault.tenant].name + ": " + Describe(fault, result) + "; ";
    }
    throw std::runtime_error(text);
  }
  return std::make_shared<const TenantTree>(*std::move(tree));
}

int TenantNamed(const TenantTree& tree, std::string_view name) {
  const int tenant = FindTenant(tree, name);
  if (tenant < 0) throw std::runtime_error("no such tenant: " + std::string(name));
  return tenant;
}

int CellNamed(const TenantTree& tree, std::string_view pool, std::string_view resource) {
  const int cell = FindCell(tree, pool, resource);
  if (cell < 0) throw std::runtime_error("no such cell: " + std::string(resource));
  return cell;
}

Charge ReadCharge(const TenantTree& tree, const json& amounts) {
  Charge charge;
  for (const json& amount : amounts) {
    const int cell = CellNamed(tree, amount.at("flavor").get<std::string>(),
                               amount.at("resource").get<std::string>());
    AddToCharge(cell, amount.at("amount").get<std::int64_t>(), charge);
  }
  return charge;
}

}  // namespace offcut::quota
