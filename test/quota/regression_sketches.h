// The `regression` sketches of test/data/quota_vectors.json: which test of ours pins the behaviour
// that each asks for, or why it asks for nothing of us. Sizes in a sketch are often made up; the
// tests have their own where ours differ.
#pragma once

#include <string_view>

namespace offcut::quota {

struct Sketch {
  std::string_view id;
  std::string_view thread;  // of the public report
  std::string_view test;    // SUITE.NAME; empty: it does not apply
  std::string_view reason;  // then: why not
};

inline constexpr Sketch kSketches[] = {
    {"qv-00dd4096f4", "koordinator 2449", "RegressionTest.APodWithoutTenantIsNoVictim", ""},
    {"qv-06612520d2", "scheduler-plugins 213",
     "VictimFinderTest.WhoLeavesAlreadyGoesBeforeWhoWouldRunOn", ""},
    {"qv-08973fc558", "volcano 5881", "RegressionTest.IdleAndLentTogetherSuffice", ""},
    {"qv-0f53f21752", "kueue 7393",
     "QuotaRegressionTest.WhatIsNotContestedKeepsNobodyFromReclaiming", ""},
    {"qv-1592a3da6c", "KAI 1847", "QuotaRegressionTest.AFractionIsOfTheDevicesRealMemory", ""},
    {"qv-1939718fef", "yunikorn 658", "VictimsTest.NobodyGoesWhereAllWouldNotSuffice", ""},
    {"qv-1cf4020f32", "kubernetes 123434", "QuotaRegressionTest.TwoThatFitAloneDoNotBothFit", ""},
    {"qv-3234f8f79a", "volcano 921", "QuotaRegressionTest.TwoThatFitAloneDoNotBothFit", ""},
    {"qv-35dec59f35", "volcano 4808", "VictimsTest.ALenderGetsBackWhatItIsGuaranteedAndNoMore", ""},
    {"qv-3f571f0563", "volcano 4658",
     "QuotaRegressionTest.WhatNoQuotaNamesKeepsNobodyFromReclaiming", ""},
    {"qv-4fe4d9a8ab", "volcano 5131", "RegressionTest.AMemberThatFitsWaitsForNoVictimsOfOthers",
     ""},
    {"qv-555a051775", "kueue 2821", "QuotaTest.WhatIsFreedForANomineeIsNotForWhoReplacesItsVictims",
     ""},
    {"qv-75cd3aee25", "kueue 14609", "QuotaRegressionTest.UsageIsWhatThePodsThatAreThereHold", ""},
    {"qv-77354431ed", "kueue 1561", "QuotaRegressionTest.NoBorrowingLimitIsNoLimit", ""},
    {"qv-774aa3a119", "HAMi 1773", "",
     "kube-scheduler and the kubelet count the maximum for the pod's life, and so do we"},
    {"qv-782f7a421a", "volcano 4643", "VictimFinderTest.OfAGangTheSurplusGoesOrAll", ""},
    {"qv-7a3c010595", "yunikorn 636", "QuotaRegressionTest.ALimitIsNoGuarantee", ""},
    {"qv-7ce828d4dc", "kueue 804", "VictimsTest.WhatOneVictimFreesIsForOneNewcomer", ""},
    {"qv-7f46a5a8c0", "kueue 6947", "QuotaRegressionTest.WhatCanNeverFitDoesNotBlock", ""},
    {"qv-91a93e9124", "HAMi 893", "QuotaRegressionTest.MemoryAloneRefuses", ""},
    {"qv-92fc659463", "kueue 3779", "RegressionTest.VictimsThatAreReplacedAtOnceTakeNothingBack",
     ""},
    {"qv-9c665c2e25", "HAMi 2923", "QuotaRegressionTest.UsageIsWhatThePodsThatAreThereHold", ""},
    {"qv-a4fe5044a8", "koordinator 1030", "VictimsTest.NobodyGoesWhereItFits", ""},
    {"qv-a513dd97a4", "KAI 1873", "QuotaRegressionTest.AHugeRequestHurtsNobody", ""},
    {"qv-a9832ae416", "kueue 3405",
     "FairOrderTest.PutsWhoStaysWithinItsGuaranteeFirstWhateverTheAges", ""},
    {"qv-aa8f989475", "kueue 14811", "QuotaRegressionTest.UsageIsWhatThePodsThatAreThereHold", ""},
    {"qv-ae2ae7b9d1", "kueue 13662", "RegressionTest.AHoldOutlastsTheVictimThatLeavesFirst", ""},
    {"qv-bd45736c98", "volcano 3962", "VictimsTest.WithinATenantLowerPrioritiesGoTheLatestFirst",
     ""},
    {"qv-cb1b57b6e9", "kueue 4782", "RegressionTest.PriorityCountsWhereQuotaIsMoreThanTheHardware",
     ""},
    {"qv-d18846d275", "KAI 987", "QuotaRegressionTest.AnInstanceIsCharged", ""},
    {"qv-d4d667298c", "kueue 10407", "QuotaRegressionTest.UsageIsWhatThePodsThatAreThereHold", ""},
    {"qv-d52d480779", "KAI 416", "QuotaRegressionTest.FractionsOfAGpuStayWithinIt", ""},
    {"qv-d5df1ebd8e", "kubernetes 95752",
     "NominationTest.EndsWhenItLapsesUntilThePodIsNominatedElsewhere", ""},
    {"qv-d90d95dc7b", "yunikorn 639", "VictimsTest.WhoHasNoGuaranteeTakesFromNoOtherTenant", ""},
    {"qv-d97490f22c", "kubernetes 139270", "",
     "preempt is not called for what kube-scheduler does not count; filter says so: RefusalTest"},
    {"qv-dfdb927400", "volcano 5946", "GatesTest.OfAGangAreLiftedTogetherOrNot", ""},
    {"qv-e037621c99", "yunikorn 1164", "VictimsTest.WhoMayNotGoIsPassedOver", ""},
    {"qv-e0f7ac15e0", "kubernetes 106780",
     "NominationTest.EndsWhenItLapsesUntilThePodIsNominatedElsewhere", ""},
    {"qv-e5cbebb65b", "kueue 12232", "QuotaRegressionTest.UsageIsWhatThePodsThatAreThereHold", ""},
    {"qv-e613d04c55", "kueue 10131", "FairVictimsTest.OfEqualSharesTheLowestPriorityGoes", ""},
    {"qv-e6278ff305", "volcano 5984", "VictimFinderTest.OfAGangTheSurplusGoesOrAll", ""},
    {"qv-ec09608ba8", "volcano 2547", "QuotaRegressionTest.WhatIsFreedCounts", ""},
    {"qv-ec735f9062", "KAI 422", "CapacityTest.StaticInstancesAreWhatTheyAreCharged", ""},
    {"qv-fa47e5e233", "tensor-fusion 478", "QuotaRegressionTest.TheRecordedChargeIsReleased", ""},
};

}  // namespace offcut::quota
