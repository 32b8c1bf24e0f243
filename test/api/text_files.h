// The test data of the tree, by path below test/data/.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace offcut {

inline std::filesystem::path DataPath(const std::string& name) {
  return std::filesystem::path(OFFCUT_SOURCE_DIR) / "test" / "data" / name;
}

// The whole file; an unreadable one ends the test program, since no test could mean anything.
inline std::string ReadTextFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::abort();
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

// The files of a folder whose names start with a digit, by name: the recorded requests, in order.
inline std::vector<std::filesystem::path> RecordedRequests(const std::string& set) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(DataPath("recorded/" + set))) {
    const std::string name = entry.path().filename();
    if (name.front() >= '0' && name.front() <= '9') paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace offcut
