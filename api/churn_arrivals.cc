#include "api/churn_arrivals.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <random>

#include "api/draws.h"

namespace offcut::api {
namespace {

// Of each row in mean lives: what it is, or the mean of what is drawn.
std::vector<double> ExpectedLives(std::span<const ChurnRow> rows) {
  const double mean = MeanLife(rows).value_or(1);
  std::vector<double> lives(rows.size());
  std::ranges::transform(rows, lives.begin(), [&](const ChurnRow& row) {
    return row.life ? (mean == 0 ? 0 : *row.life / mean) : 1;
  });
  return lives;
}

// Draws an index with a probability proportional to its weight.
class WeightedDraw {
 public:
  explicit WeightedDraw(const std::vector<double>& weights) : sums_(weights.size()) {
    std::partial_sum(weights.begin(), weights.end(), sums_.begin());
  }

  std::size_t operator()(std::mt19937_64& random) const {
    const auto found = std::ranges::upper_bound(sums_, DrawUniform(random) * sums_.back());
    return std::min(static_cast<std::size_t>(found - sums_.begin()), sums_.size() - 1);
  }

 private:
  std::vector<double> sums_;
};

}  // namespace

std::optional<double> MeanLife(std::span<const ChurnRow> rows) {
  double sum = 0;
  std::int64_t count = 0;
  for (const ChurnRow& row : rows) {
    if (!row.life) continue;
    sum += *row.life;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

double ArrivalRate(std::span<const ChurnRow> rows, double load, std::int64_t capacity_units) {
  const std::vector<double> lives = ExpectedLives(rows);
  double held = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    held += static_cast<double>(rows[i].units) * lives[i];
  }
  if (held <= 0) return 0;
  return load * static_cast<double>(capacity_units) * static_cast<double>(rows.size()) / held;
}

std::vector<ChurnArrival> DrawChurn(std::span<const ChurnRow> rows, std::int64_t capacity_units,
                                    const Churn& churn) {
  const double rate = ArrivalRate(rows, churn.load, capacity_units);
  assert(rate > 0);
  const std::vector<double> lives = ExpectedLives(rows);
  std::mt19937_64 random(churn.seed);
  std::vector<ChurnArrival> arrivals;
  // What is left of an exponential life is like a new one; of another, any part is as likely.
  const WeightedDraw draw_there(lives);
  for (std::int64_t i = std::llround(rate); i > 0; --i) {
    const std::size_t row = draw_there(random);
    const double left = rows[row].life ? lives[row] * DrawUniform(random) : DrawExponential(random);
    arrivals.push_back({.at = 0, .leaves_at = left, .row = row});
  }
  double now = 0;
  for (std::size_t i = 0;; ++i) {
    now += DrawExponential(random) / rate;
    if (now >= churn.duration) return arrivals;
    const std::size_t row = churn.is_in_order ? i % rows.size() : random() % rows.size();
    const double life = rows[row].life ? lives[row] : DrawExponential(random);
    arrivals.push_back({.at = now, .leaves_at = now + life, .row = row});
  }
}

}  // namespace offcut::api
