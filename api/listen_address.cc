#include "api/listen_address.h"

#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace offcut::api {
namespace {

bool IsIpAddress(const std::string& text) {
  in6_addr storage{};
  return inet_pton(AF_INET, text.c_str(), &storage) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &storage) == 1;
}

Error Malformed(std::string_view text) {
  return {ErrorKind::kBadRequest,
          fmt::format("\"{}\" is no listen address: expected IP:PORT, such as 127.0.0.1:8080 or "
                      "[::1]:8080",
                      text)};
}

}  // namespace

std::expected<ListenAddress, Error> ParseListenAddress(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::unexpected(Malformed(text));
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (has_brackets != (host.find(':') != std::string_view::npos)) {
    return std::unexpected(Malformed(text));
  }
  ListenAddress address{.address = std::string(host)};
  const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (failure != std::errc() || end != port.data() + port.size() || !IsIpAddress(address.address)) {
    return std::unexpected(Malformed(text));
  }
  return address;
}

std::string ToText(const ListenAddress& address) {
  const bool is_v6 = address.address.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", address.address, address.port)
               : fmt::format("{}:{}", address.address, address.port);
}

}  // namespace offcut::api
