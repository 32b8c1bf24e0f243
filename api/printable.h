// Texts that came from outside, made fit for a terminal and for JSON. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace offcut::api {

// Everything but printable ASCII becomes '?', so that no text can steer a terminal.
std::string Printable(std::string_view text);

// At most `bytes_max` bytes of UTF-8, cut between two characters.
std::string_view CutText(std::string_view text, std::size_t bytes_max);

}  // namespace offcut::api
