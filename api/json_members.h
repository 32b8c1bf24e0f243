// Members of an object that the API server sent, read for what they are and else as nothing.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace offcut::api {

// null where `object` is none, or has no such member.
inline const nlohmann::json& MemberOf(const nlohmann::json& object, std::string_view key) {
  static const nlohmann::json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

// Empty where there is no such text.
inline std::string TextOf(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = MemberOf(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace offcut::api
