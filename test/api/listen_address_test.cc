#include "api/listen_address.h"

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

TEST(ListenAddressTest, ReadsIpAddressesWithAPort) {
  EXPECT_EQ(ParseListenAddress("127.0.0.1:8080"), (ListenAddress{"127.0.0.1", 8080}));
  EXPECT_EQ(ParseListenAddress("[::1]:0"), (ListenAddress{"::1", 0}));
}

TEST(ListenAddressTest, PrintsWhatItReads) {
  for (const char* text : {"127.0.0.1:8080", "[::1]:65535", "0.0.0.0:0"}) {
    EXPECT_EQ(ToText(*ParseListenAddress(text)), text);
  }
}

TEST(ListenAddressTest, RefusesWhatIsNoAddressAndPort) {
  for (const char* text :
       {"", ":", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:80x", "localhost:80", "::1:80", "[::1]80", "[127.0.0.1]:80", "[]:80"}) {
    EXPECT_FALSE(ParseListenAddress(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace offcut::api
