// Kubernetes objects from texts, for tests.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "api/json_object.h"
#include "api/node_json.h"
#include "api/pod_json.h"

namespace offcut::api::testing {

// The reader that a test names, on one JSON text; malformed JSON is the reader's error.
template <typename Read>
auto ReadJsonText(std::string_view json, Read read) -> decltype(read(std::declval<JsonElement>())) {
  simdjson::dom::parser parser;
  const std::expected<JsonElement, Error> element = ParseJson(parser, json);
  if (!element) return std::unexpected(element.error());
  return read(*element);
}

inline std::expected<ParsedPod, Error> PodFromText(std::string_view json,
                                                   const scheduler::ResourceNames& names = {}) {
  return ReadJsonText(json, [&](JsonElement element) { return ParsePod(element, names); });
}

inline std::expected<ParsedNode, Error> NodeFromText(std::string_view json,
                                                     const scheduler::ResourceNames& names = {}) {
  return ReadJsonText(json, [&](JsonElement element) { return ParseNode(element, names); });
}

inline std::string FileText(const std::string& path_in_test_data) {
  std::ifstream file(std::string(OFFCUT_SOURCE_DIR) + "/test/data/" + path_in_test_data);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// `text` as a JSON string.
inline std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted += '"';
}

}  // namespace offcut::api::testing
