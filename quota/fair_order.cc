#include "quota/fair_order.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "quota/dominant_share.h"

namespace offcut::quota {
namespace {

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

bool WaitsBefore(std::span<const Waiting> waiting, std::size_t a, std::size_t b) {
  if (waiting[a].priority != waiting[b].priority) {
    return waiting[a].priority > waiting[b].priority;
  }
  if (waiting[a].since != waiting[b].since) return waiting[a].since < waiting[b].since;
  return a < b;
}

// A request that stands for a subtree, and that subtree's share once it is charged.
struct Contender {
  std::size_t request = kNobody;
  DominantShare share;
};

class Tournament {
 public:
  Tournament(Ledger ledger, std::span<const Waiting> waiting)
      : ledger_(std::move(ledger)), waiting_(waiting) {
    const std::vector<int>& parents = ledger_.tree().parents;
    queues_.resize(parents.size());
    next_.resize(parents.size());
    winners_.resize(parents.size());
    children_.resize(parents.size());
    roots_.resize(parents.size());
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      queues_[Index(waiting[i].tenant)].push_back(i);
    }
    for (std::size_t t = 0; t < parents.size(); ++t) {
      std::ranges::sort(queues_[t],
                        [&](std::size_t a, std::size_t b) { return WaitsBefore(waiting_, a, b); });
      roots_[t] = parents[t] < 0 ? static_cast<int>(t) : roots_[Index(parents[t])];
      if (parents[t] >= 0) children_[Index(parents[t])].push_back(static_cast<int>(t));
    }
    is_stale_.assign(parents.size(), true);
    for (std::size_t t = 0; t < parents.size() && parents[t] < 0; ++t) {
      PlayAll(static_cast<int>(t));
    }
  }

  // The next of those that fit, charged; kNobody: there is none.
  std::size_t Next() {
    const std::size_t request = Champion();
    if (request == kNobody) return kNobody;
    const int tenant = waiting_[request].tenant;
    ledger_.Add(tenant, waiting_[request].charge);
    ++next_[Index(tenant)];
    is_stale_[Index(tenant)] = true;
    PlayAll(roots_[Index(tenant)]);
    return request;
  }

 private:
  // Passes over what no longer fits, and has those meet again whom that, or a charge, concerns.
  // What does not fit must not compete: a large request would stand before a tenant's small ones
  // with a share that nobody ever gets.
  void PlayAll(int root) {
    for (std::size_t t = roots_.size(); t-- > Index(root);) {
      if (roots_[t] != root) continue;
      if (PassOverUnfit(static_cast<int>(t))) is_stale_[t] = true;
      if (!is_stale_[t]) continue;
      Play(static_cast<int>(t));
      is_stale_[t] = false;
      const int parent = ledger_.tree().parents[t];
      if (parent >= 0) is_stale_[Index(parent)] = true;
    }
  }

  bool PassOverUnfit(int tenant) {
    const std::vector<std::size_t>& queue = queues_[Index(tenant)];
    std::size_t& next = next_[Index(tenant)];
    const std::size_t before = next;
    const auto fits = [&](const Waiting& request) {
      return ledger_.Check(tenant, request.charge).answer == Answer::kFits;
    };
    while (next < queue.size() && !fits(waiting_[queue[next]])) ++next;
    return next != before;
  }

  bool Beats(const Contender& a, const Contender& b) const {
    if (b.request == kNobody) return a.request != kNobody;
    if (a.request == kNobody) return false;
    const auto order = Compare(a.share, b.share);
    return order != 0 ? order < 0 : WaitsBefore(waiting_, a.request, b.request);
  }

  // Whose turn it is at the node, among its own requests and the winners of its children.
  void Play(int node) {
    Contender best = Own(node);
    for (const int child : children_[Index(node)]) {
      if (Beats(winners_[Index(child)], best)) best = winners_[Index(child)];
    }
    if (best.request != kNobody) {
      const Waiting& winner = waiting_[best.request];
      best.share = ShareAfter(ledger_, node, winner.tenant, winner.charge);
    }
    winners_[Index(node)] = best;
  }

  Contender Own(int node) const {
    const std::vector<std::size_t>& queue = queues_[Index(node)];
    if (next_[Index(node)] == queue.size()) return {};
    Contender own{.request = queue[next_[Index(node)]]};
    // Its share among the children is wanted only where there are any.
    if (!children_[Index(node)].empty()) {
      own.share = OwnShareAfter(ledger_, node, waiting_[own.request].charge);
    }
    return own;
  }

  std::size_t Champion() const {
    std::size_t best = kNobody;
    for (std::size_t t = 0; t < winners_.size() && ledger_.tree().parents[t] < 0; ++t) {
      const std::size_t request = winners_[t].request;
      if (request == kNobody) continue;
      if (best == kNobody || WaitsBefore(waiting_, request, best)) best = request;
    }
    return best;
  }

  Ledger ledger_;
  std::span<const Waiting> waiting_;
  std::vector<std::vector<std::size_t>> queues_;  // by tenant, the first to go first
  std::vector<std::size_t> next_;                 // by tenant: where in its queue
  std::vector<std::vector<int>> children_;        // by tenant
  std::vector<int> roots_;                        // by tenant
  std::vector<Contender> winners_;                // by tenant, of its subtree
  std::vector<bool> is_stale_;                    // by tenant: its winner
};

}  // namespace

std::vector<std::size_t> FairOrder(Ledger ledger, std::span<const Waiting> waiting,
                                   std::size_t at_most) {
  Tournament tournament(std::move(ledger), waiting);
  std::vector<std::size_t> order;
  while (order.size() < at_most) {
    const std::size_t request = tournament.Next();
    if (request == kNobody) break;
    order.push_back(request);
  }
  return order;
}

}  // namespace offcut::quota
