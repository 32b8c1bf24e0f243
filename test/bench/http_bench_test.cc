#include "bench/http_bench.h"

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::bench {
namespace {

using nlohmann::json;

// Of 1..200, one percent lies above 198.
TEST(HttpBenchTest, APercentileIsADurationThatWasMeasured) {
  std::vector<double> durations_ms(200);
  std::iota(durations_ms.begin(), durations_ms.end(), 1.0);
  EXPECT_EQ(Percentile(durations_ms, 50), 100);
  EXPECT_EQ(Percentile(durations_ms, 99), 198);
  EXPECT_EQ(Percentile(durations_ms, 100), 200);
  EXPECT_EQ(Percentile({7.5}, 99), 7.5);
}

// Two nodes, five wanted: from the third on they are copies.
TEST(HttpBenchTest, FullNodesHaveNamesOfTheirOwnAndTheSizeOfRealOnes) {
  std::vector<json> nodes(2);
  nodes[0]["metadata"]["name"] = "a";
  nodes[1]["metadata"]["name"] = "b";
  const json args = json::parse(PrintFullNodesArgs(json::object(), nodes, 5));
  EXPECT_TRUE(args["NodeNames"].is_null());
  std::set<std::string> names;
  for (const json& node : args["Nodes"]["items"]) {
    names.insert(node["metadata"]["name"].get<std::string>());
    EXPECT_GE(node.dump().size(), 13'400U);
    EXPECT_LT(node.dump().size(), 13'600U);
  }
  EXPECT_EQ(names, (std::set<std::string>{"a", "b", "a-1", "b-1", "a-2"}));
}

}  // namespace
}  // namespace offcut::bench
