// What people are told about an eviction of ours, in events and in the log. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/reclaim.h"
#include "scheduler/snapshot.h"

namespace offcut::api {

// "tenant blue has less than its guarantee, and tenant red more"; "priority 5 is above 0".
std::string ReclaimCause(const scheduler::Snapshot& snapshot, const scheduler::Pod& pod,
                         const scheduler::Pod& victim);

// For the pod: "evicts red/a, red/b on node n: ...; what they leave is kept for this pod until
// 2026-01-01T00:00:00Z"; of a dry run "would evict ...".
std::string ReclaimNote(const scheduler::Snapshot& snapshot, const scheduler::Pod& pod,
                        const scheduler::ReclaimPlan& plan, bool is_dry_run, std::int64_t until_s);

// For the victim: "evicted for blue/b: ...".
std::string VictimNote(const scheduler::Snapshot& snapshot, const scheduler::Pod& pod,
                       const scheduler::Pod& victim, bool is_dry_run);

}  // namespace offcut::api
