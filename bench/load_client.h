// One connection to a server that is measured, and many calls on it. It costs as little as it can:
// what it takes is in every figure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "api/error.h"

namespace offcut::bench {

inline constexpr std::chrono::seconds kLoadCallTimeout{60};

// Not synchronised: one thread has one.
class LoadClient {
 public:
  // `with_tls`: TLS, and whatever certificate the server shows is taken.
  static std::expected<LoadClient, api::Error> Connect(std::uint16_t port, bool with_tls);

  ~LoadClient();
  LoadClient(LoadClient&&) noexcept;
  LoadClient& operator=(LoadClient&&) noexcept;

  // The answer's body, valid until the next call. Errors: no answer, or a status other than 200.
  std::expected<std::string_view, api::Error> Post(std::string_view target, std::string_view body);

 private:
  struct Connection;
  explicit LoadClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace offcut::bench
