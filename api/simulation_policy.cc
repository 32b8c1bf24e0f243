#include "api/simulation_policy.h"

#include <string_view>

#include <fmt/format.h>

#include "binpack/strategy.h"

namespace offcut::api {
namespace {

std::expected<scheduler::Ties, Error> TiesOf(std::string_view name) {
  if (name == "strict") return scheduler::Ties::kStrict;
  if (name == "name") return scheduler::Ties::kName;
  if (name == "random") return scheduler::Ties::kRandom;
  return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("no ties {}", name)});
}

}  // namespace

std::expected<scheduler::Policy, Error> SimulationPolicy(const std::string& strategy,
                                                         const std::string& ties,
                                                         std::uint64_t seed,
                                                         const SimulationInput& input) {
  const auto known_ties = TiesOf(ties);
  if (!known_ties) return std::unexpected(known_ties.error());
  scheduler::Policy policy;
  policy.ties = *known_ties;
  policy.packing = binpack::PreparePacking(strategy, {}, input.workload, seed, input.outlook);
  if (policy.packing == nullptr) {
    return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("no strategy {}", strategy)});
  }
  return policy;
}

}  // namespace offcut::api
