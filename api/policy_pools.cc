#include "api/policy_pools.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "api/text_fields.h"
#include "quota/tenant_tree.h"

namespace offcut::api {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

void ReadPoolName(const Value& value, const Place& place, const std::vector<NamedPlace>& before,
                  ErrorList& errors, NamedPlace& out) {
  const std::string* name = ReadString(value, place, errors);
  if (name == nullptr) return;
  out = {*name, place};
  if (*name == scheduler::kDefaultPool || *name == quota::kAllPools) {
    errors.Add(place, PolicyErrorCode::kNameConflict,
               Quoted(*name) + " is the pool of " +
                   (*name == quota::kAllPools ? "all GPUs" : "GPUs that are in no other"));
  } else if (!IsDnsLabel(*name)) {
    RefuseName(*name, place, kDnsLabelAllowed, errors);
  } else if (std::ranges::find(before, *name, &NamedPlace::name) != before.end()) {
    errors.Add(place, PolicyErrorCode::kNameConflict, "another pool has this name");
  }
}

// A model stands in one pool: which of two has a GPU should not hang on their order alone.
void CheckPoolModels(const Value& value, const Place& place, const std::string& pool,
                     std::map<std::string, std::string>& pool_of_model, ErrorList& errors) {
  const auto* list = std::get_if<List>(&value.content);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto* model = std::get_if<std::string>(&(*list)[i].content);
    if (model == nullptr) continue;
    const auto [first, is_new] = pool_of_model.try_emplace(Lower(*model), pool);
    if (is_new) continue;
    errors.Add(ItemPlace(place, *list, i), PolicyErrorCode::kNameConflict,
               Quoted(*model) + (first->second == pool ? " is listed twice"
                                                       : " is of pool " + Quoted(first->second)));
  }
}

}  // namespace

std::vector<NamedPlace> ReadPools(const Section& section, ErrorList& errors,
                                  std::vector<scheduler::PoolSpec>& pools) {
  std::vector<NamedPlace> names;
  if (section.value == nullptr) return names;
  const List* list = ReadList(*section.value, section.place, kMaxPools, "pools", errors);
  if (list == nullptr) return names;
  std::map<std::string, std::string> pool_of_model;  // by its text in lower case
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Place place = ItemPlace(section.place, *list, i);
    NamedPlace name;
    Section models;
    scheduler::PoolSpec pool;
    ReadFields(
        (*list)[i], place, errors,
        {{"name", [&](const Value& v, const Place& p) { ReadPoolName(v, p, names, errors, name); }},
         {"models", [&](const Value& v, const Place& p) {
            models = {&v, p};
            ReadModels(v, p, kMaxPoolModels, errors, pool.models);
          }}});
    RequireFields((*list)[i], place, errors, {"name", "models"});
    if (models.value != nullptr) {
      CheckPoolModels(*models.value, models.place, name.name, pool_of_model, errors);
      const auto* listed = std::get_if<List>(&models.value->content);
      if (listed != nullptr && listed->empty()) {
        errors.Add(models.place, PolicyErrorCode::kMissingField, "must name a model");
      }
    }
    pool.name = name.name;
    names.push_back(std::move(name));
    pools.push_back(std::move(pool));
  }
  return names;
}

nlohmann::ordered_json ToJson(const std::vector<scheduler::PoolSpec>& pools) {
  auto json = nlohmann::ordered_json::array();
  for (const scheduler::PoolSpec& pool : pools) {
    auto& each = json.emplace_back();
    each["name"] = pool.name;
    each["models"] = pool.models;
  }
  return json;
}

}  // namespace offcut::api
