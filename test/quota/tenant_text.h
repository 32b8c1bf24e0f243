// Tenants as text, for tests. A line each; two spaces more than the line above: its child.
//   school            h100/devices=12
//     maths weight=2  h100/devices=4:2:0
//     arts            h100/devices=-:0
// A quota is guarantee:borrowing limit:lending limit; "-" and what is left out are not said.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "quota/ledger.h"

namespace offcut::quota {

inline QuotaSpec QuotaFromText(const std::string& word) {
  const std::size_t slash = word.find('/');
  const std::size_t equals = word.find('=');
  QuotaSpec quota{.pool = word.substr(0, slash),
                  .resource = word.substr(slash + 1, equals - slash - 1),
                  .guarantee = {},
                  .borrowing_limit = {},
                  .lending_limit = {}};
  std::istringstream numbers(word.substr(equals + 1));
  std::string number;
  for (auto* member : {&quota.guarantee, &quota.borrowing_limit, &quota.lending_limit}) {
    if (std::getline(numbers, number, ':') && number != "-") *member = std::stoll(number);
  }
  return quota;
}

inline std::vector<TenantSpec> SpecsFromText(const std::string& text) {
  std::vector<TenantSpec> specs;
  std::vector<std::string> above;  // the last name of each level
  std::istringstream lines(text);
  std::size_t margin = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos) continue;
    if (margin == std::string::npos) margin = indent;
    const std::size_t level = (indent - margin) / 2;
    std::istringstream words(line);
    TenantSpec spec;
    words >> spec.name;
    above.resize(level);
    if (level > 0) spec.parent = above.back();
    above.push_back(spec.name);
    constexpr std::string_view weight = "weight=";
    for (std::string word; words >> word;) {
      if (word.starts_with(weight)) {
        spec.weight_micro = std::stoll(word.substr(weight.size())) * kWeightOne;
      } else {
        spec.quotas.push_back(QuotaFromText(word));
      }
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

inline std::shared_ptr<const TenantTree> TreeFromText(const std::string& text) {
  const std::vector<TenantSpec> specs = SpecsFromText(text);
  auto tree = BuildTenantTree(specs);
  EXPECT_TRUE(tree.has_value()) << text;
  return std::make_shared<const TenantTree>(tree ? *std::move(tree) : TenantTree{});
}

// A world of one cell, pool "h100" and resource "devices", whose tenants are called by name.
class OneCell {
 public:
  explicit OneCell(const std::string& text) : ledger_(TreeFromText(text)) {}

  Ledger& ledger() { return ledger_; }
  int Tenant(std::string_view name) const { return FindTenant(ledger_.tree(), name); }
  int cell() const { return FindCell(ledger_.tree(), "h100", kDevices); }
  Charge Of(std::int64_t amount) const { return {{cell(), amount}}; }

  std::int64_t Available(std::string_view name) const {
    return ledger_.Available(Tenant(name), cell());
  }
  Answer Ask(std::string_view name, std::int64_t amount) const {
    return ledger_.Check(Tenant(name), Of(amount)).answer;
  }
  void Add(std::string_view name, std::int64_t amount) { ledger_.Add(Tenant(name), Of(amount)); }
  void Remove(std::string_view name, std::int64_t amount) {
    ledger_.Remove(Tenant(name), Of(amount));
  }
  // As a gate would: charged if it fits.
  bool Admit(std::string_view name, std::int64_t amount) {
    if (Ask(name, amount) != Answer::kFits) return false;
    Add(name, amount);
    return true;
  }

 private:
  Ledger ledger_;
};

}  // namespace offcut::quota
