#include "api/kube_time.h"

#include <string_view>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

TEST(ParseTimeTest, ReadsRfc3339) {
  EXPECT_EQ(ParseTime("1970-01-01T00:00:00Z"), 0);
  // 20786 days and 19:24:15 after 1970-01-01.
  EXPECT_EQ(ParseTime("2026-11-29T19:24:15Z"), 20786LL * 86400 + 19LL * 3600 + 24LL * 60 + 15);
  EXPECT_EQ(ParseTime("1970-01-01T08:00:00.123456+08:00"), 0);
  EXPECT_EQ(ParseTime("1969-12-31T23:30:00-00:30"), 0);
}

TEST(ParseTimeTest, RefusesOtherTexts) {
  for (const std::string_view text :
       {"", "yesterday", "2026-11-29", "2026-11-29 19:24:15Z", "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z", "2026-11-29T24:00:00Z", "2026-11-29T19:24:15",
        "2026-11-29T19:24:15.Z", "2026-11-29T19:24:15+0800", "2026-11-29T19:24:15Zx",
        "+026-11-29T19:24:15Z"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
}

TEST(TimeTextTest, IsReadAsItWasWritten) {
  EXPECT_EQ(TimeText(1'000'000'000), "2001-09-09T01:46:40Z");
  EXPECT_EQ(ParseTime(TimeText(1'000'000'000)), 1'000'000'000);
}

}  // namespace
}  // namespace offcut::api
