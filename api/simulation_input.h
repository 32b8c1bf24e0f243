// What a simulation starts from: nodes, the pods that arrive, and in which order; from the CSV
// files of the openb trace or from what `kubectl get nodes,pods -A -o json` (or yaml) prints.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "api/error.h"
#include "api/state_files.h"
#include "binpack/packing_model.h"
#include "scheduler/demand.h"
#include "scheduler/snapshot.h"

namespace offcut::api {

struct SimulationFiles {
  std::string nodes;
  std::string pods;   // may be the file of nodes, where that is a dump of both
  std::string order;  // empty: as the pods' file has them
};

struct SimulatedPod {
  scheduler::Pod pod;
  scheduler::Demand demand;
  std::optional<std::int64_t> lives_s;  // how long the trace says that it ran
};

struct SimulationInput {
  scheduler::Snapshot start;         // with the pods that are bound
  std::vector<SimulatedPod> pods;    // those that arrive, by name
  std::vector<std::size_t> order;    // indices in `pods`; they may repeat
  bool has_order = false;            // from a file
  binpack::TargetWorkload workload;  // of all pods of the file, each once
  binpack::Outlook outlook;
};

// A file is a CSV file iff its name ends in ".csv". `order` has one number a line: which pod, of
// those sorted by name, from 0. Without it pods arrive by time of creation, then by name.
// Objects that cannot be read are told on `log`.
std::expected<SimulationInput, Error> ReadSimulationInput(const SimulationFiles& files,
                                                          const LogLine& log);

// The numbers of such a file, each below `pod_count`.
inline constexpr std::size_t kArrivalsMax = 10'000'000;
std::expected<std::vector<std::size_t>, Error> ReadOrder(const std::string& path,
                                                         std::size_t pod_count);

}  // namespace offcut::api
