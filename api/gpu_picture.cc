#include "api/gpu_picture.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "api/number_text.h"
#include "api/printable.h"
#include "binpack/mig_packing.h"

namespace offcut::api {
namespace {

using binpack::Gpu;
using binpack::NodeState;
using binpack::Piece;
using scheduler::Node;

constexpr int kMarginColumns = 5;       // " 12! ": a GPU's index and a mark of its health
constexpr int kSlotCellColumnsMin = 4;  // narrower slots become one row of marks
constexpr int kPodStumpColumnsMin = 4;  // of a pod's name that is cut
constexpr int kPoolNameColumnsMax = 24;
constexpr int kPoolMarksMax = 32;         // larger pools show figures alone
constexpr int kMemoryBarColumnsMax = 20;  // the bar of cores has half of it
constexpr int kNamesColumnsMin = 8;       // of the pods beside the bars
constexpr int kNodesWithoutGpusMax = 20;  // that are named
constexpr std::string_view kEllipsis = "…";

enum class Tone { kPlain, kHeading, kHeld, kFree, kOffcut, kWarning };

std::string_view AnsiOf(Tone tone) {
  switch (tone) {
    case Tone::kHeading:
      return "\x1b[1m";
    case Tone::kHeld:
      return "\x1b[36m";
    case Tone::kFree:
      return "\x1b[32m";
    case Tone::kOffcut:
      return "\x1b[31m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kPlain:
      break;
  }
  return "";
}

std::string Painted(std::string text, Tone tone, const GpuPictureStyle& style) {
  if (!style.colour || tone == Tone::kPlain) return text;
  return fmt::format("{}{}\x1b[0m", AnsiOf(tone), text);
}

// Every mark that we draw is one column wide, and names are ASCII: columns are code points.
int ColumnsOf(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Repeated(std::string_view mark, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += mark;
  return result;
}

// Cut, where it is too long, so that an ellipsis ends it.
std::string Cut(std::string_view text, int columns) {
  if (columns <= 0) return {};
  if (ColumnsOf(text) <= columns) return std::string(text);
  std::size_t end = 0;
  for (int seen = 0; end < text.size(); ++end) {
    const bool is_first_byte = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (is_first_byte && ++seen == columns) break;
  }
  return std::string(text.substr(0, end)).append(kEllipsis);
}

std::string Fitted(std::string_view text, int columns) {
  std::string result = Cut(text, columns);
  result.append(static_cast<std::size_t>(std::max(0, columns - ColumnsOf(result))), ' ');
  return result;
}

std::string Joined(std::span<const std::string> texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Columns between the borders of a GPU's box. One more divides by eight, so that MIG slices of
// most models are of one width.
int BoxColumns(const GpuPictureStyle& style) {
  return (style.columns - kMarginColumns - 1) / 8 * 8 - 1;
}

struct Cell {
  std::string text;
  int columns = 0;
  Tone tone = Tone::kFree;
};

std::string BoxOf(std::span<const Cell> cells, const GpuPictureStyle& style) {
  std::string line = "│";
  for (const Cell& cell : cells) {
    line += Painted(Fitted(cell.text, cell.columns), cell.tone, style);
    line += "│";
  }
  return line;
}

// Columns of the cell that covers parts [begin, end) of a box cut into `parts`.
int CellColumns(int begin, int end, int parts, const GpuPictureStyle& style) {
  const int columns = BoxColumns(style) + 1;
  return end * columns / parts - begin * columns / parts - 1;
}

struct HeldPiece {
  const Piece* piece = nullptr;
  std::string pod;
};
using HeldPieces = std::vector<HeldPiece>;

HeldPieces PiecesWhere(const Node& node, auto is_such) {
  HeldPieces held;
  for (const scheduler::Holder& holder : node.holders) {
    for (const Piece& piece : holder.placement.pieces) {
      if (is_such(piece)) held.push_back({&piece, Printable(holder.pod->name)});
    }
  }
  return held;
}

// Each text once, at its first place, and how often it comes.
std::vector<std::pair<std::string, int>> Counted(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, int>> counts;
  for (const std::string& text : texts) {
    const auto found = std::ranges::find(counts, text, &std::pair<std::string, int>::first);
    if (found == counts.end()) {
      counts.emplace_back(text, 1);
    } else {
      ++found->second;
    }
  }
  return counts;
}

// "a, b x2": each pod once, in the order in which they hold.
std::string PodsOf(const HeldPieces& held) {
  std::vector<std::string> pods(held.size());
  std::ranges::transform(held, pods.begin(), &HeldPiece::pod);
  std::string text;
  for (const auto& [pod, count] : Counted(pods)) {
    if (!text.empty()) text += ", ";
    text += count == 1 ? pod : fmt::format("{} x{}", pod, count);
  }
  return text;
}

std::string_view HealthMark(binpack::GpuHealth health) {
  switch (health) {
    case binpack::GpuHealth::kUnhealthy:
      return "!";
    case binpack::GpuHealth::kCordoned:
      return "~";
    case binpack::GpuHealth::kHealthy:
      break;
  }
  return " ";
}

std::string_view FreeText(binpack::GpuHealth health) {
  switch (health) {
    case binpack::GpuHealth::kUnhealthy:
      return "· unhealthy";
    case binpack::GpuHealth::kCordoned:
      return "· cordoned";
    case binpack::GpuHealth::kHealthy:
      break;
  }
  return "· free";
}

std::string DrawWhole(const Gpu& gpu, const binpack::WholeGpu& whole, const HeldPieces& held,
                      const GpuPictureStyle& style) {
  Cell cell{.columns = BoxColumns(style)};
  if (whole.taken) {
    cell.text = fmt::format("■ {}", PodsOf(held));
    cell.tone = Tone::kHeld;
  } else {
    cell.text = FreeText(gpu.health);
    if (gpu.health != binpack::GpuHealth::kHealthy) cell.tone = Tone::kWarning;
  }
  return BoxOf({&cell, 1}, style);
}

// The free slices that some profile can still cover.
std::uint16_t ReachableSlices(const binpack::GpuModel& model, const binpack::MigGpu& mig) {
  const binpack::MigRoom room = binpack::RoomOf(model, mig);
  std::uint16_t reachable = 0;
  for (const binpack::MigProfile& profile : model.profiles) {
    for (const int start : profile.starts) {
      if (!binpack::FitsAt(profile, start, room)) continue;
      reachable |= binpack::SliceMask({.start = start, .size = profile.memory_slices});
    }
  }
  return reachable;
}

// A stump of a pod's name says nothing, so it gives way to the profile's.
std::string InstanceText(std::string_view profile, std::string_view pod, int columns) {
  std::string text = fmt::format("■ {}", Printable(profile));
  if (columns - ColumnsOf(text) - 1 >= std::min(kPodStumpColumnsMin, ColumnsOf(pod))) {
    text += fmt::format(" {}", pod);
  }
  return text;
}

std::string DrawMig(const Gpu& gpu, const binpack::MigGpu& mig, const HeldPieces& held,
                    const GpuPictureStyle& style) {
  if (gpu.model == nullptr || gpu.model->memory_slices == 0) {
    const Cell cell{"? MIG geometry is not known", BoxColumns(style), Tone::kWarning};
    return BoxOf({&cell, 1}, style);
  }
  const binpack::GpuModel& model = *gpu.model;
  const std::uint16_t reachable = ReachableSlices(model, mig);
  std::vector<Cell> cells;
  for (int slice = 0; slice < model.memory_slices;) {
    const auto instance = std::ranges::find_if(
        mig.instances, [&](const auto& each) { return each.slices.start == slice; });
    if (instance == mig.instances.end()) {
      const bool is_reachable = ((reachable >> slice) & 1) != 0;
      cells.push_back({is_reachable ? "·" : "×",
                       CellColumns(slice, slice + 1, model.memory_slices, style),
                       is_reachable ? Tone::kFree : Tone::kOffcut});
      ++slice;
      continue;
    }
    const int end = slice + std::max(1, instance->slices.size);
    const auto holder = std::ranges::find_if(
        held, [&](const HeldPiece& each) { return each.piece->slices == instance->slices; });
    const auto profile = static_cast<std::size_t>(instance->profile);
    const int columns = CellColumns(slice, end, model.memory_slices, style);
    cells.push_back({InstanceText(model.profiles[profile].name,
                                  holder == held.end() ? "" : holder->pod, columns),
                     columns, Tone::kHeld});
    slice = end;
  }
  return BoxOf(cells, style);
}

std::string DrawSlots(const Gpu&, const binpack::SharedGpu& shared, const HeldPieces& held,
                      const GpuPictureStyle& style) {
  const int slots = std::max(1, shared.slots);
  if ((BoxColumns(style) + 1) / slots - 1 < kSlotCellColumnsMin) {
    const Cell cell{fmt::format("{}{} {}/{}", Repeated("■", shared.slots_used),
                                Repeated("·", shared.slots - shared.slots_used), shared.slots_used,
                                shared.slots),
                    BoxColumns(style), shared.slots_used == 0 ? Tone::kFree : Tone::kHeld};
    return BoxOf({&cell, 1}, style);
  }
  std::vector<Cell> cells;
  for (int slot = 0; slot < slots; ++slot) {
    const bool is_used = slot < shared.slots_used;
    const auto index = static_cast<std::size_t>(slot);
    const std::string pod = is_used && index < held.size() ? held[index].pod : "";
    cells.push_back({is_used ? fmt::format("■ {}", pod) : "·",
                     CellColumns(slot, slot + 1, slots, style),
                     is_used ? Tone::kHeld : Tone::kFree});
  }
  return BoxOf(cells, style);
}

// Rounded up, so that what is in use is seen and only a full bar is full.
std::string BarOf(int used, int total, int columns, const GpuPictureStyle& style) {
  const std::int64_t filled =
      total <= 0 ? 0
                 : std::clamp<std::int64_t>((std::int64_t{used} * columns + total - 1) / total, 0,
                                            used < total ? columns - 1 : columns);
  return Painted(Repeated("█", static_cast<int>(filled)), Tone::kHeld, style) +
         Painted(Repeated("░", columns - static_cast<int>(filled)), Tone::kFree, style);
}

std::string DrawFractions(const Gpu& gpu, const binpack::FractionalGpu& fractional,
                          const HeldPieces& held, const GpuPictureStyle& style) {
  const std::string total = std::to_string(gpu.memory_mib);
  const std::string memory_figures =
      fmt::format(" {:>{}}/{} MiB  ", fractional.memory_mib_used, total.size(), total);
  const std::string cores_figures =
      fmt::format(" {:3}/{} %  {}/{}  ", fractional.cores_percent_used, fractional.cores_percent,
                  fractional.sharers, fractional.sharers_max);
  const int rest = BoxColumns(style) - ColumnsOf("memory cores ") - ColumnsOf(memory_figures) -
                   ColumnsOf(cores_figures);
  const int memory_columns = std::clamp((rest - kNamesColumnsMin) * 2 / 3, 0, kMemoryBarColumnsMax);
  const int cores_columns = memory_columns / 2;
  return fmt::format(
      "│memory {}{}cores {}{}{}│",
      BarOf(fractional.memory_mib_used, gpu.memory_mib, memory_columns, style), memory_figures,
      BarOf(fractional.cores_percent_used, fractional.cores_percent, cores_columns, style),
      cores_figures, Fitted(PodsOf(held), rest - memory_columns - cores_columns));
}

std::string DrawGpu(const Node& node, std::size_t index, const GpuPictureStyle& style) {
  const Gpu& gpu = node.state.gpus[index];
  const HeldPieces held =
      PiecesWhere(node, [&](const Piece& piece) { return piece.gpu == static_cast<int>(index); });
  const std::string box = std::visit(
      [&]<typename State>(const State& state) {
        if constexpr (std::is_same_v<State, binpack::WholeGpu>) {
          return DrawWhole(gpu, state, held, style);
        } else if constexpr (std::is_same_v<State, binpack::MigGpu>) {
          return DrawMig(gpu, state, held, style);
        } else if constexpr (std::is_same_v<State, binpack::SharedGpu>) {
          return DrawSlots(gpu, state, held, style);
        } else {
          return DrawFractions(gpu, state, held, style);
        }
      },
      gpu.state);
  return fmt::format(
      "{:3}{} {}\n", index,
      Painted(std::string(HealthMark(gpu.health)),
              gpu.health == binpack::GpuHealth::kHealthy ? Tone::kPlain : Tone::kWarning, style),
      box);
}

std::string PoolName(const binpack::InstancePool& pool) {
  std::string name = Cut(Printable(pool.profile), kPoolNameColumnsMax);
  if (pool.replicas > 1) name += fmt::format(" in {} slots", pool.replicas);
  return name;
}

// "     1g.5gb  3/4  ●●●○  a, b x2". A pool in use beyond what is healthy shows so in its figures.
std::string DrawPool(const Node& node, std::size_t index, int name_columns,
                     const GpuPictureStyle& style) {
  const binpack::InstancePool& pool = node.state.pools[index];
  std::string marks;
  if (pool.units + pool.units_unhealthy <= kPoolMarksMax) {
    const int free = std::max(0, pool.units - pool.units_used);
    const int unhealthy_free =
        std::max(0, pool.units + pool.units_unhealthy - pool.units_used - free);
    marks = Painted(Repeated("●", pool.units_used), Tone::kHeld, style) +
            Painted(Repeated("○", free), Tone::kFree, style) +
            Painted(Repeated("!", unhealthy_free), Tone::kWarning, style) + "  ";
  }
  const std::string left = fmt::format("{:5}{}  {}/{}  ", "", Fitted(PoolName(pool), name_columns),
                                       pool.units_used, pool.units);
  const int marks_columns =
      marks.empty() ? 0 : std::max(pool.units_used, pool.units + pool.units_unhealthy) + 2;
  const HeldPieces held =
      PiecesWhere(node, [&](const Piece& piece) { return piece.pool == static_cast<int>(index); });
  const int names_columns =
      kMarginColumns + BoxColumns(style) + 2 - ColumnsOf(left) - marks_columns;
  std::string line = left + marks + Cut(PodsOf(held), names_columns);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string DrawPools(const Node& node, const GpuPictureStyle& style) {
  int name_columns = 0;
  for (const binpack::InstancePool& pool : node.state.pools) {
    name_columns = std::max(name_columns, ColumnsOf(PoolName(pool)));
  }
  std::string lines;
  for (std::size_t i = 0; i < node.state.pools.size(); ++i) {
    lines += DrawPool(node, i, name_columns, style);
  }
  return lines;
}

std::string_view KindOf(const Gpu& gpu) {
  if (std::holds_alternative<binpack::MigGpu>(gpu.state)) return "MIG";
  if (std::holds_alternative<binpack::FractionalGpu>(gpu.state)) return "fractions";
  const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state);
  if (shared == nullptr) return "whole";
  return shared->sharing == binpack::Sharing::kMps ? "MPS slots" : "time-sliced slots";
}

std::string PoolProductOf(const NodeState& state) {
  if (!state.pool_product.empty()) return Printable(state.pool_product);
  return state.pool_model == nullptr ? "GPUs" : Printable(state.pool_model->name);
}

// "2 x A100-SXM4-40GB, MIG; MIG instances on A100-SXM4-40GB, by count".
std::string DescribeDevices(const NodeState& state) {
  std::vector<std::string> gpus(state.gpus.size());
  std::ranges::transform(state.gpus, gpus.begin(), [](const Gpu& gpu) {
    return fmt::format("{}, {}", gpu.product.empty() ? "GPU" : Printable(gpu.product), KindOf(gpu));
  });
  std::string text;
  for (const auto& [kind, count] : Counted(gpus)) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} x {}", count, kind);
  }
  if (state.pools.empty()) return text;
  if (!text.empty()) text += "; ";
  return text + fmt::format("MIG instances on {}, by count", PoolProductOf(state));
}

std::string HeldShare(std::int64_t used, std::int64_t total) {
  return total == 0 ? "" : fmt::format("{} % held", used * 100 / total);
}

bool HasDevices(const Node& node) { return !node.state.gpus.empty() || !node.state.pools.empty(); }

std::string DrawNode(const Node& node, const GpuPictureStyle& style) {
  const int columns = kMarginColumns + BoxColumns(style) + 2;
  std::string share = HeldShare(binpack::UsedUnits(node.state), binpack::TotalUnits(node.state));
  const std::string name = Cut(Printable(node.name()), columns / 2);
  std::string devices = HasDevices(node) ? DescribeDevices(node.state) : "no GPUs to offer";
  if (!share.empty()) {
    devices = Fitted(devices, columns - ColumnsOf(name) - ColumnsOf(share) - 3);
    share.insert(0, " ");
  }
  std::string picture =
      fmt::format("{}  {}{}\n", Painted(name, Tone::kHeading, style), devices, share);
  if (node.closed) {
    picture += Painted(fmt::format("{:5}closed: {}", "", scheduler::InfoOf(*node.closed).text),
                       Tone::kWarning, style) +
               "\n";
  }
  for (std::size_t i = 0; i < node.state.gpus.size(); ++i) picture += DrawGpu(node, i, style);
  picture += DrawPools(node, style);
  for (const scheduler::Holder& holder : node.holders) {
    if (!holder.is_unplaced) continue;
    picture += Cut(fmt::format("  ?  {} holds devices, and not all of them are known",
                               Printable(holder.pod->name)),
                   columns) +
               "\n";
  }
  return picture + "\n";
}

std::string_view Legend() {
  return "■ pod  held, by that pod     ·  free     ×  free, but no MIG profile reaches it\n"
         "●○  MIG instances known by count: which GPU and which start, nobody sees\n"
         "!  unhealthy, ~  cordoned: takes no new pod\n"
         "Where the kubelet picks, pods stand where its rule puts them.\n";
}

}  // namespace

std::string DrawGpus(const scheduler::Snapshot& snapshot, const GpuPictureStyle& style) {
  return DrawGpus(snapshot.nodes(), style);
}

std::string DrawGpus(std::span<const std::shared_ptr<const Node>> nodes,
                     const GpuPictureStyle& asked) {
  GpuPictureStyle style = asked;
  style.columns = std::clamp(style.columns, kPictureColumnsMin, kPictureColumnsMax);
  std::string picture;
  std::vector<std::string> without_gpus;
  std::int64_t units_used = 0;
  std::int64_t units_total = 0;
  for (const auto& node : nodes) {
    units_used += binpack::UsedUnits(node->state);
    units_total += binpack::TotalUnits(node->state);
    if (HasDevices(*node) || node->closed) {
      picture += DrawNode(*node, style);
    } else {
      without_gpus.push_back(Printable(node->name()));
    }
  }
  if (!without_gpus.empty()) {
    const std::size_t more =
        without_gpus.size() - std::min<std::size_t>(without_gpus.size(), kNodesWithoutGpusMax);
    without_gpus.resize(without_gpus.size() - more);
    std::string names = Joined(without_gpus);
    if (more > 0) names += fmt::format(", and {} more", more);
    picture += Cut("without GPUs: " + names, style.columns) + "\n\n";
  }
  // A node with MIG instances that does not say of how many GPUs they are adds none to the total.
  picture += fmt::format(
      "{}; {}.{:02} {} held\n", NumberOf(nodes.size(), "node"), units_used / binpack::kGpuUnits,
      units_used % binpack::kGpuUnits * 100 / binpack::kGpuUnits,
      units_used > units_total ? "GPUs"
                               : "of " + NumberOf(units_total / binpack::kGpuUnits, "GPU"));
  return picture + "\n" + std::string(Legend());
}

}  // namespace offcut::api
