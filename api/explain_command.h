// `offcut explain pod` and `offcut gpus`, less the command line.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "api/explain_text.h"
#include "api/gpu_picture.h"

namespace offcut::api {

struct ExplainSettings {
  std::string pod;  // "NAMESPACE/NAME", or "NAME" in the namespace default
  std::vector<std::string> snapshot_files;
  std::string policy_file;
  std::string output = "text";  // or "json"
  ExplanationLimits limits;
};

// Returns the exit code: 0; 1 where the pod is not in the snapshot or a file cannot be read.
int ExplainPod(const ExplainSettings& settings, std::ostream& out, std::ostream& err);

struct GpusSettings {
  std::vector<std::string> snapshot_files;
  std::string policy_file;
  std::vector<std::string> nodes;  // empty: all
  std::string output = "text";     // or "json"
  GpuPictureStyle style;
};

// Draws the GPUs of the snapshot. Returns the exit code, as above; 1, too, for a node that is not
// there.
int ShowGpus(const GpusSettings& settings, std::ostream& out, std::ostream& err);

}  // namespace offcut::api
