#include "api/mig_mix.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace offcut::api {
namespace {

using binpack::GpuModel;
using binpack::ProfileSet;
using binpack::ProfileWeights;
using Shares = std::vector<std::int64_t>;  // smallest profile first

const Shares kSkewSmall = {30, 25, 20, 10, 10, 5};
const Shares kBimodal = {30, 15, 5, 5, 15, 30};

Shares FallingShares(std::size_t count) {
  if (count == kSkewSmall.size()) return kSkewSmall;
  Shares shares;
  for (auto n = static_cast<std::int64_t>(count); n > 0; --n) shares.push_back(n * (n + 1) / 2);
  return shares;
}

std::optional<Shares> NamedShares(std::string_view name, std::size_t count) {
  if (name == "uniform") return Shares(count, 1);
  if (name == "bimodal" && count == kBimodal.size()) return kBimodal;
  Shares shares = FallingShares(count);
  if (name == "skew-small" || name == "small-heavy") return shares;
  std::ranges::reverse(shares);
  if (name == "skew-big" || name == "big-heavy") return shares;
  return std::nullopt;
}

Error Bad(std::string message) { return {ErrorKind::kBadRequest, std::move(message)}; }

// Adds "1g.5gb=0.3" to the shares of the profiles.
std::expected<void, Error> AddShare(std::string_view entry, const GpuModel& model,
                                    std::vector<double>& shares) {
  const std::size_t equals = entry.find('=');
  const std::string_view name = entry.substr(0, equals);
  const std::optional<int> profile = model.FindProfile(name);
  if (!profile) return std::unexpected(Bad(fmt::format("{} has no profile {}", model.name, name)));
  const std::string_view number = entry.substr(equals + 1);
  double share = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), share);
  const bool is_whole = read.ec == std::errc() && read.ptr == number.data() + number.size();
  if (!is_whole || !std::isfinite(share) || share <= 0) {
    return std::unexpected(Bad(fmt::format("the share of {} must be a number above 0", name)));
  }
  double& slot = shares[static_cast<std::size_t>(*profile)];
  if (slot > 0) return std::unexpected(Bad(fmt::format("{} comes twice", name)));
  slot = share;
  return {};
}

std::expected<ProfileWeights, Error> ParseList(std::string_view text, const GpuModel& model) {
  std::vector<double> shares(model.profiles.size());
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (const auto added = AddShare(text.substr(0, comma), model, shares); !added) {
      return std::unexpected(added.error());
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  double sum = 0;
  for (const double share : shares) sum += share;
  ProfileWeights weights;
  for (const double share : shares) {
    // Half of the most that weights may add up to: rounding up never passes it.
    const double scaled = share / sum * static_cast<double>(binpack::kProfileWeightsMax) / 2;
    weights.push_back(share > 0 ? std::max<std::int64_t>(1, std::llround(scaled)) : 0);
  }
  return weights;
}

}  // namespace

std::expected<ProfileWeights, Error> ParseMigMix(std::string_view text, const GpuModel& model) {
  if (text.contains('=')) return ParseList(text, model);
  ProfileSet profiles = binpack::BaseProfiles(model);
  std::ranges::stable_sort(profiles, {}, [&](int p) {
    return model.profiles[static_cast<std::size_t>(p)].memory_slices;
  });
  const std::optional<Shares> shares = NamedShares(text, profiles.size());
  if (!shares) {
    return std::unexpected(
        Bad(fmt::format("no mix {} for {}; uniform, skew-small, skew-big, bimodal (of six "
                        "profiles), or PROFILE=SHARE,...",
                        text, model.name)));
  }
  ProfileWeights weights(model.profiles.size());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    weights[static_cast<std::size_t>(profiles[i])] = (*shares)[i];
  }
  return weights;
}

}  // namespace offcut::api
