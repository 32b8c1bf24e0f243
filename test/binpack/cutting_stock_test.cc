#include "binpack/cutting_stock.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::binpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::int64_t> Prices(const std::vector<PieceDemand>& demands) {
  return CuttingStockPrices(demands);
}

TEST(CuttingStockTest, PricesTheWholeGapThatNothingFills) {
  EXPECT_THAT(Prices({{81, 10}}), ElementsAre(1000));  // 19 % stay free on each GPU
  EXPECT_THAT(Prices({{50, 7}}), ElementsAre(500));
  EXPECT_THAT(Prices({{40, 7}}), ElementsAre(500));  // two on a GPU, whatever is left
  EXPECT_THAT(Prices({}), IsEmpty());
}

// Ten GPUs hold the 81s, and the 19s fit beside them: one more 19 costs nothing.
TEST(CuttingStockTest, GivesWhatFillsGapsForNothing) {
  EXPECT_THAT(Prices({{81, 10}, {19, 1}}), ElementsAre(1000, 0));
}

// 10 GPUs hold 60 + 40; the other 90 of the 40s pair up on 45. A further 40 costs half a GPU, and
// so does a further 60, which takes the place of a 40 that then needs half a GPU.
TEST(CuttingStockTest, SharesAGpuBetweenThoseWhoFillIt) {
  EXPECT_THAT(Prices({{60, 10}, {40, 100}}), ElementsAre(500, 500));
}

// Weak duality, by brute force: the most valuable filling of a GPU. Each price is rounded.
TEST(CuttingStockTest, LetsNoFillingBeWorthMoreThanAGpu) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::set<int> sizes;
    for (unsigned i = 0; i < 1 + random() % 20; ++i) {
      sizes.insert(5 + static_cast<int>(random() % 96));
    }
    std::vector<PieceDemand> demands;
    for (const int size : sizes) demands.push_back({size, 1 + static_cast<int>(random() % 50)});
    const std::vector<std::int64_t> prices = Prices(demands);
    std::vector<std::int64_t> worth(101, 0);
    for (std::size_t room = 1; room <= 100; ++room) {
      worth[room] = worth[room - 1];
      for (std::size_t i = 0; i < demands.size(); ++i) {
        const auto size = static_cast<std::size_t>(demands[i].percent);
        if (size <= room) worth[room] = std::max(worth[room], worth[room - size] + prices[i]);
      }
    }
    EXPECT_LE(worth[100], kGpuPrice + 100 / 5);
    EXPECT_GE(*std::ranges::max_element(prices), 1);
  }
}

}  // namespace
}  // namespace offcut::binpack
