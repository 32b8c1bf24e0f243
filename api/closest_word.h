// The word that somebody probably meant. Pure.
#pragma once

#include <span>
#include <string_view>

namespace offcut::api {

// The closest of `words` by Levenshtein's distance, blind to upper and lower case, if few edits
// make it of `typed`; else empty. A word that shares no letter with what was typed is never meant.
std::string_view ClosestWord(std::string_view typed, std::span<const std::string_view> words);

}  // namespace offcut::api
