#include "api/extender_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace offcut::api {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool MustBeEscaped(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// Whether nothing of the text must be escaped, as in nearly all names and reasons. Eight bytes at a
// time: byte by byte this would cost more than all the rest of an answer. May say no of a plain
// text: a borrow between bytes looks like a small byte.
bool IsPlain(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
  const auto has_byte_below = [](std::uint64_t word, std::uint64_t bound) {
    return (word - ones * bound) & ~word & (ones << 7U);
  };
  std::uint64_t found = 0;
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    found |= has_byte_below(word, 0x20) | has_byte_below(word ^ (ones * '"'), 1) |
             has_byte_below(word ^ (ones * '\\'), 1);
  }
  return found == 0 && std::ranges::none_of(text.substr(i), MustBeEscaped);
}

void AppendEscaped(std::string& out, char c) {
  if (!MustBeEscaped(c)) {
    out += c;
  } else if (c == '"' || c == '\\') {
    out.append(1, '\\').append(1, c);
  } else {
    const auto byte = static_cast<unsigned char>(c);
    out.append("\\u00").append(1, kHexDigits[byte >> 4U]).append(1, kHexDigits[byte & 15U]);
  }
}

void AppendInteger(std::string& out, std::int64_t value) {
  std::array<char, 20> digits;  // "-9223372036854775808"
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

template <typename Items, typename Append>
void AppendList(std::string& out, const Items& items, Append append) {
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) out += ',';
    is_first = false;
    append(item);
  }
}

template <typename Names>
void AppendNames(std::string& out, const std::optional<Names>& names) {
  if (!names) {
    out += "null";
    return;
  }
  out += '[';
  AppendList(out, *names, [&](std::string_view name) { AppendJsonString(out, name); });
  out += ']';
}

void AppendNodeList(std::string& out, const std::vector<std::string_view>* items) {
  if (items == nullptr) {
    out += "null";
    return;
  }
  out += R"({"metadata":{},"items":[)";
  AppendList(out, *items, [&](std::string_view item) { out += item; });
  out += "]}";
}

// Most nodes of an answer share their text with the one before: it is looked at once.
void AppendFailedNodes(std::string& out, const std::vector<FailedNode>& nodes) {
  out += '{';
  std::string_view text;
  std::string printed = R"(:"")";
  AppendList(out, nodes, [&](const FailedNode& node) {
    AppendJsonString(out, node.node_name);
    if (node.text.data() != text.data() || node.text.size() != text.size()) {
      text = node.text;
      printed = ':';
      AppendJsonString(printed, text);
    }
    out += printed;
  });
  out += '}';
}

void AppendVictims(std::string& out, const NodeNameToVictims& all) {
  out += '{';
  AppendList(out, all, [&](const auto& entry) {
    AppendJsonString(out, entry.first);
    out += R"(:{"Pods":[)";
    AppendList(out, entry.second.pods, [&](const Victim& victim) {
      if (!victim.pod.empty()) {
        out += victim.pod;
        return;
      }
      out += R"({"UID":)";
      AppendJsonString(out, victim.uid);
      out += '}';
    });
    out += R"(],"NumPDBViolations":)";
    AppendInteger(out, entry.second.num_pdb_violations);
    out += '}';
  });
  out += '}';
}

// Bytes to set aside for an answer, so that it grows in few steps.
std::size_t SizeOf(const ExtenderFilterResult& result) {
  std::size_t bytes = 256 + result.error.size();
  for (const auto* list : {&result.nodes, &result.node_names}) {
    if (!*list) continue;
    for (const std::string_view text : **list) bytes += text.size() + 3;
  }
  for (const auto* list : {&result.failed_nodes, &result.failed_and_unresolvable_nodes}) {
    for (const FailedNode& node : *list) bytes += node.node_name.size() + node.text.size() + 6;
  }
  return bytes;
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  if (IsPlain(text)) {
    const std::size_t at = out.size();
    const std::size_t end = at + text.size() + 2;
    // libstdc++ 12 may offer more than was asked for.
    out.resize_and_overwrite(end, [&](char* to, std::size_t) {
      to[at] = '"';
      text.copy(to + at + 1, text.size());
      to[end - 1] = '"';
      return end;
    });
    return;
  }
  out += '"';
  for (const char c : text) AppendEscaped(out, c);
  out += '"';
}

std::string Print(const ExtenderArgs& args) {
  std::string out = R"({"Pod":)";
  out += args.pod.value_or("null");
  out += R"(,"Nodes":)";
  AppendNodeList(out, args.nodes ? &args.nodes->items : nullptr);
  out += R"(,"NodeNames":)";
  AppendNames(out, args.node_names);
  return out += '}';
}

std::string Print(const ExtenderPreemptionArgs& args) {
  std::string out = R"({"Pod":)";
  out += args.pod.value_or("null");
  const auto append = [&out](const std::optional<NodeNameToVictims>& victims) {
    if (victims) {
      AppendVictims(out, *victims);
    } else {
      out += "null";
    }
  };
  out += R"(,"NodeNameToVictims":)";
  append(args.node_name_to_victims);
  out += R"(,"NodeNameToMetaVictims":)";
  append(args.node_name_to_meta_victims);
  return out += '}';
}

std::string Print(const ExtenderBindingArgs& args) {
  std::string out = R"({"PodName":)";
  AppendJsonString(out, args.pod_name);
  out += R"(,"PodNamespace":)";
  AppendJsonString(out, args.pod_namespace);
  out += R"(,"PodUID":)";
  AppendJsonString(out, args.pod_uid);
  out += R"(,"Node":)";
  AppendJsonString(out, args.node);
  return out += '}';
}

std::string Print(const ExtenderFilterResult& result) {
  std::string out;
  out.reserve(SizeOf(result));
  out += R"({"Nodes":)";
  AppendNodeList(out, result.nodes ? &*result.nodes : nullptr);
  out += R"(,"NodeNames":)";
  AppendNames(out, result.node_names);
  out += R"(,"FailedNodes":)";
  AppendFailedNodes(out, result.failed_nodes);
  out += R"(,"FailedAndUnresolvableNodes":)";
  AppendFailedNodes(out, result.failed_and_unresolvable_nodes);
  out += R"(,"Error":)";
  AppendJsonString(out, result.error);
  return out += '}';
}

std::string Print(const HostPriorityList& list) {
  std::string out;
  std::size_t bytes = 2;
  for (const HostPriority& entry : list) bytes += entry.host.size() + 26;
  out.reserve(bytes);
  out += '[';
  AppendList(out, list, [&](const HostPriority& entry) {
    out += R"({"Host":)";
    AppendJsonString(out, entry.host);
    out += R"(,"Score":)";
    AppendInteger(out, entry.score);
    out += '}';
  });
  return out += ']';
}

std::string Print(const ExtenderPreemptionResult& result) {
  std::string out = R"({"NodeNameToMetaVictims":)";
  AppendVictims(out, result.node_name_to_meta_victims);
  return out += '}';
}

std::string Print(const ExtenderBindingResult& result) {
  std::string out = R"({"Error":)";
  AppendJsonString(out, result.error);
  return out += '}';
}

}  // namespace offcut::api
