#include "api/kube_time.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace offcut::api {

std::string MicroTimeText(std::chrono::system_clock::time_point time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time - second).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(second)), micros);
}

}  // namespace offcut::api
