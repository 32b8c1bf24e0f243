// Turns YAML into JSON, so that one reader serves both.
// Pure.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"

namespace offcut::api {

inline constexpr int kYamlDepthMax = 100;

// The JSON text of each document; a document without content is "null". Plain scalars have the
// types of YAML's core schema (so that `yes` is a string), quoted ones are strings, and keys are
// strings always; numbers beyond 18 digits and those without a value in JSON (.inf) become strings.
// Aliases, tags other than the core schema's, keys that are no scalars, and more than kYamlDepthMax
// levels are errors, with line and column, as is a syntax error.
std::expected<std::vector<std::string>, Error> YamlToJson(std::string_view yaml);

}  // namespace offcut::api
