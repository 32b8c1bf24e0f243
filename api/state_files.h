// State and policy from files: what `--snapshot` and `--policy` name, read and put together, with
// everything that was left out told on `log`.
#pragma once

#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"
#include "scheduler/policy.h"
#include "scheduler/snapshot.h"

namespace offcut::api {

// Takes one line for the operator: an object that was left out, a warning.
using LogLine = std::function<void(std::string_view line)>;

// The policy of the file, or the defaults where no file is named (an empty path). Error: everything
// that is wrong with it, a line each.
std::expected<scheduler::Policy, Error> LoadPolicy(const std::string& path);

// The names of the strategies that a policy may choose.
std::vector<std::string_view> StrategyNames();

// The nodes and pods of the files. An object that cannot be read is told on `log` and left out.
// Error: a file that cannot be read at all, or none that holds a node.
std::expected<scheduler::Snapshot, Error> LoadSnapshot(std::span<const std::string> paths,
                                                       const scheduler::Policy& policy,
                                                       const LogLine& log);

}  // namespace offcut::api
