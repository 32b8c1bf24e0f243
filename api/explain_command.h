// `offcut explain pod` and `offcut gpus`, less the command line.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace offcut::api {

struct ExplainSettings {
  std::string pod;  // "NAMESPACE/NAME", or "NAME" in the namespace default
  std::vector<std::string> snapshot_files;
  std::string policy_file;
  std::string output = "text";  // or "json"
  std::size_t nodes_max = 40;
};

// Returns the exit code: 0; 1 where the pod is not in the snapshot or a file cannot be read.
int ExplainPod(const ExplainSettings& settings, std::ostream& out, std::ostream& err);

struct GpusSettings {
  std::vector<std::string> snapshot_files;
  std::string policy_file;
  int columns = 100;
  bool colour = false;
};

// Draws every GPU of the snapshot. Returns the exit code, as above.
int ShowGpus(const GpusSettings& settings, std::ostream& out, std::ostream& err);

}  // namespace offcut::api
