#include "api/hold_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using scheduler::Hold;
using scheduler::HoldCause;
using ::testing::HasSubstr;

Hold Example() {
  return {.pod_uid = "u",
          .node = "n",
          .cause = HoldCause::kDate,
          .until_s = 1'000'000'060,
          .expected_s = 1'000'000'000,
          .victim_uids = {"a", "b"},
          .devices = {{.container = "main",
                       .gpu = 1,
                       .uuid = "GPU-1",
                       .kind = binpack::PieceKind::kInstance,
                       .profile = "3g.20gb",
                       .start = 4,
                       .size = 4,
                       .memory_mib = 19'968}}};
}

TEST(HoldJsonTest, IsReadAsItWasWritten) {
  EXPECT_EQ(ParseHold(PrintHold(Example())), Example());
  const Hold least{.pod_uid = "u", .node = "n", .until_s = 1};
  EXPECT_EQ(ParseHold(PrintHold(least)), least);
}

TEST(HoldJsonTest, IsWrittenForPeopleToo) {
  const Hold hold{.pod_uid = "u", .node = "n", .until_s = 1'000'000'000, .victim_uids = {"a"}};
  EXPECT_EQ(PrintHold(hold), R"({"version":1,"podUID":"u","node":"n","cause":"reclaim",)"
                             R"("until":"2001-09-09T01:46:40Z","victims":["a"]})");
}

TEST(HoldJsonTest, ErrorsNameTheMember) {
  const auto error_of = [](std::string_view text) {
    const auto hold = ParseHold(text);
    return hold ? std::string("none") : hold.error().message;
  };
  const std::string head = R"({"version":1,"podUID":"u","node":"n","cause":"date",)";
  EXPECT_THAT(error_of(R"({"version":2})"), HasSubstr("version"));
  EXPECT_THAT(error_of(R"({"version":1,"node":"n"})"), HasSubstr("podUID"));
  EXPECT_THAT(error_of(R"({"version":1,"podUID":"u","node":"n","cause":"whim"})"),
              HasSubstr("cause"));
  EXPECT_THAT(error_of(head + R"("until":"soon"})"), HasSubstr("until"));
  const std::string until = head + R"("until":"2001-09-09T01:46:40Z",)";
  EXPECT_THAT(error_of(until + R"("expected":5})"), HasSubstr("expected"));
  EXPECT_THAT(error_of(until + R"("victims":[5]})"), HasSubstr("victims"));
  EXPECT_THAT(error_of(until + R"("devices":[{"kind":"mig"}]})"), HasSubstr("profile"));
  EXPECT_THAT(error_of("{"), ::testing::Not("none"));
}

}  // namespace
}  // namespace offcut::api
