// Texts that came from outside, made fit for a terminal and for JSON. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace offcut::api {

// The text on one line of a terminal that it cannot steer, nor show in another order than it
// stands: control characters (C0, DEL, C1, line and paragraph separators) and those that turn the
// direction of writing are escaped as in JSON ("\n", "\u001b"), and so are bytes that are no UTF-8
// ("\xff"). Whatever comes from outside goes through here on its way to a terminal or a line of the
// log.
std::string Printable(std::string_view text);

// Likewise, of a text of several lines, whose ends stay.
std::string PrintableLines(std::string_view text);

// At most `bytes_max` bytes of UTF-8, cut between two characters.
std::string_view CutText(std::string_view text, std::size_t bytes_max);

}  // namespace offcut::api
