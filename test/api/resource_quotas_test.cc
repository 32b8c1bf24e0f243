#include "api/resource_quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::Pair;

json QuotaOf(const std::string& hard, const std::string& used) {
  return json::parse(R"({"metadata": {"name": "q", "namespace": "ml"}, "spec": {"hard": )" + hard +
                     R"(}, "status": {"used": )" + used + "}}");
}

TEST(ResourceQuotasTest, ReadsWhatIsSaidOfOurResources) {
  const auto quota = ParseResourceQuota(
      QuotaOf(R"({"requests.nvidia.com/gpu": "8", "requests.cpu": "40", "pods": "10",
                  "requests.nvidia.com/mig-1g.5gb": "1k"})",
              R"({"requests.nvidia.com/gpu": "3", "pods": "2"})"),
      {});
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->name_space, "ml");
  EXPECT_EQ(quota->name, "q");
  EXPECT_THAT(quota->hard,
              ElementsAre(Pair("nvidia.com/gpu", 8), Pair("nvidia.com/mig-1g.5gb", 1000)));
  EXPECT_THAT(quota->used, ElementsAre(Pair("nvidia.com/gpu", 3)));
}

TEST(ResourceQuotasTest, PassesOverOnesThatSayNothingOfThem) {
  EXPECT_FALSE(ParseResourceQuota(QuotaOf(R"({"pods": "10"})", "{}"), {}));
  EXPECT_FALSE(ParseResourceQuota(QuotaOf(R"({"requests.nvidia.com/gpu": 8})", "{}"), {}));
  EXPECT_FALSE(ParseResourceQuota(QuotaOf("[]", "7"), {}));
  EXPECT_FALSE(ParseResourceQuota(json::parse("[]"), {}));
}

}  // namespace
}  // namespace offcut::api
