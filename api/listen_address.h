// "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:0": where a server listens. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "api/error.h"

namespace offcut::api {

struct ListenAddress {
  std::string address;     // an IP address, without brackets
  std::uint16_t port = 0;  // 0: any free port
  bool operator==(const ListenAddress&) const = default;
};

// Error: no port, a port beyond 65535, or an address that is none. Host names are not resolved.
std::expected<ListenAddress, Error> ParseListenAddress(std::string_view text);

// As it is written in the argument: brackets round an IPv6 address.
std::string ToText(const ListenAddress& address);

}  // namespace offcut::api
