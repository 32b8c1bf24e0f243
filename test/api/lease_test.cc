#include "api/lease.h"

#include <chrono>

#include <gtest/gtest.h>

#include "api/kube_time.h"

namespace offcut::api {
namespace {

using std::chrono::seconds;

const LeaseRecord kRecord{.holder = "offcut-0",
                          .duration = seconds{15},
                          .renew_time = "2026-11-30T03:00:00.000000Z",
                          .acquire_time = "2026-11-30T02:00:00.000000Z",
                          .transitions = 3};

TEST(KubeTimeTest, IsPrintedInMicrosecondsOfUtc) {
  const std::chrono::system_clock::time_point start{};
  EXPECT_EQ(MicroTimeText(start), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(MicroTimeText(start + std::chrono::microseconds{1'000'042}),
            "1970-01-01T00:00:01.000042Z");
  // 2024-02-29 is day 19782 of the epoch.
  EXPECT_EQ(MicroTimeText(start + std::chrono::hours{24} * 19'782), "2024-02-29T00:00:00.000000Z");
}

TEST(LeaseTest, IsReadAsItWasPrinted) {
  const auto lease = NewLease("gpu", "offcut", kRecord);
  EXPECT_EQ(lease["metadata"], (nlohmann::json{{"name", "offcut"}, {"namespace", "gpu"}}));
  EXPECT_EQ(ReadLease(lease), kRecord);
}

TEST(LeaseTest, KeepsWhatWeDoNotKnow) {
  auto lease = NewLease("gpu", "offcut", {});
  lease["metadata"]["resourceVersion"] = "7";
  lease["spec"]["strategy"] = "OldestEmulationVersion";
  const auto with = WithRecord(lease, kRecord);
  EXPECT_EQ(with["metadata"]["resourceVersion"], "7");
  EXPECT_EQ(with["spec"]["strategy"], "OldestEmulationVersion");
  EXPECT_EQ(ReadLease(with), kRecord);
}

TEST(LeaseTest, IsReleasedWhereNobodyIsNamed) {
  const auto lease = nlohmann::json::parse(R"({"metadata": {"name": "offcut"}})");
  EXPECT_EQ(ReadLease(lease), LeaseRecord{});
}

TEST(LeaseTest, IsNoOtherObject) {
  for (const char* text : {"5", "{}", R"({"metadata": {}, "spec": "x"})"}) {
    EXPECT_EQ(ReadLease(nlohmann::json::parse(text)), std::nullopt) << text;
  }
}

TEST(LeaseTest, ReadsMembersOfAWrongTypeAsAbsent) {
  const auto lease = nlohmann::json::parse(
      R"({"metadata": {}, "spec": {"holderIdentity": 5, "leaseDurationSeconds": "x"}})");
  EXPECT_EQ(ReadLease(lease), LeaseRecord{});
}

}  // namespace
}  // namespace offcut::api
