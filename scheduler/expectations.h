// Pods that are expected on a node and hold nothing there yet. Filter and score count them in, so
// that what is meant for one pod is not promised to another; bind, which decides, does not.
//
//   nominated  kube-scheduler evicted pods for it: status.nominatedNodeName. Counts against pods of
//              lower or equal priority, as in kube-scheduler's own filters, but that of two equals
//              nominated to one node only the earlier counts. The scheduler leaves the name in
//              place after errors, so whoever has a clock lets it lapse.
//   held       the pod says so itself (scheduler/hold.h): we evict pods for it, or keep devices
//              until a date. Whoever has a clock lets it lapse at its deadline. Goes before a
//              nomination to the same node, and rests while the pod is nominated to another.
//   claimed    it was told that it fits there, and its bind has not come yet: seconds to minutes,
//              for volumes, Permit, or the rest of its gang. Counts against every other pod, as
//              kube-scheduler's assumed pods do.
//
// A pod may be both. Pure; const use from many threads is safe.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/pod.h"

namespace offcut::scheduler {

enum class ExpectationKind { kNominated, kHeld, kClaimed };

struct Expectation {
  std::shared_ptr<const Pod> pod;
  ExpectationKind kind = ExpectationKind::kNominated;
};

class Expectations {
 public:
  std::span<const Expectation> On(std::string_view node_name) const;
  // Nobody is expected anywhere.
  bool empty() const { return by_node_.empty(); }
  // Whether anything is kept of the pod: that its nomination has lapsed, too.
  bool Knows(std::string_view uid) const { return places_.contains(std::string(uid)); }
  bool IsClaimed(std::string_view uid) const;
  // Whether the pod's nomination to that node has lapsed.
  bool IsLapsed(std::string_view uid, std::string_view node_name) const;

  bool IsHeld(std::string_view uid) const;

  // Expects the pod on the node that it is nominated to or that has devices held for it, and on no
  // other by these. Without such a node, or when nomination and hold have lapsed: on none.
  void Expect(std::shared_ptr<const Pod> pod);
  // The nomination counts no more; one to another node will.
  void LapseNomination(std::string_view uid);
  // The hold counts no more; one with a later deadline will.
  void LapseHold(std::string_view uid);

  // Every one, with its node's name.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [node_name, expectations] : by_node_) {
      for (const Expectation& expectation : expectations) visit(node_name, expectation);
    }
  }

  // Where the pod is expected so surely that its tenant is charged for it: by a claim, else by a
  // hold. pod null: nowhere.
  struct ChargedPlace {
    std::shared_ptr<const Pod> pod;
    std::string node_name;
  };
  ChargedPlace FindCharged(std::string_view uid) const;

  // Expects the pod on that node, and on no other by claim.
  void Claim(std::shared_ptr<const Pod> pod, std::string_view node_name);
  void DropClaim(std::string_view uid);
  // The pod, if it is claimed, is that from now on.
  void RenewClaim(const std::shared_ptr<const Pod>& pod);

  // The pod has arrived, or is gone.
  void Forget(std::string_view uid);

 private:
  struct Places {
    std::string nominated;  // node names; empty: none
    std::string held;
    std::string claimed;
    std::string lapsed;
    std::int64_t hold_lapsed_s = std::numeric_limits<std::int64_t>::min();  // its deadline
    std::shared_ptr<const Pod> pod;  // as it was last expected by nomination or hold
  };

  void Add(std::string_view node_name, Expectation expectation);
  void Remove(std::string_view node_name, std::string_view uid, ExpectationKind kind);
  std::shared_ptr<const Pod> Find(std::string_view node_name, std::string_view uid,
                                  ExpectationKind kind) const;
  void EraseIfNowhere(std::string_view uid);

  std::map<std::string, std::vector<Expectation>, std::less<>> by_node_;
  std::unordered_map<std::string, Places> places_;  // by UID
};

}  // namespace offcut::scheduler
