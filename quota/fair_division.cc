#include "quota/fair_division.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "quota/exact.h"

namespace offcut::quota {
namespace {

// What rounding took from a claim's part.
struct Loss {
  std::size_t claim = 0;
  Ratio fraction;
};

std::int64_t Requestable(const Claim& claim) {
  return std::min(claim.request, claim.limit.value_or(kUnlimited));
}

class Divider {
 public:
  Divider(std::int64_t total, std::int64_t unit, std::span<const Claim> claims)
      : unit_(unit), claims_(claims) {
    division_.shares.resize(claims.size());
    division_.remaining = total;
  }

  void GiveDeserved() {
    const std::int64_t total = division_.remaining;
    for (std::size_t i = 0; i < claims_.size(); ++i) {
      Give(i, std::min(claims_[i].deserved.value_or(total), Requestable(claims_[i])));
    }
    division_.remaining = std::max<std::int64_t>(0, division_.remaining);
  }

  // The rest, as far as those of one priority want it.
  void DivideAmong(std::span<const std::size_t> members) {
    std::vector<Loss> losses;
    while (division_.remaining > 0 && GiveRound(members, losses)) {
    }
    std::ranges::sort(losses, [&](const Loss& a, const Loss& b) {
      const auto order = Compare(a.fraction, b.fraction);
      if (order != 0) return order > 0;
      return std::pair(claims_[a.claim].age_order, a.claim) <
             std::pair(claims_[b.claim].age_order, b.claim);
    });
    for (const Loss& loss : losses) {
      Give(loss.claim, std::min({unit_, Wanted(loss.claim), division_.remaining}));
    }
  }

  Division Result() { return std::move(division_); }

 private:
  std::int64_t Wanted(std::size_t i) const {
    return std::max<std::int64_t>(0, SaturatingSub(Requestable(claims_[i]), division_.shares[i]));
  }

  void Give(std::size_t i, std::int64_t amount) {
    division_.shares[i] += amount;
    division_.remaining = SaturatingSub(division_.remaining, amount);
  }

  // True iff somebody wanted less than its part, so that another round gives the others more.
  bool GiveRound(std::span<const std::size_t> members, std::vector<Loss>& losses) {
    Wide weights = 0;
    std::vector<std::pair<std::size_t, std::int64_t>> wanting;
    for (const std::size_t i : members) {
      if (const std::int64_t wanted = Wanted(i); wanted > 0 && claims_[i].weight > 0) {
        weights += claims_[i].weight;
        wanting.emplace_back(i, wanted);
      }
    }
    const std::int64_t in_this_round = division_.remaining;
    bool again = false;
    for (const auto& [i, wanted] : wanting) {
      const Wide part = Wide{in_this_round} * claims_[i].weight;  // over `weights`
      std::erase_if(losses, [&](const Loss& loss) { return loss.claim == i; });
      if (Wide{wanted} * weights <= part) {
        again = again || Wide{wanted} * weights < part;
        Give(i, wanted);
        continue;
      }
      const Wide whole = weights * unit_;
      assert(whole > 0);  // this claim's weight is
      Give(i, static_cast<std::int64_t>(part / whole) * unit_);
      if (part % whole != 0) losses.push_back({i, Ratio{part % whole, whole}});
    }
    return again;
  }

  std::int64_t unit_;
  std::span<const Claim> claims_;
  Division division_;
};

}  // namespace

Division Divide(std::int64_t total, std::int64_t unit, std::span<const Claim> claims) {
  assert(unit > 0 && total >= 0);
  Divider divider(total, unit, claims);
  divider.GiveDeserved();
  std::set<std::int64_t, std::greater<>> priorities;
  for (const Claim& claim : claims) priorities.insert(claim.priority);
  for (const std::int64_t priority : priorities) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (claims[i].priority == priority) members.push_back(i);
    }
    divider.DivideAmong(members);
  }
  return divider.Result();
}

}  // namespace offcut::quota
