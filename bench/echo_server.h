// The floor under every figure: our own listener with a handler that reads nothing. It takes a body
// of any size, and answers "POST /anything?bytes=N" with N bytes.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "api/error.h"

namespace offcut::bench {

inline constexpr std::size_t kEchoBytesMax = std::size_t{256} * 1024 * 1024;

// Where the echo's answer to a call is as long as another server's.
std::string EchoTarget(std::size_t answer_bytes);

// Says where it listens, as `offcut serve` does, and serves until SIGTERM.
std::expected<void, api::Error> RunEcho();

}  // namespace offcut::bench
