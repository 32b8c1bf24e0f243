#include "api/simulate_mig_command.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <expected>
#include <numeric>
#include <optional>
#include <ostream>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "api/closest_word.h"
#include "api/error.h"
#include "api/mig_churn.h"
#include "api/mig_mix.h"
#include "api/printable.h"

namespace offcut::api {
namespace {

using binpack::GpuModel;

constexpr double kRoundingError = 1e-9;  // of sums of percentages

// One strategy on one mix and load, over all runs.
struct Row {
  std::string mix;
  double load = 0;
  std::string strategy;
  double accepted_percent = 0;
  double accepted_slices_percent = 0;
  double difference = 0;             // to the first strategy, in points of accepted_percent
  std::optional<double> half_width;  // of its confidence interval; null: one run only
  // By profile of the model, percent; null: none arrived.
  std::vector<std::optional<double>> profiles;
};

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Error Unknown(std::string_view what, std::string_view name,
              std::span<const std::string_view> known) {
  const std::string_view closest = ClosestWord(name, known);
  const std::string hint = closest.empty() ? fmt::format("one of {}", fmt::join(known, ", "))
                                           : fmt::format("did you mean {}?", closest);
  return {ErrorKind::kNotFound, fmt::format("no {} {}: {}", what, name, hint)};
}

std::expected<const GpuModel*, Error> FindMigModel(const std::string& name) {
  std::vector<std::string_view> names;
  for (const GpuModel& model : binpack::BuiltInModels()) {
    if (model.memory_slices == 0) continue;
    if (model.name == name) return &model;
    names.push_back(model.name);
  }
  return std::unexpected(Unknown("GPU model with MIG", name, names));
}

std::expected<void, Error> CheckStrategies(const std::vector<std::string>& strategies) {
  const auto known = binpack::MigStrategyNames();
  for (const std::string& name : strategies) {
    if (std::ranges::count(known, name) == 0) {
      return std::unexpected(Unknown("strategy for MIG", name, known));
    }
  }
  return {};
}

binpack::MigLayouts LayoutsFor(const GpuModel& model, const binpack::ProfileWeights& weights) {
  binpack::ProfileSet profiles;
  for (std::size_t p = 0; p < weights.size(); ++p) {
    if (weights[p] > 0) profiles.push_back(static_cast<int>(p));
  }
  return binpack::BuildMigLayouts(model, profiles);
}

// What one strategy's runs came to.
struct Runs {
  std::vector<double> accepted;
  std::vector<double> accepted_slices;
  MigChurnCounts sum;
};

void Add(const MigChurnCounts& counts, const GpuModel& model, Runs& runs) {
  runs.accepted.push_back(AcceptedPercent(counts));
  runs.accepted_slices.push_back(AcceptedSlicesPercent(counts, model));
  runs.sum.arrived.resize(counts.arrived.size());
  runs.sum.accepted.resize(counts.accepted.size());
  for (std::size_t p = 0; p < counts.arrived.size(); ++p) {
    runs.sum.arrived[p] += counts.arrived[p];
    runs.sum.accepted[p] += counts.accepted[p];
  }
}

Row RowOf(const Runs& runs, const Runs& first) {
  Row row{.accepted_percent = Mean(runs.accepted),
          .accepted_slices_percent = Mean(runs.accepted_slices)};
  std::vector<double> differences;
  differences.reserve(runs.accepted.size());
  for (std::size_t i = 0; i < runs.accepted.size(); ++i) {
    differences.push_back(runs.accepted[i] - first.accepted[i]);
  }
  const double difference = Mean(differences);
  row.difference = std::abs(difference) < kRoundingError ? 0 : difference;  // no -0.00
  if (differences.size() > 1) row.half_width = ConfidenceHalfWidth(differences);
  for (std::size_t p = 0; p < runs.sum.arrived.size(); ++p) {
    const std::int64_t arrived = runs.sum.arrived[p];
    row.profiles.push_back(arrived == 0
                               ? std::nullopt
                               : std::optional(100.0 * static_cast<double>(runs.sum.accepted[p]) /
                                               static_cast<double>(arrived)));
  }
  return row;
}

// Every strategy on one mix and load: the same arrivals for all.
std::vector<Row> Compare(const MigSimulationSettings& settings, MigChurn churn,
                         const binpack::MigLayouts& layouts,
                         const std::vector<binpack::MigStrategy>& strategies) {
  std::vector<Runs> runs(strategies.size());
  for (int i = 0; i < settings.runs; ++i) {
    churn.seed = settings.seed + static_cast<std::uint64_t>(i);
    const std::vector<MigArrival> arrivals = DrawArrivals(churn);
    for (std::size_t s = 0; s < strategies.size(); ++s) {
      Add(RunMigChurn(churn, arrivals, layouts, strategies[s]), *churn.model, runs[s]);
    }
  }
  std::vector<Row> rows;
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    rows.push_back(RowOf(runs[s], runs.front()));
    rows.back().strategy = strategies[s].name;
  }
  return rows;
}

std::expected<std::vector<Row>, Error> RunAll(const MigSimulationSettings& settings,
                                              const GpuModel& model) {
  if (const auto checked = CheckStrategies(settings.strategies); !checked) {
    return std::unexpected(checked.error());
  }
  std::vector<Row> rows;
  for (const std::string& mix : settings.mixes) {
    const auto weights = ParseMigMix(mix, model);
    if (!weights) return std::unexpected(weights.error());
    const binpack::MigLayouts layouts = LayoutsFor(model, *weights);
    std::vector<binpack::MigStrategy> strategies;
    strategies.reserve(settings.strategies.size());
    for (const std::string& name : settings.strategies) {
      strategies.push_back(*binpack::MakeMigStrategy(name, layouts, *weights));
    }
    for (const double load : settings.loads) {
      const MigChurn churn{.model = &model,
                           .weights = *weights,
                           .gpus = settings.gpus,
                           .load_permille = static_cast<int>(std::lround(1000 * load)),
                           .arrivals = settings.arrivals};
      for (Row& row : Compare(settings, churn, layouts, strategies)) {
        row.mix = mix;
        row.load = churn.load_permille / 1000.0;
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

void PrintTable(const std::vector<Row>& rows, const GpuModel& model, std::ostream& out) {
  std::size_t width = 8;
  for (const Row& row : rows) width = std::max(width, row.mix.size());
  fmt::print(out, "{:<{}}  {:>5}  {:<13}  {:>8}  {:>8}  {:>15}  accepted %, by profile\n", "mix",
             width, "load", "strategy", "accepted", "slices %", "to the first");
  for (const Row& row : rows) {
    const std::string interval =
        row.half_width ? fmt::format(" +-{:.2f}", *row.half_width) : std::string();
    fmt::print(out, "{:<{}}  {:>5}  {:<13}  {:>8.2f}  {:>8.2f}  {:>15}", row.mix, width, row.load,
               row.strategy, row.accepted_percent, row.accepted_slices_percent,
               fmt::format("{:+.2f}{}", row.difference, interval));
    for (std::size_t p = 0; p < row.profiles.size(); ++p) {
      if (row.profiles[p]) fmt::print(out, "  {} {:.1f}", model.profiles[p].name, *row.profiles[p]);
    }
    fmt::print(out, "\n");
  }
}

void PrintCsv(const std::vector<Row>& rows, const GpuModel& model, std::ostream& out) {
  fmt::print(out,
             "mix,load,strategy,accepted_percent,accepted_slices_percent,difference_points,"
             "difference_half_width_points");
  for (const auto& profile : model.profiles) fmt::print(out, ",{}_percent", profile.name);
  fmt::print(out, "\n");
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.4f}", *value) : std::string();
  };
  for (const Row& row : rows) {
    fmt::print(out, "\"{}\",{},{},{:.4f},{:.4f},{:.4f},{}", row.mix, row.load, row.strategy,
               row.accepted_percent, row.accepted_slices_percent, row.difference,
               cell(row.half_width));
    for (const auto& percent : row.profiles) fmt::print(out, ",{}", cell(percent));
    fmt::print(out, "\n");
  }
}

void PrintJson(const MigSimulationSettings& settings, const std::vector<Row>& rows,
               const GpuModel& model, std::ostream& out) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json profiles = nlohmann::ordered_json::object();
    for (std::size_t p = 0; p < row.profiles.size(); ++p) {
      if (row.profiles[p]) profiles[model.profiles[p].name] = *row.profiles[p];
    }
    results.push_back({{"mix", row.mix},
                       {"load", row.load},
                       {"strategy", row.strategy},
                       {"accepted_percent", row.accepted_percent},
                       {"accepted_slices_percent", row.accepted_slices_percent},
                       {"difference_points", row.difference},
                       {"difference_half_width_points", number(row.half_width)},
                       {"accepted_percent_by_profile", std::move(profiles)}});
  }
  const nlohmann::ordered_json document = {
      {"model", model.name},   {"gpus", settings.gpus}, {"arrivals", settings.arrivals},
      {"seed", settings.seed}, {"runs", settings.runs}, {"results", std::move(results)}};
  fmt::print(out, "{}\n", document.dump(2));
}

}  // namespace

double ConfidenceHalfWidth(const std::vector<double>& values) {
  // Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom; beyond, the normal's.
  constexpr std::array quantiles = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                    2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                                    2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
  assert(values.size() > 1);
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  const std::size_t freedom = values.size() - 1;
  const double quantile = freedom <= quantiles.size() ? quantiles[freedom - 1] : 1.96;
  return quantile * std::sqrt(squares / (count - 1) / count);
}

int SimulateMig(const MigSimulationSettings& settings, std::ostream& out, std::ostream& err) {
  const auto model = FindMigModel(settings.model);
  if (!model) {
    fmt::print(err, "offcut: {}\n", PrintableLines(model.error().message));
    return 1;
  }
  const auto rows = RunAll(settings, **model);
  if (!rows) {
    fmt::print(err, "offcut: {}\n", PrintableLines(rows.error().message));
    return 1;
  }
  if (settings.output == "json") {
    PrintJson(settings, *rows, **model, out);
  } else if (settings.output == "csv") {
    PrintCsv(*rows, **model, out);
  } else {
    PrintTable(*rows, **model, out);
  }
  return 0;
}

}  // namespace offcut::api
