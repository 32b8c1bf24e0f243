#include "api/routes.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "api/binding.h"
#include "api/extender_reader.h"
#include "api/extender_types.h"
#include "api/http_answer.h"
#include "api/json_stream.h"
#include "api/kube_time.h"
#include "api/logging.h"
#include "api/packing_renewal.h"
#include "api/pod_json.h"
#include "api/printable.h"
#include "scheduler/decision.h"

namespace offcut::api {
namespace {

using scheduler::Pod;
using scheduler::Prefilter;
using scheduler::Reason;
using scheduler::Snapshot;
using scheduler::Verdict;

constexpr Prefilter kPrefilter = Prefilter::kByKubeScheduler;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::optional<ExtenderVerb> VerbOf(std::string_view path) {
  if (path.starts_with("/v1/")) path.remove_prefix(3);
  if (path == "/filter") return ExtenderVerb::kFilter;
  if (path == "/prioritize") return ExtenderVerb::kPrioritize;
  if (path == "/preempt") return ExtenderVerb::kPreempt;
  if (path == "/bind") return ExtenderVerb::kBind;
  return std::nullopt;
}

// "Application/JSON; charset=utf-8" is JSON, too, and so is what does not say what it is.
bool IsJson(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  type = type.substr(0, type.find_last_not_of(" \t") + 1);
  return content_type.empty() || IsKey(type, "application/json");
}

// Why a request is not even looked at.
std::optional<HttpResponse> Refuse(const HttpRequest& request) {
  if (request.method != "POST") return MethodNotAllowed("POST");
  if (!IsJson(request.content_type))
    return ErrorAnswer(415, "content type must be application/json");
  if (request.body.starts_with(kByteOrderMark)) {
    return ErrorAnswer(400, "the body begins with a byte order mark, which JSON has not");
  }
  return std::nullopt;
}

// Buffers of their own for each listener's thread.
ExtenderReader& ThreadsReader() {
  thread_local ExtenderReader reader;
  return reader;
}

// "team-a/train-7", as far as what cannot be read as a pod says who it is: "?" where it does not.
std::string WhoseNameIs(simdjson::dom::element element) {
  const auto member = [&](std::string_view key) {
    std::string_view text;
    const bool is_text = element["metadata"][key].get(text) == simdjson::SUCCESS;
    return std::string(is_text ? CutText(text, kLogNameBytesMax) : "?");
  };
  return member("namespace") + "/" + member("name");
}

// Logs what cannot be read. Requires: `text` is followed by kBodyPaddingBytes, as any part of a
// body is.
std::expected<Pod, Error> ReadPod(std::string_view text, const scheduler::Policy& policy,
                                  ExtenderVerb verb) {
  const auto refuse = [&](std::string_view name, Error error) {
    LogUnreadablePod(NameOf(verb), name, error.message);
    return std::unexpected(std::move(error));
  };
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (const auto code = parser.parse(text.data(), text.size(), false).get(element)) {
    return refuse("?/?", {ErrorKind::kBadRequest, simdjson::error_message(code)});
  }
  auto parsed = ParsePod(element, policy.resources);
  if (!parsed) {
    return refuse(WhoseNameIs(element), {parsed.error().kind, "Pod." + parsed.error().message});
  }
  SetWouldEnd(parsed->pod, NowSeconds());
  return std::move(parsed->pod);
}

// The nodes that a request is about; nullptr: it names none in either form.
const std::vector<std::string>* NodeNamesOf(const ExtenderArgs& args) {
  if (args.nodes) return &args.nodes->names;
  return args.node_names ? &*args.node_names : nullptr;
}

// kube-scheduler never sends a pod that runs or has run; such a one must not become known by a
// bind.
void Remember(RecentPods& recent_pods, const std::shared_ptr<const Pod>& pod) {
  if (!pod->node_name.empty() || pod->is_finished) return;
  recent_pods.Remember(pod);
}

// How many nodes were refused for which reason, in the order of the enum.
std::vector<scheduler::ReasonCount> CountRefusals(const std::vector<Verdict>& verdicts) {
  std::vector<int> counts(scheduler::Reasons().size(), 0);
  for (const Verdict& verdict : verdicts) ++counts[static_cast<std::size_t>(verdict.reason)];
  std::vector<scheduler::ReasonCount> refusals;
  for (const auto& info : scheduler::Reasons()) {
    const int count = counts[static_cast<std::size_t>(info.reason)];
    if (info.reason != Reason::kFits && count > 0) refusals.push_back({info.reason, count});
  }
  return refusals;
}

// With one node left prioritize is not asked, and the pod goes there; with more it is asked next.
void TellFiltered(Cluster& cluster, const std::shared_ptr<const Pod>& pod,
                  const std::vector<std::string>& node_names, const std::vector<Verdict>& verdicts,
                  const std::vector<scheduler::ReasonCount>& refusals,
                  const std::shared_ptr<const Snapshot>& judged_on) {
  if (pod->request.empty()) return;
  cluster.Filtered(*pod, node_names, verdicts);
  const auto fits = std::ranges::count_if(verdicts, &Verdict::fits);
  if (fits == 1) {
    const auto only = std::ranges::find_if(verdicts, &Verdict::fits) - verdicts.begin();
    cluster.Claim(pod, node_names[static_cast<std::size_t>(only)]);
  } else {
    cluster.DropClaim(pod->uid);
  }
  if (fits > 0) {
    cluster.Offered(pod->uid);
  } else if (!node_names.empty()) {
    cluster.Refused(pod, node_names, refusals, judged_on);
  }
}

// What was decided, as kube-scheduler reads it: every node in exactly one place.
ExtenderFilterResult ToResult(const ExtenderArgs& args, const std::vector<std::string>& node_names,
                              const std::vector<Verdict>& verdicts,
                              const std::vector<bool>& preemptable) {
  ExtenderFilterResult result;
  std::vector<std::string_view> kept;
  kept.reserve(node_names.size());
  for (std::size_t i = 0; i < node_names.size(); ++i) {
    if (verdicts[i].fits()) {
      kept.push_back(args.nodes ? args.nodes->items[i] : std::string_view(node_names[i]));
      continue;
    }
    const Reason reason = verdicts[i].reason;
    auto& failed = preemptable[i] ? result.failed_nodes : result.failed_and_unresolvable_nodes;
    failed.push_back({.node_name = node_names[i], .text = InfoOf(reason).text});
  }
  (args.nodes ? result.nodes : result.node_names) = std::move(kept);
  return result;
}

std::int64_t NowS() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

HttpResponse FilterError(std::string text) {
  ExtenderFilterResult result;
  result.error = std::move(text);
  return JsonAnswer(Print(result));
}

HttpResponse AnswerFilter(const ExtenderContext& context, std::string_view body) {
  ExtenderReader& reader = ThreadsReader();
  auto args = reader.ReadArgs(body);
  if (!args) return ErrorAnswer(args.error());
  if (!args->pod) return ErrorAnswer(400, "Pod is missing");
  const std::vector<std::string>* node_names = NodeNamesOf(*args);
  if (node_names == nullptr) return FilterError("neither Nodes nor NodeNames is set");
  auto pod = ReadPod(*args->pod, context.policy, ExtenderVerb::kFilter);
  if (!pod) return FilterError(std::move(pod.error().message));
  const auto snapshot = context.store.Read();
  const auto verdicts = context.decisions.Filter(*snapshot, *pod, *node_names);
  const auto refusals = CountRefusals(verdicts);
  for (const auto& [reason, nodes] : refusals) {
    context.metrics.CountRejections(reason, static_cast<std::uint64_t>(nodes));
  }
  LogFilter(*pod, verdicts);
  const auto preemptable = PreemptableRefusals(*snapshot, *pod, *node_names, verdicts,
                                               context.policy, kPrefilter, NowS());
  auto response = JsonAnswer(Print(ToResult(*args, *node_names, verdicts, preemptable)));
  const auto shared = std::make_shared<const Pod>(*std::move(pod));
  if (context.cluster != nullptr) {
    TellFiltered(*context.cluster, shared, *node_names, verdicts, refusals, snapshot);
  }
  Remember(context.recent_pods, shared);
  reader.GiveBack(*std::move(args));
  return response;
}

HttpResponse AnswerPrioritize(const ExtenderContext& context, std::string_view body) {
  ExtenderReader& reader = ThreadsReader();
  auto args = reader.ReadArgs(body);
  if (!args) return ErrorAnswer(args.error());
  if (!args->pod) return ErrorAnswer(400, "Pod is missing");
  const std::vector<std::string>* node_names = NodeNamesOf(*args);
  if (node_names == nullptr) return JsonAnswer(Print(HostPriorityList()));
  auto pod = ReadPod(*args->pod, context.policy, ExtenderVerb::kPrioritize);
  const auto scores = pod ? context.decisions.Score(*context.store.Read(), *pod, *node_names)
                          : std::vector<std::int64_t>(node_names->size(), 0);
  HostPriorityList list(node_names->size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i] = {.host = (*node_names)[i], .score = scores[i]};
  }
  const auto best = std::ranges::max_element(scores);
  if (context.cluster != nullptr && best != scores.end() && *best > 0) {
    context.cluster->Claim(std::make_shared<const Pod>(*std::move(pod)),
                           (*node_names)[static_cast<std::size_t>(best - scores.begin())]);
  }
  auto response = JsonAnswer(Print(list));
  reader.GiveBack(*std::move(args));
  return response;
}

// One without victims is a placeholder of schedulers that ask where they see room (Kubernetes PR
// 135486): it is filled or left out, for an empty list in the answer fails the call up to 1.37.
std::vector<scheduler::PreemptionCandidate> ToCandidates(const NodeNameToVictims& all) {
  std::vector<scheduler::PreemptionCandidate> candidates;
  for (const auto& [node_name, victims] : all) {
    scheduler::PreemptionCandidate& candidate = candidates.emplace_back();
    candidate.node_name = node_name;
    // A node with fewer of them is preferred: below none nobody can be.
    candidate.pdb_violations = std::max<std::int64_t>(0, victims.num_pdb_violations);
    for (const Victim& victim : victims.pods) candidate.victim_uids.push_back(victim.uid);
  }
  return candidates;
}

ExtenderPreemptionResult ToResult(std::vector<scheduler::PreemptionCandidate> kept) {
  ExtenderPreemptionResult result;
  for (scheduler::PreemptionCandidate& candidate : kept) {
    Victims victims{.pods = {}, .num_pdb_violations = candidate.pdb_violations};
    for (std::string& uid : candidate.victim_uids) {
      victims.pods.push_back({.uid = std::move(uid), .pod = {}});
    }
    result.node_name_to_meta_victims.emplace(std::move(candidate.node_name), std::move(victims));
  }
  return result;
}

HttpResponse AnswerPreempt(const ExtenderContext& context, std::string_view body) {
  const auto args = ThreadsReader().ReadPreemptionArgs(body);
  if (!args) return ErrorAnswer(args.error());
  if (!args->pod) return ErrorAnswer(400, "Pod is missing");
  const auto& victims = args->node_name_to_meta_victims ? args->node_name_to_meta_victims
                                                        : args->node_name_to_victims;
  const auto pod = ReadPod(*args->pod, context.policy, ExtenderVerb::kPreempt);
  if (!victims || !pod) return JsonAnswer(Print(ExtenderPreemptionResult()));
  const auto snapshot = context.store.Read();
  auto candidates = ToCandidates(*victims);
  if (context.cluster != nullptr && context.cluster->WaitsForItsNode(*snapshot, *pod, candidates)) {
    LogPreemptorWaits(*pod);
    return JsonAnswer(Print(ExtenderPreemptionResult()));
  }
  auto kept = Preempt(*snapshot, *pod, candidates, context.policy, kPrefilter, NowSeconds());
  LogPreempt(*pod, kept.size(), victims->size());
  return JsonAnswer(Print(ToResult(std::move(kept))));
}

HttpResponse BindError(std::string text) {
  return JsonAnswer(Print(ExtenderBindingResult{std::move(text)}));
}

std::expected<ExtenderBindingArgs, HttpResponse> ReadBinding(std::string_view body) {
  auto args = ThreadsReader().ReadBindingArgs(body);
  if (!args) return std::unexpected(ErrorAnswer(args.error()));
  for (const auto& [name, value] :
       {std::pair("PodName", &args->pod_name), std::pair("PodNamespace", &args->pod_namespace),
        std::pair("PodUID", &args->pod_uid), std::pair("Node", &args->node)}) {
    if (!value->empty()) continue;
    LogBind(args->pod_namespace, args->pod_name, args->node, "member missing");
    return std::unexpected(BindError(std::string(name) + " is missing"));
  }
  return *std::move(args);
}

// Whether `a` came into being after `b`: by its age, and within a second by when we first heard of
// it. What came with the state was there before.
bool IsYounger(const RecentPods& recent_pods, const Pod& a, const Pod& b) {
  if (a.created_s != b.created_s) return a.created_s > b.created_s;
  return recent_pods.FirstRemembered(a.uid) > recent_pods.FirstRemembered(b.uid);
}

// The UIDs of older pods of the pod's name. A name belongs to one pod at a time: without a watch, a
// younger one is how we learn that they have gone. Error: the pod itself is the one that has gone.
std::expected<std::vector<std::string>, std::string> Predecessors(const Snapshot& snapshot,
                                                                  const RecentPods& recent_pods,
                                                                  const Pod& pod) {
  std::vector<std::string> older;
  bool is_replaced = false;
  snapshot.ForEachPod([&](const scheduler::PodEntry& entry) {
    const Pod& other = *entry.pod;
    if (other.name != pod.name || other.name_space != pod.name_space || other.uid == pod.uid) {
      return;
    }
    if (IsYounger(recent_pods, pod, other)) older.push_back(other.uid);
    if (IsYounger(recent_pods, other, pod)) is_replaced = true;
  });
  if (is_replaced) return std::unexpected("a younger pod has that name");
  return older;
}

// Without a cluster nobody else has a say in it: what is reserved is bound.
HttpResponse BindAlone(const ExtenderContext& context, const ExtenderBindingArgs& args) {
  const auto snapshot = context.store.Read();
  const scheduler::PodEntry* known = snapshot->FindPod(args.pod_uid);
  const auto pod = known != nullptr ? known->pod : context.recent_pods.Find(args.pod_uid);
  if (pod == nullptr) {
    LogBind(args.pod_namespace, args.pod_name, args.node, "pod.unknown");
    return BindError("pod is not known to offcut");
  }
  std::vector<std::string> gone;
  const auto forget = [&](Snapshot& next) -> std::expected<void, std::string> {
    auto older = Predecessors(next, context.recent_pods, *pod);
    if (!older) return std::unexpected(std::move(older.error()));
    gone = *std::move(older);
    for (const std::string& uid : gone) next.RemovePod(uid);
    return {};
  };
  auto binding = ReserveForBind(context.store, context.policy, context.metrics, args, *pod, forget);
  if (!binding) return BindError(std::move(binding.error()));
  context.store.Update([&](Snapshot& next) { next.Confirm(args.pod_uid); });
  for (const std::string& uid : gone) context.recent_pods.Retire(uid);
  LogBind(args.pod_namespace, args.pod_name, args.node, BoundText(binding->record));
  // Nobody else changes this state, and no time passes for it; so the model never lags behind.
  RenewPacking(context.store, context.policy);
  return BindError("");
}

void AnswerBind(const ExtenderContext& context, std::string_view body, const Respond& respond) {
  auto args = ReadBinding(body);
  if (!args) {
    respond(std::move(args.error()));
  } else if (context.cluster == nullptr) {
    respond(BindAlone(context, *args));
  } else {
    context.cluster->Bind(*std::move(args),
                          [respond](std::string error) { respond(BindError(std::move(error))); });
  }
}

}  // namespace

void AnswerExtender(const ExtenderContext& context, const HttpRequest& request,
                    const Respond& respond) {
  const auto verb = VerbOf(PathOf(request.target));
  if (!verb) {
    respond(ErrorAnswer(404, "no such path"));
    return;
  }
  const Respond count_and_respond = [&metrics = context.metrics, verb = *verb, respond,
                                     start =
                                         std::chrono::steady_clock::now()](HttpResponse answer) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    metrics.ObserveRequest(verb, answer.status, passed.count());
    if (answer.status != 200) LogRefusedRequest(NameOf(verb), answer.status, answer.body);
    respond(std::move(answer));
  };
  if (auto refusal = Refuse(request)) {
    count_and_respond(*std::move(refusal));
    return;
  }
  if (context.cluster != nullptr) {
    context.cluster->Asked();
    if (const std::string_view why = context.cluster->WhyNot(); !why.empty()) {
      HttpResponse answer = ErrorAnswer(503, why);
      answer.retry_after_s = 1;
      count_and_respond(std::move(answer));
      return;
    }
  }
  switch (*verb) {
    case ExtenderVerb::kFilter:
      return count_and_respond(AnswerFilter(context, request.body));
    case ExtenderVerb::kPrioritize:
      return count_and_respond(AnswerPrioritize(context, request.body));
    case ExtenderVerb::kPreempt:
      return count_and_respond(AnswerPreempt(context, request.body));
    case ExtenderVerb::kBind:
      return AnswerBind(context, request.body, count_and_respond);
  }
}

}  // namespace offcut::api
