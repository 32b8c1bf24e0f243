// The demo: Offcut and a played kube-scheduler on a small cluster of every kind of node, on this
// machine alone.
#pragma once

#include <expected>
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/error.h"

namespace offcut::bench {

struct DemoSettings {
  std::string offcut;            // the program
  std::string cluster;           // file of nodes, and of pods that run on them
  std::string pods;              // file of pods that wait
  std::string scheduler_config;  // a KubeSchedulerConfiguration, whose first extender is Offcut
};

// Prints the picture before, what became of each pod, and the picture after. Errors: Offcut did
// not start, died, did not answer, or bound nothing.
std::expected<void, api::Error> RunDemo(const DemoSettings& settings, std::ostream& out);

// What the pod asks of GPUs in all, e.g. "2 x mig-1g.5gb, mig-2g.10gb"; "no GPU".
std::string AsksText(const nlohmann::json& pod);

// The devices of a record in the shape of the annotation offcut.dev/devices: "GPUs 0-3, 6";
// "1g.5gb@2 on GPU 0"; "2 x 1g.5gb"; "none".
std::string DevicesText(const nlohmann::json& record);

// Lines of at most `columns` columns, broken at blanks; a longer word has a line of its own.
std::vector<std::string> Wrapped(const std::string& text, std::size_t columns);

}  // namespace offcut::bench
