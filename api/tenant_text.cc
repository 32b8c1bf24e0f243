#include "api/tenant_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "api/printable.h"

namespace offcut::api {
namespace {

using scheduler::QuotaRefusal;
using scheduler::Tenancy;
using scheduler::TenantReport;

constexpr std::size_t kColumns = 10;
constexpr std::array<std::string_view, kColumns> kHeadings = {
    "TENANT",   "POOL", "RESOURCE",  "GUARANTEE", "USED",
    "BORROWED", "LENT", "AVAILABLE", "SHARE",     "WAITING"};
constexpr std::size_t kTextColumns = 3;  // the others are numbers, and end at their right

using Row = std::array<std::string, kColumns>;

// Hundredths of a GPU, to the nearest; a part of one that is there is never 0.
std::string GpusText(std::int64_t devices) {
  const std::int64_t whole = devices / quota::kWholeDevice;
  const std::int64_t hundredths =
      (devices % quota::kWholeDevice * 100 + quota::kWholeDevice / 2) / quota::kWholeDevice;
  if (devices > 0 && whole == 0 && hundredths == 0) return "<0.01";
  const std::int64_t sum = whole + hundredths / 100;
  const std::int64_t rest = hundredths % 100;
  if (rest == 0) return fmt::format("{}", sum);
  return rest % 10 == 0 ? fmt::format("{}.{}", sum, rest / 10) : fmt::format("{}.{:02}", sum, rest);
}

std::string ShareText(const TenantReport& report) {
  if (report.depth == 0) return "-";  // nobody lends to it
  const std::int64_t permille = quota::SharePermille(report.share);
  if (permille == quota::kUnlimited) return "weight 0";
  return fmt::format("{}.{}%", permille / 10, permille % 10);
}

std::string WaitingText(const scheduler::WaitingPods& waiting) {
  return waiting.gated == 0 ? fmt::format("{}", waiting.pods)
                            : fmt::format("{} ({} gated)", waiting.pods, waiting.gated);
}

// Those that have a limit, and the GPUs of pools that have none.
bool IsInTable(const scheduler::TenantCell& each, const quota::TenantTree& tree, int tenant) {
  return tree.Plan(each.cell, tenant).takes_part ||
         tree.cells[static_cast<std::size_t>(each.cell)].resource == quota::kDevices;
}

void AddRows(const TenantReport& report, const Tenancy& tenancy, int depth,
             std::vector<Row>& rows) {
  const quota::TenantTree& tree = *tenancy.tree;
  const std::string indent(2 * static_cast<std::size_t>(depth), ' ');
  std::string name = indent + Printable(scheduler::NameOf(tenancy, report.tenant));
  const std::size_t first = rows.size();
  for (const scheduler::TenantCell& each : report.cells) {
    if (!IsInTable(each, tree, report.tenant)) continue;
    const quota::Cell& cell = tree.cells[static_cast<std::size_t>(each.cell)];
    const auto amount = [&](std::int64_t value) { return AmountText(cell.resource, value); };
    rows.push_back({"", Printable(cell.pool), Printable(cell.resource),
                    amount(each.standing.guarantee), amount(each.standing.used),
                    amount(each.standing.borrowed), amount(each.standing.lent),
                    amount(each.standing.available), "", ""});
  }
  if (rows.size() == first) rows.push_back({"", "-", "-", "-", "-", "-", "-", "-", "", ""});
  rows[first].front() = std::move(name);
  rows[first][kColumns - 2] = ShareText(report);
  rows[first][kColumns - 1] = WaitingText(report.waiting);
}

std::string TableOf(const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) {
      if (i > 0) line += "  ";
      line += i < kTextColumns ? fmt::format("{:<{}}", row[i], widths[i])
                               : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  return table;
}

std::vector<Row> Heading() {
  Row row;
  std::ranges::copy(kHeadings, row.begin());
  return {std::move(row)};
}

// What "fits" would say of a pod that waits.
std::string_view TextOf(scheduler::Reason reason) {
  return reason == scheduler::Reason::kFits ? "fits by quota and devices; its turn has not come"
                                            : scheduler::InfoOf(reason).text;
}

std::string NameOf(const scheduler::Pod& pod) {
  return fmt::format("{}/{}", Printable(pod.name_space), Printable(pod.name));
}

std::string ReasonsText(const scheduler::WaitingPods& waiting, std::string_view tenant) {
  std::string text = fmt::format("\n{}: {} pod{} wait{}", Printable(tenant), waiting.pods,
                                 waiting.pods == 1 ? "" : "s", waiting.pods == 1 ? "s" : "");
  if (waiting.gated > 0) text += fmt::format(", {} behind the gate", waiting.gated);
  text += "\n";
  for (const auto& [reason, pods] : waiting.reasons) {
    text += fmt::format("  {} {}  {}\n", pods, scheduler::InfoOf(reason).code, TextOf(reason));
  }
  if (waiting.not_judged > 0) text += fmt::format("  {} not judged\n", waiting.not_judged);
  return text;
}

std::string OldestText(const scheduler::WaitingPods& waiting) {
  std::string text = "  oldest: ";
  for (const scheduler::WaitingPod& each : waiting.oldest) {
    if (&each != &waiting.oldest.front()) text += ", ";
    text += NameOf(*each.pod);
  }
  return text + "\n";
}

std::string PodsText(const scheduler::WaitingPods& waiting) {
  std::string text = "  oldest:\n";
  for (const scheduler::WaitingPod& each : waiting.oldest) {
    text += fmt::format("    {}  {}{}\n", NameOf(*each.pod),
                        each.reason ? scheduler::InfoOf(*each.reason).code : "not judged",
                        each.pod->has_quota_gate ? ", gated" : "");
  }
  return text;
}

// "8 GPUs", "1 GPU", "4 1g.10gb instances".
std::string AmountWithUnit(std::string_view resource, std::int64_t amount) {
  const std::string number = AmountText(resource, amount);
  const std::string_view plural = number == "1" ? "" : "s";
  if (resource == quota::kDevices) return fmt::format("{} GPU{}", number, plural);
  if (resource == quota::kMemoryMib) return fmt::format("{} MiB of GPU memory", number);
  if (resource == quota::kCores) {
    return fmt::format("{} thousandth{} of a GPU's compute", number, plural);
  }
  return fmt::format("{} {} instance{}", number, Printable(resource), plural);
}

std::string PlaceOf(const QuotaRefusal& refusal) {
  return refusal.pool == quota::kAllPools ? "in all pools together"
                                          : fmt::format("in pool {}", Printable(refusal.pool));
}

// " and borrows 2 of 2, lends 1"
std::string BorrowingText(const QuotaRefusal& refusal) {
  const auto amount = [&](std::int64_t value) { return AmountText(refusal.resource, value); };
  std::string text;
  if (refusal.may_borrow && refusal.borrowing_limit != quota::kUnlimited) {
    text = fmt::format(" and borrows {} of {}", amount(refusal.standing.borrowed),
                       amount(refusal.borrowing_limit));
  } else if (refusal.standing.borrowed > 0) {
    text = fmt::format(" and borrows {}", amount(refusal.standing.borrowed));
  }
  if (refusal.standing.lent > 0) {
    const std::string lent = amount(refusal.standing.lent);
    text += fmt::format(", and {} {} lent", lent, lent == "1" ? "is" : "are");
  }
  return text;
}

}  // namespace

std::string AmountText(std::string_view resource, std::int64_t amount) {
  if (amount == quota::kUnlimited) return "unlimited";
  return resource == quota::kDevices ? GpusText(amount) : fmt::format("{}", amount);
}

std::string PrintTenants(std::span<const TenantReport> reports, const Tenancy* tenancy) {
  if (reports.empty()) return "no tenants: the policy names none\n";
  std::vector<Row> rows = Heading();
  std::string reasons;
  for (const TenantReport& report : reports) {
    AddRows(report, *tenancy, report.depth, rows);
    if (report.waiting.pods == 0) continue;
    reasons += ReasonsText(report.waiting, scheduler::NameOf(*tenancy, report.tenant));
    reasons += OldestText(report.waiting);
  }
  return TableOf(rows) + reasons;
}

std::string PrintTenant(const TenantReport& report, const Tenancy& tenancy) {
  std::vector<Row> rows = Heading();
  AddRows(report, tenancy, 0, rows);
  if (report.waiting.pods == 0) return TableOf(rows);
  return TableOf(rows) + ReasonsText(report.waiting, scheduler::NameOf(tenancy, report.tenant)) +
         PodsText(report.waiting);
}

std::string RefusalText(std::string_view tenant, const QuotaRefusal& refusal) {
  const auto amount = [&](std::int64_t value) { return AmountText(refusal.resource, value); };
  const std::string asks = fmt::format("; the pod asks for {}", amount(refusal.asked));
  const std::string name = Printable(tenant);
  if (refusal.reason == scheduler::Reason::kQuotaNever) {
    return fmt::format("{} may never use more than {} {}{}{}", name,
                       AmountWithUnit(refusal.resource, refusal.standing.potential),
                       PlaceOf(refusal), refusal.may_borrow ? ", borrowed ones among them" : "",
                       asks);
  }
  std::string text = fmt::format("{} uses {} of {} guaranteed {}{}", name,
                                 amount(refusal.standing.used - refusal.standing.borrowed),
                                 AmountWithUnit(refusal.resource, refusal.standing.guarantee),
                                 PlaceOf(refusal), BorrowingText(refusal));
  if (refusal.limited_by != tenant) {
    text += fmt::format("; {} has {} left for all below it", Printable(refusal.limited_by),
                        refusal.left_there == 0 ? "nothing" : amount(refusal.left_there));
  } else if (refusal.standing.available > 0) {
    text += fmt::format("; {} left", amount(refusal.standing.available));
  }
  return text + asks;
}

}  // namespace offcut::api
