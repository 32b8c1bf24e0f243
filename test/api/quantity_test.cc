#include "api/quantity.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace offcut::api {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

void ExpectQuantity(std::string_view text, std::int64_t value, std::int64_t milli,
                    bool is_whole = true) {
  const auto quantity = ParseQuantity(text);
  ASSERT_TRUE(quantity) << text << ": " << quantity.error().message;
  EXPECT_EQ(quantity->value, value) << text;
  EXPECT_EQ(quantity->milli, milli) << text;
  EXPECT_EQ(quantity->is_whole, is_whole) << text;
}

TEST(QuantityTest, ReadsPlainNumbers) {
  ExpectQuantity("0", 0, 0);
  ExpectQuantity("16", 16, 16000);
  ExpectQuantity("+16", 16, 16000);
  ExpectQuantity("0016", 16, 16000);
  ExpectQuantity(" 16\n", 16, 16000);
  ExpectQuantity("9223372036854775807", kMax, kMax);
}

TEST(QuantityTest, ReadsDecimalPointsAnywhere) {
  ExpectQuantity("1.5", 2, 1500, false);
  ExpectQuantity(".5", 1, 500, false);
  ExpectQuantity("5.", 5, 5000);
  ExpectQuantity("1.000", 1, 1000);
  ExpectQuantity("5.Mi", 5 << 20, (5LL << 20) * 1000);
}

TEST(QuantityTest, ReadsDecimalSuffixes) {
  ExpectQuantity("95500m", 96, 95500, false);
  ExpectQuantity("1500000u", 2, 1500, false);
  ExpectQuantity("1n", 1, 1, false);
  ExpectQuantity("2000000000n", 2, 2000);
  ExpectQuantity("8k", 8000, 8000000);
  ExpectQuantity("1M", 1000000, 1000000000);
  ExpectQuantity("1G", 1000000000, 1000000000000);
  ExpectQuantity("1T", 1000000000000, 1000000000000000);
  ExpectQuantity("1P", 1000000000000000, 1000000000000000000);
  ExpectQuantity("1E", 1000000000000000000, kMax);
}

TEST(QuantityTest, ReadsBinarySuffixes) {
  ExpectQuantity("1Ki", 1024, 1024000);
  ExpectQuantity("1031996Mi", 1031996LL << 20, (1031996LL << 20) * 1000);
  ExpectQuantity("16Gi", 16LL << 30, (16LL << 30) * 1000);
  ExpectQuantity("1Ti", 1LL << 40, (1LL << 40) * 1000);
  ExpectQuantity("1Pi", 1LL << 50, (1LL << 50) * 1000);
  ExpectQuantity("1Ei", 1LL << 60, kMax);
  ExpectQuantity("1.5Ki", 1536, 1536000);
  ExpectQuantity("0.1Ki", 103, 102400, false);
}

TEST(QuantityTest, ReadsExponents) {
  ExpectQuantity("2e3", 2000, 2000000);
  ExpectQuantity("2E3", 2000, 2000000);
  ExpectQuantity("2e+3", 2000, 2000000);
  ExpectQuantity("25e-1", 3, 2500, false);
  ExpectQuantity("0e99999999999", 0, 0);
  ExpectQuantity("1e-99999999999", 1, 1, false);
}

TEST(QuantityTest, SaturatesBeyondInt64) {
  ExpectQuantity("1e30", kMax, kMax);
  ExpectQuantity("9223372036854775808", kMax, kMax);
  ExpectQuantity("-1e30", -kMax, -kMax);
  ExpectQuantity("8Ei", kMax, kMax);
  ExpectQuantity("1e99999999999", kMax, kMax);
}

TEST(QuantityTest, RoundsAwayFromZero) {
  ExpectQuantity("-5", -5, -5000);
  ExpectQuantity("-1.2", -2, -1200, false);
  ExpectQuantity("1.0001", 2, 1001, false);
}

TEST(QuantityTest, RefusesWhatIsNoQuantity) {
  for (const std::string_view text :
       {"",     " ",    ".",     "+",   "-",    "Ki",  "abc",  "1x",   "1ki",   "1K",  "1mi", "1e",
        "1ee3", "1e3k", "1e3.5", "--1", "1 Gi", "1,5", "0x10", "1..2", "1.2.3", "NaN", "Inf"}) {
    EXPECT_FALSE(ParseQuantity(text)) << '"' << text << '"';
  }
}

TEST(QuantityTest, RefusesATextAboveItsLimit) {
  EXPECT_TRUE(ParseQuantity(std::string(kQuantityBytesMax, '1')));
  EXPECT_FALSE(ParseQuantity(std::string(kQuantityBytesMax + 1, '1')));
}

__extension__ using Wide = __int128;

std::int64_t CeilingOfRatio(Wide numerator, Wide denominator) {
  const Wide quotient = (numerator + denominator - 1) / denominator;
  return quotient > kMax ? kMax : static_cast<std::int64_t>(quotient);
}

struct Scale {
  std::string suffix;
  Wide numerator;
  Wide denominator;
};

// number = digits / 10^places x numerator / denominator, in 128 bits: at most
// 10^9 x 2^60 x 1000 < 2^100 over 10^6 x 10^9.
TEST(QuantityTest, AgreesWithExactRatios) {
  const std::vector<Scale> scales = {
      {"n", 1, 1000000000},     {"u", 1, 1000000},
      {"m", 1, 1000},           {"", 1, 1},
      {"k", 1000, 1},           {"M", 1000000, 1},
      {"G", 1000000000, 1},     {"Ki", 1 << 10, 1},
      {"Mi", 1 << 20, 1},       {"Gi", 1 << 30, 1},
      {"Ti", Wide{1} << 40, 1}, {"Pi", Wide{1} << 50, 1},
      {"Ei", Wide{1} << 60, 1}, {"e4", 10000, 1},
      {"E-3", 1, 1000},
  };
  EXPECT_TRUE(rc::check("value and milli are the exact ratios rounded up", [&] {
    const auto digits = *rc::gen::inRange<std::int64_t>(0, 1000000000);
    const auto places = *rc::gen::inRange<std::size_t>(0, 7);
    const Scale scale = scales[*rc::gen::inRange<std::size_t>(0, scales.size())];
    std::string text = std::to_string(digits);
    if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
    if (places > 0) text.insert(text.size() - places, 1, '.');
    Wide denominator = scale.denominator;
    for (std::size_t i = 0; i < places; ++i) denominator *= 10;
    const Wide numerator = Wide{digits} * scale.numerator;

    const auto quantity = ParseQuantity(text + scale.suffix);
    RC_ASSERT(quantity.has_value());
    RC_ASSERT(quantity->value == CeilingOfRatio(numerator, denominator));
    RC_ASSERT(quantity->milli == CeilingOfRatio(numerator * 1000, denominator));
    const bool is_saturated = quantity->value == kMax;
    RC_ASSERT(is_saturated || quantity->is_whole == (numerator % denominator == 0));

    const auto negative = ParseQuantity("-" + text + scale.suffix);
    RC_ASSERT(negative.has_value());
    RC_ASSERT(negative->value == -quantity->value);
    RC_ASSERT(negative->milli == -quantity->milli);
  }));
}

}  // namespace
}  // namespace offcut::api
