#include "api/packing_renewal.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;

struct World {
  World() {
    store.Update([](scheduler::Snapshot& next) { next = SnapshotOf({WholeInventory("n", 8)}); });
  }

  scheduler::StateStore store;
  scheduler::Policy policy;
};

TEST(PackingRenewalTest, PublishesAModelOfTheNewestState) {
  World world;
  PackingRenewal renewal(world.store, world.policy, std::chrono::milliseconds(1));
  renewal.Now();
  const auto first = world.store.Read()->packing();
  ASSERT_NE(first, nullptr);
  renewal.Now();
  EXPECT_EQ(world.store.Read()->packing(), first);
  world.store.Update(
      [](scheduler::Snapshot& next) { next.PutPod(PodFromText("p nvidia.com/gpu=4")); });
  renewal.Soon();
  renewal.Soon();
  const auto end = std::chrono::steady_clock::now() + 10 * kPackingDelay;
  while (world.store.Read()->packing() == first && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_NE(world.store.Read()->packing(), first);
}

TEST(PackingRenewalTest, EndsAtOnceWhileARenewalIsDue) {
  World world;
  const auto start = std::chrono::steady_clock::now();
  {
    PackingRenewal renewal(world.store, world.policy);
    renewal.Soon();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPackingDelay);
}

}  // namespace
}  // namespace offcut::api
