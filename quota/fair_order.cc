#include "quota/fair_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
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
    const std::size_t count = ledger_.tree().tenants.size();
    queues_.resize(count);
    next_.resize(count);
    winners_.resize(count);
    children_.resize(count);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      queues_[Index(waiting[i].tenant)].push_back(i);
    }
    for (std::size_t t = count; t-- > 0;) {
      std::ranges::sort(queues_[t],
                        [&](std::size_t a, std::size_t b) { return WaitsBefore(waiting_, a, b); });
      const int parent = ledger_.tree().parents[t];
      if (parent >= 0) children_[Index(parent)].push_back(static_cast<int>(t));
      Play(static_cast<int>(t));
    }
  }

  // The next that fits, charged; kNobody: none does.
  std::size_t Next() {
    while (true) {
      const std::size_t request = Champion();
      if (request == kNobody) return kNobody;
      const Waiting& winner = waiting_[request];
      const bool fits = ledger_.Check(winner.tenant, winner.charge).answer == Answer::kFits;
      if (fits) ledger_.Add(winner.tenant, winner.charge);
      ++next_[Index(winner.tenant)];
      for (int t = winner.tenant; t >= 0; t = ledger_.tree().Parent(t)) Play(t);
      if (fits) return request;
    }
  }

 private:
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
  std::vector<Contender> winners_;                // by tenant, of its subtree
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
