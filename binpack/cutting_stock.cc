#include "binpack/cutting_stock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

namespace offcut::binpack {
namespace {

constexpr int kPercents = 100;
// The program ends after some dozen pivots; this ends one that rounding errors keep in a circle.
constexpr int kPivotsMax = 2'000;
constexpr double kEpsilon = 1e-9;

using Column = std::vector<double>;  // by size: how many of it one pattern holds

struct Pattern {
  Column pieces;
  double cost = 1;  // GPUs; 0: the surplus of a size
};

// The revised simplex method, with columns that are made when they are wanted.
class ColumnGeneration {
 public:
  explicit ColumnGeneration(std::span<const PieceDemand> demands)
      : demands_(demands),
        size_(demands.size()),
        inverse_(size_, Column(size_, 0.0)),
        amounts_(size_),
        costs_(size_, 1.0) {
    // At first each size has GPUs of its own.
    for (std::size_t i = 0; i < size_; ++i) {
      const int fitting = kPercents / demands[i].percent;
      const auto copies = static_cast<double>(fitting);
      inverse_[i][i] = 1 / copies;
      amounts_[i] = static_cast<double>(demands[i].count) / copies;
    }
  }

  Column Solve() {
    Column prices = Prices();
    for (int pivot = 0; pivot < kPivotsMax; ++pivot) {
      const std::optional<Pattern> better = BetterPattern(prices);
      if (!better || !Enter(*better)) break;
      prices = Prices();
    }
    return prices;
  }

 private:
  Column Prices() const {
    Column prices(size_, 0.0);
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) prices[j] += costs_[i] * inverse_[i][j];
    }
    return prices;
  }

  // One that is worth more than it costs, or nullopt at the optimum.
  std::optional<Pattern> BetterPattern(const Column& prices) const {
    const auto lowest = std::ranges::min_element(prices);
    if (lowest != prices.end() && *lowest < -kEpsilon) {
      Pattern surplus{.pieces = Column(size_, 0.0), .cost = 0};
      surplus.pieces[static_cast<std::size_t>(lowest - prices.begin())] = -1;
      return surplus;
    }
    return MostValuable(prices);
  }

  // The filling of one GPU of the highest worth, where that is more than a GPU: a knapsack.
  std::optional<Pattern> MostValuable(const Column& prices) const {
    std::array<double, kPercents + 1> worth{};
    std::array<std::optional<std::size_t>, kPercents + 1> last{};
    for (std::size_t room = 1; room <= kPercents; ++room) {
      worth[room] = worth[room - 1];
      for (std::size_t i = 0; i < size_; ++i) {
        const auto percent = static_cast<std::size_t>(demands_[i].percent);
        if (percent > room) continue;
        const double with = worth[room - percent] + prices[i];
        if (with <= worth[room] + kEpsilon) continue;
        worth[room] = with;
        last[room] = i;
      }
    }
    if (worth[kPercents] <= 1 + 1e-7) return std::nullopt;
    Pattern pattern{.pieces = Column(size_, 0.0), .cost = 1};
    for (std::size_t room = kPercents; room > 0;) {
      if (!last[room]) {
        --room;
        continue;
      }
      pattern.pieces[*last[room]] += 1;
      room -= static_cast<std::size_t>(demands_[*last[room]].percent);
    }
    return pattern;
  }

  // False: nothing has to leave for it, which a bounded program does not know.
  bool Enter(const Pattern& pattern) {
    Column direction(size_, 0.0);
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) direction[i] += inverse_[i][j] * pattern.pieces[j];
    }
    std::optional<std::size_t> leaving;
    double least = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < size_; ++i) {
      if (direction[i] <= kEpsilon || amounts_[i] / direction[i] >= least - kEpsilon) continue;
      least = amounts_[i] / direction[i];
      leaving = i;
    }
    if (!leaving) return false;
    Exchange(*leaving, direction, least);
    costs_[*leaving] = pattern.cost;
    return true;
  }

  void Exchange(std::size_t leaving, const Column& direction, double amount) {
    for (double& element : inverse_[leaving]) element /= direction[leaving];
    for (std::size_t i = 0; i < size_; ++i) {
      if (i == leaving) continue;
      amounts_[i] -= amount * direction[i];
      for (std::size_t j = 0; j < size_; ++j) {
        inverse_[i][j] -= direction[i] * inverse_[leaving][j];
      }
    }
    amounts_[leaving] = amount;
  }

  std::span<const PieceDemand> demands_;
  std::size_t size_;
  std::vector<Column> inverse_;  // of the basis
  Column amounts_;               // GPUs with each pattern of the basis
  Column costs_;
};

}  // namespace

std::vector<std::int64_t> CuttingStockPrices(std::span<const PieceDemand> demands) {
  std::vector<std::int64_t> prices;
  for (const double price : ColumnGeneration(demands).Solve()) {
    prices.push_back(std::llround(std::max(0.0, price) * static_cast<double>(kGpuPrice)));
  }
  return prices;
}

}  // namespace offcut::binpack
