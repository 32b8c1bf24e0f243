// What a piece of a GPU is worth, by how well pieces of its size fill a GPU together with others.
//
// The fewest GPUs that hold a demand are the optimum of a linear program over patterns (fillings of
// one GPU); its dual gives each size a price, such that no filling is worth more than one GPU. A
// size that leaves a gap which nothing fills costs a GPU by itself (0.81 of it: 1), one that fills
// gaps costs nothing.
// Source: Gilmore and Gomory, "A Linear Programming Approach to the Cutting-Stock Problem", 1961.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace offcut::binpack {

struct PieceDemand {
  int percent = 0;         // of a GPU, 1..100
  std::int64_t count = 0;  // positive
};

inline constexpr std::int64_t kGpuPrice = 1000;  // of a whole GPU

// The price of each size, 0..kGpuPrice, in the order given. Requires: each size stands there once.
std::vector<std::int64_t> CuttingStockPrices(std::span<const PieceDemand> demands);

}  // namespace offcut::binpack
