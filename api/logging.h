// The log: standard error, as text or as one JSON object a line, one line a decision.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "scheduler/decision.h"

namespace offcut::api {

enum class LogFormat { kText, kJson };

// Verbosity as klog has it: 0 warnings, 1 and 2 decisions, 3 and 4 debug. Before the first line.
// What came from outside cannot forge a line: control characters are escaped in both formats.
void SetUpLogging(LogFormat format, int verbosity);

// "filter team-a/train-7: 2 of 7 nodes fit; 4 gpus.taken, 1 node.reconfiguring"
void LogFilter(const scheduler::Pod& pod, std::span<const scheduler::Verdict> verdicts);
// "preempt team-a/train-7: 1 of 3 candidates kept"
void LogPreempt(const scheduler::Pod& pod, std::size_t kept, std::size_t offered);
// "bind team-a/train-7 to gpu-3: bound" or the reason's code.
void LogBind(std::string_view name_space, std::string_view name, std::string_view node,
             std::string_view outcome);

}  // namespace offcut::api
