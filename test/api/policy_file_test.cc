#include "api/policy_file.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/policy_resources.h"
#include "api/policy_workload.h"
#include "binpack/strategy.h"

namespace offcut::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::array<std::string_view, 4> kStrategies = {"best-fit", "spread", "fgd", "offcut"};
constexpr std::string_view kHeader = "apiVersion: offcut.dev/v1alpha1\nkind: Policy\n";

auto Read(std::string_view text) { return ReadPolicy(text, "p.yaml", kStrategies); }

// Reads a policy of the header's two lines and `body`, which therefore starts at line 3.
auto ReadBody(std::string_view body) { return Read(std::string(kHeader) + std::string(body)); }

// "LINE:COLUMN CODE POINTER: MESSAGE (SUGGESTION)" of each error.
std::vector<std::string> ErrorsOf(
    const std::expected<scheduler::Policy, std::vector<PolicyError>>& policy) {
  std::vector<std::string> shown;
  if (policy) return shown;
  for (const PolicyError& error : policy.error()) {
    shown.push_back(std::to_string(error.line) + ":" + std::to_string(error.column) + " " +
                    std::string(CodeText(error.code)) + " " + error.pointer + ": " + error.message +
                    (error.suggestion.empty() ? "" : " (" + error.suggestion + ")"));
  }
  return shown;
}

TEST(PolicyFileTest, DefaultsToTheSchedulersPolicy) {
  const auto policy = Read(kHeader);
  ASSERT_TRUE(policy);
  EXPECT_EQ(PrintPolicy(*policy), PrintPolicy(scheduler::Policy{}));
}

TEST(PolicyFileTest, ReadsEveryField) {
  const auto policy = ReadBody(R"(
$schema: https://example.com/schema.json
scheduler: {refusals: preemptable}
packing:
  strategy: spread
  scores: proportional
  ties: name
  weights: {gpu: 0, cpu: 1000}
resources:
  gpu: a.example/gpu
  migPrefix: a.example/mig-
  sharedSuffix: .slot
  gpuMemory: a.example/mem
  gpuMemoryPercent: a.example/mem-percent
  gpuCores: a.example/cores
  ignoredByScheduler: [a.example/mem]
  failRequestsGreaterThanOne: {a.example/gpu.slot: true, a.example/mig-1g.10gb: false}
preemption:
  withinTenant: never
  fromBorrowers: never
  fairSharing: true
  protectedPriorities: [{from: -5, to: 7}]
  minRunSeconds: 60
reclaim:
  mode: on
  afterSeconds: 1
  holdSeconds: 2
  maxBackoffSeconds: 3
  windowSeconds: 4
  maxEvictionsPerWorkload: 5
  maxEvictionsPerTenant: 6
  dateAfterSeconds: 7
)");
  ASSERT_THAT(ErrorsOf(policy), IsEmpty());
  EXPECT_EQ(policy->refusals, scheduler::Refusals::kPreemptable);
  EXPECT_EQ(policy->packing->strategy->name, "spread");
  EXPECT_EQ(policy->scores, scheduler::Scores::kProportional);
  EXPECT_EQ(policy->ties, scheduler::Ties::kName);
  EXPECT_EQ(policy->packing->weights.gpu, 0);
  EXPECT_EQ(policy->packing->weights.cpu, 1000);
  EXPECT_EQ(policy->resources.gpu, "a.example/gpu");
  EXPECT_EQ(policy->resources.mig_prefix, "a.example/mig-");
  EXPECT_EQ(policy->resources.shared_suffix, ".slot");
  EXPECT_EQ(policy->resources.gpu_memory, "a.example/mem");
  EXPECT_EQ(policy->resources.gpu_memory_percent, "a.example/mem-percent");
  EXPECT_EQ(policy->resources.gpu_cores, "a.example/cores");
  EXPECT_THAT(policy->resources.ignored_by_scheduler, ElementsAre("a.example/mem"));
  EXPECT_THAT(policy->resources.fail_requests_greater_than_one,
              ElementsAre(std::pair("a.example/gpu.slot", true),
                          std::pair("a.example/mig-1g.10gb", false)));
  const scheduler::PreemptionRules expected{.within_tenant = quota::Taking::kNever,
                                            .from_borrowers = quota::Taking::kNever,
                                            .fair_sharing = true,
                                            .protected_bands = {{.from = -5, .to = 7}},
                                            .run_s_min = 60};
  EXPECT_EQ(policy->preemption, expected);
  const scheduler::ReclaimRules reclaim{.mode = scheduler::ReclaimMode::kOn,
                                        .after_s = 1,
                                        .hold_s = 2,
                                        .backoff_s_max = 3,
                                        .window_s = 4,
                                        .evictions_per_workload_max = 5,
                                        .evictions_per_tenant_max = 6};
  EXPECT_EQ(policy->reclaim, reclaim);
  EXPECT_EQ(policy->dated_holds.after_s, 7);
}

TEST(PolicyFileTest, PrintsWhatReadsBackToTheSamePolicy) {
  scheduler::Policy policy;
  policy.refusals = scheduler::Refusals::kPreemptable;
  policy.scores = scheduler::Scores::kProportional;
  policy.ties = scheduler::Ties::kName;
  policy.packing = binpack::PreparePacking("fgd", {.gpu = 7, .cpu = 0});
  policy.preemption = {.fair_sharing = true, .protected_bands = {{.from = 1, .to = 2}}};
  policy.reclaim = {.mode = scheduler::ReclaimMode::kDryRun, .hold_s = 11};
  policy.dated_holds = {.after_s = 0};
  policy.resources.gpu_memory = "a.example/mem";
  policy.resources.ignored_by_scheduler = {};
  policy.resources.fail_requests_greater_than_one = {{"nvidia.com/gpu.shared", true}};
  const std::string printed = PrintPolicy(policy);
  const auto read = Read(printed);
  ASSERT_THAT(ErrorsOf(read), IsEmpty());
  EXPECT_EQ(PrintPolicy(*read), printed);
  EXPECT_EQ(read->refusals, policy.refusals);
  EXPECT_EQ(read->packing->strategy, policy.packing->strategy);
  EXPECT_EQ(read->scores, policy.scores);
  EXPECT_EQ(read->ties, policy.ties);
  EXPECT_EQ(read->packing->weights.gpu, policy.packing->weights.gpu);
  EXPECT_EQ(read->packing->weights.cpu, policy.packing->weights.cpu);
  EXPECT_EQ(read->resources.gpu_memory, policy.resources.gpu_memory);
  EXPECT_EQ(read->resources.ignored_by_scheduler, policy.resources.ignored_by_scheduler);
  EXPECT_EQ(read->resources.fail_requests_greater_than_one,
            policy.resources.fail_requests_greater_than_one);
}

TEST(PolicyFileTest, TellsAllErrorsAtOnceInTheOrderOfTheText) {
  const auto policy = Read(R"(apiVersion: offcut.dev/v1
packing:
  strateg: best-fit
  scores: 3
  weights: {gpu: 0, cpu: 0}
resources: {gpu: gpu}
packing: {ties: random}
)");
  EXPECT_THAT(
      ErrorsOf(policy),
      ElementsAre("1:1 missing-field /kind: must be there and be \"Policy\"",
                  "1:13 unknown-value /apiVersion: got the string \"offcut.dev/v1\", allowed "
                  "\"offcut.dev/v1alpha1\"",
                  "3:3 unknown-field /packing/strateg: there is no such field (strategy)",
                  "4:11 wrong-type /packing/scores: got the number 3, allowed \"strict\" or "
                  "\"proportional\"",
                  "5:12 out-of-range /packing/weights: got 0 for both weights, allowed 0 for one",
                  HasSubstr("6:18 invalid-name /resources/gpu: got \"gpu\", allowed an extended"),
                  "7:1 duplicate-field /packing: the field stands more than once",
                  "7:17 unknown-value /packing/ties: got the string \"random\", allowed \"strict\" "
                  "or \"name\""));
  EXPECT_EQ(policy.error().front().file, "p.yaml");
}

TEST(PolicyFileTest, PlacesErrorsInJson) {
  EXPECT_THAT(ErrorsOf(Read("{\"apiVersion\": \"offcut.dev/v1alpha1\",\n \"kind\": \"Policy\",\n"
                            " \"packing\": {\"weights\": {\"gpu\": -1}}}")),
              ElementsAre("3:33 out-of-range /packing/weights/gpu: got the number -1, allowed an "
                          "integer from 0 to 1000"));
}

TEST(PolicyFileTest, SuggestsAFieldAtTwoEditsAndNotAtThree) {
  EXPECT_THAT(ErrorsOf(ReadBody("packing: {stratgey: best-fit}")),  // two letters replaced
              ElementsAre(HasSubstr("(strategy)")));
  EXPECT_THAT(ErrorsOf(ReadBody("packing: {Strategies: best-fit}")),  // y -> ies: three
              ElementsAre("3:11 unknown-field /packing/Strategies: there is no such field"));
  EXPECT_THAT(ErrorsOf(ReadBody("RESOURCE: {}")), ElementsAre(HasSubstr("(resources)")));
}

TEST(PolicyFileTest, SuggestsNothingThatSharesNoLetter) {
  EXPECT_THAT(ErrorsOf(ReadBody("packing: {strategy: ''}")),
              ElementsAre("3:21 unknown-value /packing/strategy: got the string \"\", allowed "
                          "\"best-fit\", \"spread\", \"fgd\" or \"offcut\""));
}

TEST(PolicyFileTest, SuggestsAValue) {
  EXPECT_THAT(ErrorsOf(ReadBody("scheduler: {refusals: Preemptible}")),
              ElementsAre("3:23 unknown-value /scheduler/refusals: got the string \"Preemptible\", "
                          "allowed \"unresolvable\" or \"preemptable\" (preemptable)"));
  EXPECT_THAT(ErrorsOf(Read("apiVersion: offcut.dev/v1alpha2\nkind: policy\n")),
              ElementsAre(HasSubstr("(offcut.dev/v1alpha1)"), HasSubstr("(Policy)")));
}

TEST(PolicyFileTest, TakesTheStrategiesThatItsCallerNames) {
  EXPECT_TRUE(ReadBody("packing: {strategy: fgd}"));
  const std::array<std::string_view, 1> only_best_fit = {"best-fit"};
  const auto policy =
      ReadPolicy(std::string(kHeader) + "packing: {strategy: fgd}", "p", only_best_fit);
  EXPECT_THAT(ErrorsOf(policy), ElementsAre(HasSubstr("allowed \"best-fit\"")));
}

TEST(PolicyFileTest, KnowsASectionOnlyWhereItBelongs) {
  EXPECT_THAT(ErrorsOf(ReadBody("packing: {tenants: {}}")),
              ElementsAre(HasSubstr("unknown-field /packing/tenants")));
}

// YAML 1.1 would read both as truth values.
TEST(PolicyFileTest, ReadsTheModesOnAndOffAsWords) {
  EXPECT_EQ(ReadBody("reclaim: {mode: on}")->reclaim.mode, scheduler::ReclaimMode::kOn);
  EXPECT_EQ(ReadBody("reclaim: {mode: off}")->reclaim.mode, scheduler::ReclaimMode::kOff);
}

// 25 % of 1400 units. The class with the most requests and GPUs is first.
TEST(PolicyFileTest, ReadsATargetWorkload) {
  const auto policy = ReadBody(R"(
packing:
  targetWorkload:
  - {weight: 1, slots: 2}
  - {weight: 40, gpus: 1, memoryPercent: 25, cpu: 500m}
  - {weight: 30, gpus: 8, cpu: 96, models: ["H100*", "A100*"]}
  - {weight: 20, migProfile: 1g.10gb, instances: 2, cpu: "1.5"}
)");
  ASSERT_THAT(ErrorsOf(policy), IsEmpty());
  ASSERT_TRUE(policy->target_workload);
  using binpack::DemandKind;
  using binpack::WorkloadClass;
  EXPECT_THAT(
      policy->target_workload->classes,
      ElementsAre(
          WorkloadClass{{.cpu_milli = 96'000,
                         .kind = DemandKind::kShare,
                         .gpus = 8,
                         .share_units = 1400,
                         .models = {"H100*", "A100*"}},
                        30},
          WorkloadClass{
              {.cpu_milli = 500, .kind = DemandKind::kShare, .gpus = 1, .share_units = 350}, 40},
          WorkloadClass{
              {.cpu_milli = 1'500, .kind = DemandKind::kInstance, .gpus = 2, .profile = "1g.10gb"},
              20},
          WorkloadClass{{.kind = DemandKind::kSlot, .gpus = 2}, 1}));
  const std::string printed = PrintPolicy(*policy);
  const auto read = Read(printed);
  ASSERT_THAT(ErrorsOf(read), IsEmpty());
  EXPECT_EQ(read->target_workload, policy->target_workload);
}

TEST(PolicyFileTest, TellsWhatIsWrongWithATargetWorkload) {
  EXPECT_THAT(ErrorsOf(ReadBody("packing:\n"
                                "  targetWorkload:\n"
                                "  - {weight: 1}\n"
                                "  - {gpus: 1}\n"
                                "  - {weight: 1, gpus: 1, slots: 1}\n"
                                "  - {weight: 1, slots: 1, memoryPercent: 50}\n"
                                "  - {weight: 0, gpu: 1}\n"
                                "  - {weight: 1, gpus: 1, cpu: 1Gi, models: ['']}\n"
                                "  - 7\n")),
              ElementsAre("5:5 missing-field /packing/targetWorkload/0: must have one of gpus, "
                          "slots and migProfile",
                          "6:5 missing-field /packing/targetWorkload/1/weight: must be there",
                          "7:5 conflict /packing/targetWorkload/2: must have one of gpus, slots "
                          "and migProfile",
                          "8:27 conflict /packing/targetWorkload/3/memoryPercent: goes with gpus "
                          "alone",
                          HasSubstr("9:5 missing-field"),
                          "9:14 out-of-range /packing/targetWorkload/4/weight: got the number 0, "
                          "allowed an integer from 1 to 100000",
                          "9:17 unknown-field /packing/targetWorkload/4/gpu: there is no such "
                          "field (gpus)",
                          HasSubstr("10:31 out-of-range /packing/targetWorkload/5/cpu: got the "
                                    "string \"1Gi\", allowed CPUs"),
                          HasSubstr("10:45 invalid-name /packing/targetWorkload/5/models/0"),
                          "11:5 wrong-type /packing/targetWorkload/6: got the number 7, allowed "
                          "an object"));
  EXPECT_THAT(ErrorsOf(ReadBody("packing: {targetWorkload: []}")),
              ElementsAre(HasSubstr("out-of-range /packing/targetWorkload: got 0 classes")));
  std::string classes;
  for (std::size_t i = 0; i < kMaxWorkloadClasses; ++i) {
    classes += "{weight: 1, gpus: 1, cpu: " + std::to_string(i) + "}, ";
  }
  EXPECT_TRUE(ReadBody("packing: {targetWorkload: [" + classes + "]}"));
  EXPECT_THAT(
      ErrorsOf(ReadBody("packing: {targetWorkload: [" + classes + "{weight: 1, gpus: 1}]}")),
      ElementsAre(HasSubstr("too-large /packing/targetWorkload: got 101 classes")));
}

// `offcut` packs best with ties by name, all others by fill level first.
TEST(PolicyFileTest, TakesTheTiesOfTheStrategyWhereNoneAreNamed) {
  EXPECT_EQ(TiesOf(*Read(kHeader)), scheduler::Ties::kName);
  EXPECT_EQ(TiesOf(*ReadBody("packing: {strategy: fgd}")), scheduler::Ties::kStrict);
  EXPECT_EQ(TiesOf(*ReadBody("packing: {ties: strict}")), scheduler::Ties::kStrict);
}

TEST(PolicyFileTest, SaysWhatTypeItGotAndWhatIsAllowed) {
  EXPECT_THAT(ErrorsOf(ReadBody("packing:\n")),
              ElementsAre("3:1 wrong-type /packing: got null, allowed an object"));
  EXPECT_THAT(ErrorsOf(ReadBody("packing: {weights: {gpu: 1.5, cpu: yes}}")),
              ElementsAre(HasSubstr("got the number 1.5, allowed an integer from 0 to 1000"),
                          HasSubstr("got the string \"yes\", allowed an integer")));
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {gpu: [], gpuCores: {}, sharedSuffix: true}")),
              ElementsAre(HasSubstr("got a list, allowed a string"),
                          HasSubstr("got an object, allowed a string"),
                          HasSubstr("got true, allowed a string")));
  EXPECT_THAT(
      ErrorsOf(ReadBody("resources: {failRequestsGreaterThanOne: {nvidia.com/gpu: yes}}")),
      ElementsAre("3:58 wrong-type /resources/failRequestsGreaterThanOne/nvidia.com~1gpu: got the "
                  "string \"yes\", allowed true or false"));
}

TEST(PolicyFileTest, RefusesASettingForAResourceThatIsNotCounted) {
  EXPECT_THAT(
      ErrorsOf(ReadBody("resources: {failRequestsGreaterThanOne: {nvidia.com/gpumem: true}}")),
      ElementsAre(AllOf(HasSubstr("unknown-value /resources/failRequestsGreaterThanOne/"
                                  "nvidia.com~1gpumem: got \"nvidia.com/gpumem\", allowed "),
                        HasSubstr("\"nvidia.com/gpu\", \"nvidia.com/gpu.shared\" and names that "
                                  "begin with \"nvidia.com/mig-\""))));
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {gpu: a.example/gpu, failRequestsGreaterThanOne: "
                                "{nvidia.com/gpu: true, a.example/gpu: true, "
                                "nvidia.com/mig-1g.5gb.shared: true}}")),
              ElementsAre(HasSubstr("got \"nvidia.com/gpu\", allowed \"a.example/gpu\"")));
}

TEST(PolicyFileTest, RefusesAWeightThatNoIntegerHolds) {
  EXPECT_THAT(ErrorsOf(ReadBody("packing: {weights: {gpu: 99999999999999999999}}")),
              ElementsAre(HasSubstr("out-of-range /packing/weights/gpu: got the number 1e+20")));
}

TEST(PolicyFileTest, PlacesTheErrorOfAnItemAtTheItem) {
  EXPECT_THAT(ErrorsOf(ReadBody("resources:\n  ignoredByScheduler:\n  - a.example/x\n  - 1\n"
                                "  - a.example/x\n")),
              ElementsAre("6:5 wrong-type /resources/ignoredByScheduler/1: got the number 1, "
                          "allowed a string",
                          "7:5 name-conflict /resources/ignoredByScheduler/2: \"a.example/x\" is "
                          "listed twice"));
}

TEST(PolicyFileTest, BoundsTheResourcesListed) {
  std::string names;
  for (std::size_t i = 0; i < kMaxResourcesListed; ++i) {
    names += "a.example/r" + std::to_string(i) + ", ";
  }
  EXPECT_TRUE(ReadBody("resources: {ignoredByScheduler: [" + names + "]}"));
  EXPECT_THAT(
      ErrorsOf(ReadBody("resources: {ignoredByScheduler: [" + names + "a.example/x]}")),
      ElementsAre(HasSubstr("too-large /resources/ignoredByScheduler: got 65 resources, allowed "
                            "64")));
}

// "requests." and the domain share the 253 bytes of a DNS subdomain: 253 - 9 = 244.
TEST(PolicyFileTest, TakesADomainOf244BytesAndNoMore) {
  const std::string domain(244, 'a');
  EXPECT_TRUE(ReadBody("resources: {gpuCores: " + domain + "/x}"));
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {gpuCores: a" + domain + "/x}")),
              ElementsAre(HasSubstr("invalid-name")));
}

TEST(PolicyFileTest, RefusesTwoResourcesWithOneName) {
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {gpuMemory: nvidia.com/gpu}")),
              ElementsAre("3:24 name-conflict /resources/gpuMemory: \"nvidia.com/gpu\" is named by "
                          "both gpu and gpuMemory"));
}

TEST(PolicyFileTest, PlacesANameConflictAtTheNameThatIsWritten) {
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {gpu: nvidia.com/gpucores}")),
              ElementsAre(HasSubstr("3:18 name-conflict /resources/gpu: \"nvidia.com/gpucores\"")));
  // nvidia.com/gpu + mem is the default of gpuMemory.
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {sharedSuffix: mem}")),
              ElementsAre(HasSubstr("3:27 name-conflict /resources/sharedSuffix")));
}

TEST(PolicyFileTest, RefusesAResourceThatBeginsWithTheMigPrefix) {
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {gpuCores: nvidia.com/mig-cores}")),
              ElementsAre(HasSubstr("3:23 name-conflict /resources/gpuCores")));
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {migPrefix: nvidia.com/g}")),
              ElementsAre(HasSubstr("3:24 name-conflict /resources/migPrefix")));
}

TEST(PolicyFileTest, ComparesNoNamesWhileOneIsWrong) {
  EXPECT_THAT(ErrorsOf(ReadBody("resources: {gpu: gpu, gpuMemory: nvidia.com/gpu}")),
              ElementsAre(HasSubstr("invalid-name /resources/gpu:")));
}

TEST(PolicyFileTest, IgnoresTheFractionsByTheirNewNames) {
  const auto policy = ReadBody("resources: {gpuMemory: a.example/mem}");
  ASSERT_TRUE(policy);
  EXPECT_THAT(policy->resources.ignored_by_scheduler,
              ElementsAre("a.example/mem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"));
}

TEST(PolicyFileTest, TellsASyntaxErrorAlone) {
  EXPECT_THAT(ErrorsOf(ReadBody("packing: {strategy: 1\n")),
              ElementsAre(HasSubstr("4:1 syntax /packing: ")));
  EXPECT_THAT(ErrorsOf(Read("")), ElementsAre("1:1 syntax : the document is empty"));
  EXPECT_THAT(ErrorsOf(ReadBody("packing: &x {}")), ElementsAre(HasSubstr("3:10 syntax /packing")));
}

TEST(PolicyFileTest, RefusesAListAtTheTop) {
  EXPECT_THAT(ErrorsOf(Read("- a\n")),
              ElementsAre("1:1 wrong-type : got a list, allowed an object"));
}

TEST(PolicyFileTest, RefusesATextAboveTheLimit) {
  EXPECT_THAT(ErrorsOf(ReadBody("#" + std::string(1 << 20, 'x'))),
              ElementsAre(HasSubstr("1:1 too-large")));
}

TEST(PolicyFileTest, TellsABoundedNumberOfErrors) {
  std::string body;
  for (std::size_t i = 0; i < kMaxPolicyErrors; ++i) body += "x" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(ErrorsOf(ReadBody(body)), SizeIs(kMaxPolicyErrors));
  const auto errors = ErrorsOf(ReadBody(body + "y: 1\nz: 1\n"));
  ASSERT_THAT(errors, SizeIs(kMaxPolicyErrors + 1));
  EXPECT_THAT(errors.back(), HasSubstr("too-many-errors"));
}

TEST(PolicyFileTest, GivesEveryCodeATextOfItsOwn) {
  std::set<std::string_view> texts;
  const int codes = static_cast<int>(PolicyErrorCode::kTooManyErrors) + 1;
  for (int i = 0; i < codes; ++i) texts.insert(CodeText(static_cast<PolicyErrorCode>(i)));
  EXPECT_THAT(texts, SizeIs(codes));
}

std::string FileText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PolicyFileTest, TakesEveryExamplePolicy) {
  int examples = 0;
  const std::filesystem::path folder = OFFCUT_SOURCE_DIR "/deploy/policies";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto policy = ReadPolicy(FileText(entry.path()), entry.path().string(), kStrategies);
    EXPECT_THAT(ErrorsOf(policy), IsEmpty()) << entry.path();
    ++examples;
  }
  EXPECT_GE(examples, 3);
}

TEST(PolicyFileTest, WritesTheDefaultsInTheDefaultExample) {
  const auto policy = Read(FileText(OFFCUT_SOURCE_DIR "/deploy/policies/default.yaml"));
  ASSERT_TRUE(policy);
  EXPECT_EQ(PrintPolicy(*policy), PrintPolicy(scheduler::Policy{}));
}

}  // namespace
}  // namespace offcut::api
