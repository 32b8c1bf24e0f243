// Counts in sentences. Pure.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace offcut::api {

// "1 GPU", "0 GPUs", "2 GPUs". For nouns that take an s alone.
std::string NumberOf(std::integral auto count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace offcut::api
