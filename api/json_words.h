// Members of JSON objects that are one word of a closed list.
#pragma once

#include <algorithm>
#include <string_view>

#include "api/json_object.h"

namespace offcut::api {

template <typename Value>
struct Word {
  Value value;
  std::string_view text;
};

// Of a value that is in the list.
template <typename Words, typename Value>
std::string_view WordOf(const Words& words, Value value) {
  const auto word = std::ranges::find_if(words, [&](const auto& w) { return w.value == value; });
  return word->text;
}

// The first of the list, with an error, where the member is none of them.
template <typename Value, typename Words>
Value ReadWord(const JsonObject& object, std::string_view key, const Words& words) {
  const std::string_view text = object.String(key);
  const auto word = std::ranges::find_if(words, [&](const auto& w) { return w.text == text; });
  if (word != words.end()) return word->value;
  object.AddError(key, object.Has(key) ? "is not a word of this version" : "is missing");
  return words.front().value;
}

}  // namespace offcut::api
