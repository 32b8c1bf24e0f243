// A node as a pod that is only asked about sees it: with the pods that are expected there. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// The node with every pod on it that `pod` must make way for: claims of others; nominated pods of
// higher or equal priority, of equals that are nominated there like the pod itself the earlier ones
// by age and UID; and pods for which devices are held, as IsHeldAgainst() has it. nullopt: there
// are none, the node is as it stands.
//
// A held place is the owner's once those have left who were to leave it. Until then nobody gets
// anything of its GPUs, where it names them.
std::optional<Node> WithExpected(const Snapshot& snapshot, const Node& node, const Pod& pod);

// The same with nothing but what is held: bind, too, keeps away from it.
std::optional<Node> WithHeld(const Snapshot& snapshot, const Node& node, const Pod& pod);

// Whether devices of the node are held against the pod: what is not free for it may be free.
bool HasHeldAgainst(const Snapshot& snapshot, const Node& node, const Pod& pod);

// Whether what is held for `owner` may not be had by `pod`. Evicted pods' place goes to nobody but
// the owner and pods of its own tenant with a higher priority, or else those who gave way would
// have it back. What is held until a date may be used by pods of higher priority, and by those
// that must have ended by then.
bool IsHeldAgainst(const Snapshot& snapshot, const Pod& owner, const Pod& pod);

struct Nominee {
  const Node* node = nullptr;
  const Pod* pod = nullptr;
  // Pods of lower priority are leaving that node: what they hold becomes the nominee's.
  std::vector<const Holder*> leaving;
};

// The nominated pods that `pod` must make way for wherever it goes, on nodes other than that one
// (empty: on any), in no order that means anything: what they will take of a quota they take for
// all nodes. Of equals that are nominated like the pod itself, the earlier ones. Those that are
// claimed as well are left out. The pointers live as long as the snapshot.
std::vector<Nominee> NomineesBefore(const Snapshot& snapshot, const Pod& pod,
                                    std::string_view but_on);

}  // namespace offcut::scheduler
