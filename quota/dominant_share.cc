#include "quota/dominant_share.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace offcut::quota {
namespace {

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

// What `node` takes more of the cell when `tenant`, which it is or has below it, is charged more.
std::int64_t Arriving(const Ledger& ledger, int node, int tenant, CellAmount more) {
  if (!ledger.tree().Plan(more.cell, tenant).takes_part) return 0;
  std::int64_t delta = more.amount;
  for (int t = tenant; t != node && delta > 0; t = ledger.tree().Parent(t)) {
    assert(t >= 0);
    const std::int64_t local = ledger.tree().Plan(more.cell, t).local;
    const std::int64_t used = ledger.Used(t, more.cell);
    const std::int64_t before = std::max<std::int64_t>(0, SaturatingSub(used, local));
    const std::int64_t after =
        std::max<std::int64_t>(0, SaturatingSub(SaturatingAdd(used, delta), local));
    delta = SaturatingSub(after, before);
  }
  return delta;
}

// Finds the largest of `borrowed`, by resource, over what the parent could use of each.
DominantShare Dominant(const TenantTree& tree, int parent, std::span<const std::int64_t> borrowed,
                       std::int64_t weight_micro) {
  DominantShare share{.weight_micro = weight_micro};
  for (std::size_t r = 0; r < borrowed.size(); ++r) {
    if (borrowed[r] == 0) continue;
    share.borrowing = true;
    const std::int64_t lendable = tree.lendable[r * tree.tenants.size() + Index(parent)];
    if (lendable <= 0) continue;
    const Ratio ratio{borrowed[r], lendable};
    if (Compare(ratio, Ratio{share.borrowed, share.lendable}) <= 0) continue;
    share.resource = static_cast<int>(r);
    share.borrowed = borrowed[r];
    share.lendable = lendable;
  }
  return share;
}

std::int64_t AmountOf(std::span<const CellAmount> charge, int cell) {
  const auto found = std::ranges::lower_bound(charge, cell, {}, &CellAmount::cell);
  return found != charge.end() && found->cell == cell ? found->amount : 0;
}

}  // namespace

DominantShare ShareOf(const Ledger& ledger, int node) { return ShareAfter(ledger, node, node, {}); }

DominantShare ShareAfter(const Ledger& ledger, int node, int tenant,
                         std::span<const CellAmount> more) {
  const TenantTree& tree = ledger.tree();
  const std::int64_t weight = tree.tenants[Index(node)].weight_micro;
  if (tree.Parent(node) < 0) return {.weight_micro = weight};
  std::vector<std::int64_t> borrowed(tree.shared.size());
  for (std::size_t c = 0; c < tree.cells.size(); ++c) {
    const int cell = static_cast<int>(c);
    const std::int64_t amount = AmountOf(more, cell);
    const std::int64_t arriving = amount == 0 ? 0 : Arriving(ledger, node, tenant, {cell, amount});
    const std::int64_t used = SaturatingAdd(ledger.Used(node, cell), arriving);
    const std::int64_t beyond = SaturatingSub(used, tree.Plan(cell, node).subtree);
    std::int64_t& sum = borrowed[Index(tree.cells[c].share)];
    if (beyond > 0) sum = SaturatingAdd(sum, beyond);
  }
  return Dominant(tree, tree.Parent(node), borrowed, weight);
}

DominantShare OwnShareAfter(const Ledger& ledger, int tenant, std::span<const CellAmount> more) {
  const TenantTree& tree = ledger.tree();
  std::vector<std::int64_t> borrowed(tree.shared.size());
  for (std::size_t c = 0; c < tree.cells.size(); ++c) {
    const int cell = static_cast<int>(c);
    if (!tree.Plan(cell, tenant).takes_part) continue;
    const std::int64_t uses = SaturatingAdd(ledger.Own(tenant, cell), AmountOf(more, cell));
    std::int64_t& sum = borrowed[Index(tree.cells[c].share)];
    sum = SaturatingAdd(sum, uses);
  }
  return Dominant(tree, tenant, borrowed, kWeightOne);
}

std::strong_ordering Compare(const DominantShare& a, const DominantShare& b) {
  const bool a_endless = a.borrowing && a.weight_micro == 0;
  const bool b_endless = b.borrowing && b.weight_micro == 0;
  if (a_endless != b_endless) {
    return a_endless ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  const auto ratio = [&](const DominantShare& share) {
    const std::int64_t weight = a_endless || share.borrowed == 0 ? 1 : share.weight_micro;
    return Ratio{share.borrowed, Wide{share.lendable} * weight};
  };
  return Compare(ratio(a), ratio(b));
}

std::int64_t SharePermille(const DominantShare& share) {
  if (share.borrowing && share.weight_micro == 0) return kUnlimited;
  if (share.borrowed == 0) return 0;
  return Ceiling(
      {Wide{share.borrowed} * 1000 * kWeightOne, Wide{share.lendable} * share.weight_micro});
}

}  // namespace offcut::quota
