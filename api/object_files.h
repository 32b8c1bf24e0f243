// Reads nodes and pods from files, as `kubectl get nodes,pods -A -o json` (or yaml) prints them.
//
// A file is a stream of JSON objects or of YAML documents; each is a List, a NodeList or PodList,
// or one object. Which of the two it is, its content says, not its name. One object that cannot be
// read is reported and left out; it takes nothing else down. Only a file that is no JSON and no
// YAML at all is an Error. Not synchronised.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"
#include "scheduler/node.h"
#include "scheduler/pod.h"
#include "scheduler/policy.h"

namespace offcut::api {

inline constexpr std::size_t kObjectFileBytesMax = 512UL << 20U;
inline constexpr std::size_t kYamlBytesMax = 64UL << 20U;  // YAML is slow to read

struct ObjectProblem {
  std::string file;       // as it was named; "-": standard input
  std::size_t index = 0;  // of the object in its file, those of lists counted one by one
  std::string kind;       // empty: none
  std::string name;       // "namespace/name" of a pod; empty: none
  Error error;
};

struct ObjectSet {
  std::vector<scheduler::Inventory> nodes;
  std::vector<scheduler::Pod> pods;
  std::vector<ObjectProblem> problems;
  std::vector<std::string> warnings;  // of the nodes and pods that were read
  std::size_t ignored = 0;            // objects of other kinds
};

// Adds the objects of `text`. A node whose name, or a pod whose UID, is in `set` already is a
// problem: the first one stays.
std::expected<void, Error> ReadObjects(std::string_view text, const std::string& file,
                                       const scheduler::ResourceNames& names, ObjectSet& set);

// Reads the files in their order; "-" is standard input.
std::expected<ObjectSet, Error> ReadObjectFiles(std::span<const std::string> paths,
                                                const scheduler::ResourceNames& names);

}  // namespace offcut::api
