#include "api/extender_reader.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "api/http.h"
#include "api/json_stream.h"
#include "api/name_buffers.h"

namespace offcut::api {

namespace ondemand = simdjson::ondemand;
namespace dom = simdjson::dom;

// On-demand for the envelope: it gives each full node's own bytes for the answer, and the strict
// parser then needs memory for the largest node alone.
struct ExtenderReader::Parsers {
  ondemand::parser envelope;
  dom::parser strict;
  NameBuffers names;
};

namespace {

static_assert(kBodyPaddingBytes >= simdjson::SIMDJSON_PADDING);

// Buffers for larger bodies are not kept: simdjson's index needs 4 bytes for each byte of a body.
constexpr std::size_t kKeptBodyBytesMax = std::size_t{32} << 20;

template <typename T>
void KeepMarked(std::vector<T>& items, const std::vector<bool>& marked) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!marked[i]) continue;
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.resize(kept);
}

std::expected<std::vector<std::string>, Error> ReadNodeNames(NameBuffers& buffers, JsonValue value,
                                                             std::string_view path) {
  std::vector<std::string> names = buffers.TakeList();
  const auto read_item = [&](JsonValue item, std::size_t index) -> Result {
    std::string_view name;
    if (const auto code = item.get_string().get(name)) return NotJson(At(path, index), code);
    if (name.empty()) return BadRequest(At(path, index), "is empty");
    if (name.size() > kNameBytesMax) return TooLarge(At(path, index), "bytes", kNameBytesMax);
    names.push_back(buffers.Take(name));
    return {};
  };
  auto result = ForEachItem(value, path, kRequestNodesMax, read_item);
  if (!result) return std::unexpected(std::move(result.error()));
  const auto is_first = buffers.FirstComers(names);
  if (!is_first.empty()) KeepMarked(names, is_first);
  return names;
}

std::expected<NodeList, Error> ReadNodeList(dom::parser& strict, NameBuffers& buffers,
                                            JsonValue value, std::string_view path) {
  ondemand::object object;
  if (const auto code = value.get(object)) return NotJson(path, code);
  NodeList list;
  const auto read_item = [&](JsonValue item, const std::string& at) -> Result {
    const auto text = ObjectText(item, at);
    if (!text) return std::unexpected(text.error());
    const auto name = ReadMetadata(strict, *text, at, "name", kNameBytesMax);
    if (!name) return std::unexpected(name.error());
    list.names.push_back(buffers.Take(*name));
    list.items.push_back(*text);
    return {};
  };
  const auto read_items = [&](JsonValue items, const std::string& at) -> Result {
    list = {};
    if (IsNull(items)) return {};
    return ForEachItem(items, at, kRequestNodesMax, [&](JsonValue item, std::size_t index) {
      return read_item(item, At(at, index));
    });
  };
  auto result = ReadMembers(strict, object, path, Member{"items", read_items});
  if (!result) return std::unexpected(std::move(result.error()));
  const auto is_first = buffers.FirstComers(list.names);
  if (is_first.empty()) return list;
  KeepMarked(list.names, is_first);
  KeepMarked(list.items, is_first);
  return list;
}

// The two forms in which a victim comes.
std::expected<Victim, Error> ReadPodVictim(dom::parser& strict, JsonValue value,
                                           std::string_view path) {
  const auto text = ObjectText(value, path);
  if (!text) return std::unexpected(text.error());
  const auto uid = ReadMetadata(strict, *text, path, "uid", kUidBytesMax);
  if (!uid) return std::unexpected(uid.error());
  return Victim{std::string(*uid), *text};
}

std::expected<Victim, Error> ReadMetaVictim(dom::parser& strict, JsonValue value,
                                            std::string_view path) {
  ondemand::object object;
  if (const auto code = value.get(object)) return NotJson(path, code);
  Victim victim;
  auto result = ReadMembers(strict, object, path, Member{"UID", Into(victim.uid, kUidBytesMax)});
  if (!result) return std::unexpected(std::move(result.error()));
  if (victim.uid.empty()) return BadRequest(Below(path, "UID"), "is missing");
  return victim;
}

using ReadVictim = std::expected<Victim, Error> (*)(dom::parser&, JsonValue, std::string_view);

Result ReadVictims(dom::parser& strict, JsonValue value, std::string_view path,
                   ReadVictim read_victim, Victims& to) {
  to = {};
  if (IsNull(value)) return {};
  ondemand::object object;
  if (const auto code = value.get(object)) return NotJson(path, code);
  const auto read_pods = [&](JsonValue pods, const std::string& at) -> Result {
    to.pods.clear();
    if (IsNull(pods)) return {};
    const auto read_item = [&](JsonValue item, std::size_t index) -> Result {
      auto victim = read_victim(strict, item, At(at, index));
      if (!victim) return std::unexpected(std::move(victim.error()));
      to.pods.push_back(*std::move(victim));
      return {};
    };
    return ForEachItem(pods, at, kVictimsPerNodeMax, read_item);
  };
  return ReadMembers(strict, object, path, Member{"Pods", read_pods},
                     Member{"NumPDBViolations", Into(to.num_pdb_violations)});
}

std::expected<NodeNameToVictims, Error> ReadNodeNameToVictims(dom::parser& strict, JsonValue value,
                                                              std::string_view path,
                                                              ReadVictim read_victim) {
  ondemand::object object;
  if (const auto code = value.get(object)) return NotJson(path, code);
  NodeNameToVictims all;
  const auto read = [&](std::string_view name, JsonValue victims) -> Result {
    if (name.empty()) return BadRequest(path, "has an empty node name");
    if (name.size() > kNameBytesMax) return TooLarge(path, "bytes in a name", kNameBytesMax);
    if (all.size() == kRequestNodesMax) return TooLarge(path, "members", kRequestNodesMax);
    const std::string at = std::string(path).append("[").append(name).append("]");
    return ReadVictims(strict, victims, at, read_victim, all[std::string(name)]);
  };
  auto result = ForEachMember(object, path, read);
  if (!result) return std::unexpected(std::move(result.error()));
  return all;
}

// What each optional member of a body is read by.
auto ObjectReader(dom::parser& strict) {
  return [&strict](JsonValue value, std::string_view path) {
    return SoundObjectText(strict, value, path);
  };
}
auto NodeListReader(dom::parser& strict, NameBuffers& buffers) {
  return [&](JsonValue value, std::string_view path) {
    return ReadNodeList(strict, buffers, value, path);
  };
}
auto NodeNamesReader(NameBuffers& buffers) {
  return
      [&](JsonValue value, std::string_view path) { return ReadNodeNames(buffers, value, path); };
}
auto VictimsReader(dom::parser& strict, ReadVictim read_victim) {
  return [&strict, read_victim](JsonValue value, std::string_view path) {
    return ReadNodeNameToVictims(strict, value, path, read_victim);
  };
}

// Maps of texts by node name in a filter's answer.
auto FailedNodesInto(std::vector<FailedNode>& to) {
  return [&to](JsonValue value, const std::string& path) -> Result {
    to.clear();
    if (IsNull(value)) return {};
    ondemand::object object;
    if (const auto code = value.get(object)) return NotJson(path, code);
    return ForEachMember(object, path, [&](std::string_view name, JsonValue text) -> Result {
      FailedNode node{.node_name = name, .text = {}};
      if (const auto code = text.get_string().get(node.text)) return NotJson(path, code);
      to.push_back(node);
      return {};
    });
  };
}

template <typename T>
std::expected<T, Error> ValueOr(Result result, T value) {
  if (!result) return std::unexpected(std::move(result.error()));
  return value;
}

}  // namespace

ExtenderReader::ExtenderReader() : parsers_(std::make_unique<Parsers>()) {}
ExtenderReader::~ExtenderReader() = default;
ExtenderReader::ExtenderReader(ExtenderReader&&) noexcept = default;
ExtenderReader& ExtenderReader::operator=(ExtenderReader&&) noexcept = default;

ExtenderReader::Parsers& ExtenderReader::Prepare(std::size_t body_bytes) {
  if (body_bytes <= kKeptBodyBytesMax && parsers_->envelope.capacity() > kKeptBodyBytesMax) {
    parsers_ = std::make_unique<Parsers>();
  }
  return *parsers_;
}

std::expected<ExtenderArgs, Error> ExtenderReader::ReadArgs(std::string_view body) {
  Parsers& parsers = Prepare(body.size());
  dom::parser& strict = parsers.strict;
  ExtenderArgs args;
  auto result = ReadBody<ondemand::object>(parsers.envelope, body, [&](ondemand::object root) {
    return ReadMembers(strict, root, "", Member{"Pod", Into(args.pod, ObjectReader(strict))},
                       Member{"Nodes", Into(args.nodes, NodeListReader(strict, parsers.names))},
                       Member{"NodeNames", Into(args.node_names, NodeNamesReader(parsers.names))});
  });
  return ValueOr(std::move(result), std::move(args));
}

void ExtenderReader::GiveBack(ExtenderArgs&& args) {
  if (args.nodes) parsers_->names.GiveBack(std::move(args.nodes->names));
  if (args.node_names) parsers_->names.GiveBack(*std::move(args.node_names));
}

std::expected<ExtenderPreemptionArgs, Error> ExtenderReader::ReadPreemptionArgs(
    std::string_view body) {
  Parsers& parsers = Prepare(body.size());
  dom::parser& strict = parsers.strict;
  ExtenderPreemptionArgs args;
  auto result = ReadBody<ondemand::object>(parsers.envelope, body, [&](ondemand::object root) {
    return ReadMembers(
        strict, root, "", Member{"Pod", Into(args.pod, ObjectReader(strict))},
        Member{"NodeNameToVictims",
               Into(args.node_name_to_victims, VictimsReader(strict, ReadPodVictim))},
        Member{"NodeNameToMetaVictims",
               Into(args.node_name_to_meta_victims, VictimsReader(strict, ReadMetaVictim))});
  });
  return ValueOr(std::move(result), std::move(args));
}

std::expected<ExtenderBindingArgs, Error> ExtenderReader::ReadBindingArgs(std::string_view body) {
  Parsers& parsers = Prepare(body.size());
  dom::parser& strict = parsers.strict;
  ExtenderBindingArgs args;
  auto result = ReadBody<ondemand::object>(parsers.envelope, body, [&](ondemand::object root) {
    return ReadMembers(strict, root, "", Member{"PodName", Into(args.pod_name, kNameBytesMax)},
                       Member{"PodNamespace", Into(args.pod_namespace, kNameBytesMax)},
                       Member{"PodUID", Into(args.pod_uid, kUidBytesMax)},
                       Member{"Node", Into(args.node, kNameBytesMax)});
  });
  return ValueOr(std::move(result), std::move(args));
}

std::expected<ExtenderFilterResult, Error> ExtenderReader::ReadFilterResult(std::string_view body) {
  using Views = std::expected<std::vector<std::string_view>, Error>;
  Parsers& parsers = Prepare(body.size());
  dom::parser& strict = parsers.strict;
  ExtenderFilterResult answer;
  const auto read_nodes = [&](JsonValue value, std::string_view path) -> Views {
    auto list = ReadNodeList(strict, parsers.names, value, path);
    if (!list) return std::unexpected(std::move(list.error()));
    return std::move(list->items);
  };
  const auto read_names = [](JsonValue value, std::string_view path) -> Views {
    std::vector<std::string_view> names;
    const auto read_item = [&](JsonValue item, std::size_t index) -> Result {
      const auto name = ReadText(item, At(path, index), kNameBytesMax);
      if (!name) return std::unexpected(name.error());
      names.push_back(*name);
      return {};
    };
    auto result = ForEachItem(value, path, kRequestNodesMax, read_item);
    return ValueOr(std::move(result), std::move(names));
  };
  auto result = ReadBody<ondemand::object>(parsers.envelope, body, [&](ondemand::object root) {
    return ReadMembers(
        strict, root, "", Member{"Nodes", Into(answer.nodes, read_nodes)},
        Member{"NodeNames", Into(answer.node_names, read_names)},
        Member{"FailedNodes", FailedNodesInto(answer.failed_nodes)},
        Member{"FailedAndUnresolvableNodes", FailedNodesInto(answer.failed_and_unresolvable_nodes)},
        Member{"Error", Into(answer.error, body.size())});
  });
  return ValueOr(std::move(result), std::move(answer));
}

std::expected<HostPriorityList, Error> ExtenderReader::ReadHostPriorityList(std::string_view body) {
  Parsers& parsers = Prepare(body.size());
  dom::parser& strict = parsers.strict;
  HostPriorityList list;
  const auto read_item = [&](JsonValue item, std::size_t index) -> Result {
    ondemand::object object;
    if (const auto code = item.get(object)) return NotJson(At("", index), code);
    HostPriority& entry = list.emplace_back();
    const auto read_host = [&](JsonValue value, const std::string& path) -> Result {
      const auto host = ReadText(value, path, kNameBytesMax);
      if (!host) return std::unexpected(host.error());
      entry.host = *host;
      return {};
    };
    return ReadMembers(strict, object, At("", index), Member{"Host", read_host},
                       Member{"Score", Into(entry.score)});
  };
  auto result = ReadBody<ondemand::array>(parsers.envelope, body, [&](ondemand::array root) {
    return ForEachItem(root, "", read_item);
  });
  return ValueOr(std::move(result), std::move(list));
}

std::expected<ExtenderPreemptionResult, Error> ExtenderReader::ReadPreemptionResult(
    std::string_view body) {
  Parsers& parsers = Prepare(body.size());
  dom::parser& strict = parsers.strict;
  std::optional<NodeNameToVictims> victims;
  auto result = ReadBody<ondemand::object>(parsers.envelope, body, [&](ondemand::object root) {
    return ReadMembers(
        strict, root, "",
        Member{"NodeNameToMetaVictims", Into(victims, VictimsReader(strict, ReadMetaVictim))});
  });
  return ValueOr(std::move(result),
                 ExtenderPreemptionResult{std::move(victims).value_or(NodeNameToVictims())});
}

std::expected<ExtenderBindingResult, Error> ExtenderReader::ReadBindingResult(
    std::string_view body) {
  Parsers& parsers = Prepare(body.size());
  dom::parser& strict = parsers.strict;
  ExtenderBindingResult answer;
  auto result = ReadBody<ondemand::object>(parsers.envelope, body, [&](ondemand::object root) {
    return ReadMembers(strict, root, "", Member{"Error", Into(answer.error, body.size())});
  });
  return ValueOr(std::move(result), std::move(answer));
}

}  // namespace offcut::api
