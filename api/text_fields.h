// Fields of the small texts that stand in annotations: comma lists and HAMi's older forms.
// Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace offcut::api {

// Without the blanks, tabs and line ends around it.
std::string_view WithoutBlanks(std::string_view text);

// The parts between the separators: one more than there are separators, empty ones included.
std::vector<std::string_view> SplitFields(std::string_view text, char separator);

// The decimal number that is all of `text`; nullopt where it is none or is outside [0, max].
std::optional<int> ParseField(std::string_view text, int max);

// Whether the text can be a namespace's name (a label of RFC 1123), or any other object's (labels
// between full stops).
bool IsDnsLabel(std::string_view text);
bool IsDnsSubdomain(std::string_view text);

}  // namespace offcut::api
