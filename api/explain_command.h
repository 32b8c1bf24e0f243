// `offcut explain pod`, `offcut gpus` and `offcut tenants`, less the command line.
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

struct TenantsSettings {
  std::vector<std::string> snapshot_files;
  std::string policy_file;
  std::string tenant;            // empty: all
  std::string output = "table";  // or "json", as /api/v1/tenants has it
};

// Prints where the policy's tenants stand. Returns the exit code, as above; 1, too, for a tenant
// that is not there.
int ShowTenants(const TenantsSettings& settings, std::ostream& out, std::ostream& err);

}  // namespace offcut::api
