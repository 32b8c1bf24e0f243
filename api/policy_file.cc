#include "api/policy_file.h"

#include <array>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "api/document.h"
#include "api/policy_preemption.h"
#include "api/policy_reader.h"
#include "api/policy_reclaim.h"
#include "api/policy_resources.h"
#include "api/policy_tenants.h"
#include "api/policy_workload.h"
#include "binpack/strategy.h"

namespace offcut::api {
namespace {

constexpr std::array kRefusals = {
    EnumName<scheduler::Refusals>{"unresolvable", scheduler::Refusals::kUnresolvable},
    EnumName<scheduler::Refusals>{"preemptable", scheduler::Refusals::kPreemptable}};
constexpr std::array kScores = {
    EnumName<scheduler::Scores>{"strict", scheduler::Scores::kStrict},
    EnumName<scheduler::Scores>{"proportional", scheduler::Scores::kProportional}};
constexpr std::array kTies = {EnumName<scheduler::Ties>{"strict", scheduler::Ties::kStrict},
                              EnumName<scheduler::Ties>{"name", scheduler::Ties::kName}};

void ReadWeights(const Value& value, const Place& place, ErrorList& errors,
                 binpack::CostWeights& weights) {
  const auto weight_field = [&](std::string_view field, int& out) {
    return Field{field, [&errors, &out](const Value& v, const Place& p) {
                   const auto weight = ReadInteger(v, p, {0, kMaxPackingWeight}, errors);
                   if (weight) out = *weight;
                 }};
  };
  ReadFields(value, place, errors,
             {weight_field("gpu", weights.gpu), weight_field("cpu", weights.cpu)});
  if (weights.gpu == 0 && weights.cpu == 0) {
    errors.Add(place, PolicyErrorCode::kOutOfRange, "got 0 for both weights, allowed 0 for one");
  }
}

void ReadPacking(const Value& value, const Place& place,
                 std::span<const std::string_view> strategies, ErrorList& errors,
                 scheduler::Policy& policy) {
  std::string strategy(policy.packing->strategy->name);
  binpack::CostWeights weights = policy.packing->weights;
  ReadFields(
      value, place, errors,
      {{"strategy",
        [&](const Value& v, const Place& p) {
          const std::string* name = ReadOneOf(v, p, strategies, errors);
          if (name != nullptr) strategy = *name;
        }},
       {"scores",
        [&](const Value& v, const Place& p) { ReadEnum(v, p, kScores, errors, policy.scores); }},
       {"ties",
        [&](const Value& v, const Place& p) {
          scheduler::Ties ties = scheduler::Ties::kStrict;
          ReadEnum(v, p, kTies, errors, ties);
          policy.ties = ties;
        }},
       {"targetWorkload",
        [&](const Value& v, const Place& p) {
          ReadTargetWorkload(v, p, errors, policy.target_workload);
        }},
       {"weights", [&](const Value& v, const Place& p) { ReadWeights(v, p, errors, weights); }}});
  if (auto packing = binpack::PreparePacking(strategy, weights)) policy.packing = packing;
}

scheduler::Policy ReadRoot(const Value& root, std::span<const std::string_view> strategies,
                           ErrorList& errors) {
  scheduler::Policy policy;
  const auto constant_field = [&](std::string_view field, const std::string_view& allowed) {
    return Field{field, [&errors, &allowed](const Value& v, const Place& p) {
                   ReadOneOf(v, p, std::span(&allowed, 1), errors);
                 }};
  };
  TenancySections tenancy;
  const auto section = [](std::string_view field, Section& out) {
    return Field{field, [&out](const Value& v, const Place& p) { out = {&v, p}; }};
  };
  const Place place{root.position, ""};
  ReadFields(
      root, place, errors,
      {{"$schema", [&](const Value& v, const Place& p) { ReadString(v, p, errors); }},
       constant_field("apiVersion", kPolicyApiVersion),
       constant_field("kind", kPolicyKind),
       {"scheduler",
        [&](const Value& v, const Place& p) {
          ReadFields(v, p, errors, {{"refusals", [&](const Value& w, const Place& q) {
                                       ReadEnum(w, q, kRefusals, errors, policy.refusals);
                                     }}});
        }},
       {"packing",
        [&](const Value& v, const Place& p) { ReadPacking(v, p, strategies, errors, policy); }},
       {"resources",
        [&](const Value& v, const Place& p) { ReadResources(v, p, errors, policy.resources); }},
       {"preemption",
        [&](const Value& v, const Place& p) { ReadPreemption(v, p, errors, policy.preemption); }},
       {"reclaim",
        [&](const Value& v, const Place& p) {
          ReadReclaim(v, p, errors, policy.reclaim, policy.dated_holds);
        }},
       section("pools", tenancy.pools),
       section("tenantSource", tenancy.tenant_source),
       section("isolation", tenancy.isolation),
       section("tenants", tenancy.tenants)});
  policy.tenancy = ReadTenancy(tenancy, errors);
  const auto* object = std::get_if<Object>(&root.content);
  if (object == nullptr) return policy;
  for (const auto& [field, constant] :
       {std::pair("apiVersion", kPolicyApiVersion), std::pair("kind", kPolicyKind)}) {
    if (FindMember(*object, field) != nullptr) continue;
    errors.Add({root.position, ChildPointer("", field)}, PolicyErrorCode::kMissingField,
               "must be there and be " + Quoted(constant));
  }
  return policy;
}

}  // namespace

std::expected<scheduler::Policy, std::vector<PolicyError>> ReadPolicy(
    std::string_view text, std::string_view file, std::span<const std::string_view> strategies) {
  ErrorList errors(file);
  const auto document = ReadDocument(text);
  if (!document) {
    const DocumentError& error = document.error();
    errors.Add(
        {error.position, error.pointer},
        error.kind == ErrorKind::kTooLarge ? PolicyErrorCode::kTooLarge : PolicyErrorCode::kSyntax,
        error.message);
    return std::unexpected(std::move(errors).InOrderOfText());
  }
  for (const DocumentError& error : document->duplicate_keys) {
    errors.Add({error.position, error.pointer}, PolicyErrorCode::kDuplicateField, error.message);
  }
  scheduler::Policy policy = ReadRoot(document->root, strategies, errors);
  if (errors.size() > 0) return std::unexpected(std::move(errors).InOrderOfText());
  return policy;
}

std::string PrintPolicy(const scheduler::Policy& policy) {
  using Json = nlohmann::ordered_json;
  Json out;
  out["apiVersion"] = kPolicyApiVersion;
  out["kind"] = kPolicyKind;
  out["scheduler"]["refusals"] = NameOf(policy.refusals, kRefusals);
  Json& packing = out["packing"];
  packing["strategy"] = policy.packing->strategy->name;
  packing["scores"] = NameOf(policy.scores, kScores);
  packing["ties"] = NameOf(TiesOf(policy), kTies);
  if (policy.target_workload) packing["targetWorkload"] = ToJson(*policy.target_workload);
  packing["weights"]["gpu"] = policy.packing->weights.gpu;
  packing["weights"]["cpu"] = policy.packing->weights.cpu;
  out["resources"] = ToJson(policy.resources);
  out["preemption"] = ToJson(policy.preemption);
  out["reclaim"] = ToJson(policy.reclaim, policy.dated_holds);
  if (policy.tenancy != nullptr) PrintTenancy(*policy.tenancy, out);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace offcut::api
