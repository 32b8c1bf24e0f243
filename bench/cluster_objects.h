// Nodes and pods as the JSON that Kubernetes' API server would give, for programs that play the
// other side of Offcut and so must send whole objects.
#pragma once

#include <cstddef>
#include <expected>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/error.h"

namespace offcut::bench {

inline constexpr std::size_t kObjectsFileBytesMax = std::size_t{512} * 1024 * 1024;
inline constexpr std::size_t kObjectsMax = 1'000'000;  // of one file

struct ClusterObjects {
  std::vector<nlohmann::json> nodes;
  std::vector<nlohmann::json> pods;
};

// Reads a JSON or YAML file: a List as kubectl prints it, single objects, or several documents.
// Other kinds are left out. Errors name the file, and the object that lacks metadata.name.
std::expected<ClusterObjects, api::Error> ReadClusterObjects(const std::string& path);

// The same from a text; `source` stands in the errors' place of the path.
std::expected<ClusterObjects, api::Error> ParseClusterObjects(std::string_view text,
                                                              const std::string& source);

// Reads the file's JSON value, or its YAML documents.
std::expected<std::vector<nlohmann::json>, api::Error> ReadDocuments(const std::string& path);

// The member at the end of the path, or a null where one of them is missing or is no object.
const nlohmann::json& MemberAt(const nlohmann::json& object,
                               std::initializer_list<std::string_view> path);

// The string there; empty: there is none.
std::string StringAt(const nlohmann::json& object, std::initializer_list<std::string_view> path);

}  // namespace offcut::bench
