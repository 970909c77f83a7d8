#pragma once

// A copy engine between two stubs, for tests of its clocks.

#include "chip_model.h"
#include "unit_driver.h"
#include "units/copy_engine.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

/// A copy engine, its outer and its inner memory, and what sends it instructions.
class CopyEngineTest : public ::testing::Test {
 protected:
  static constexpr Picoseconds kPeriod = 1000;
  static constexpr std::uint64_t kInner = 1 << 20, kInnerBytes = 1 << 16;
  static constexpr Cycle kSent = 10;          ///< the first instruction is sent in this cycle ...
  static constexpr Cycle kFirst = kSent + 1;  ///< ... and acted upon in the next one

  CopyEngineTest() {
    strict_systemc();
    config_.burst_bytes = 64;
    config_.buffer_bytes = 4096;
  }
  void build() {
    engine_ = std::make_unique<CopyEngine>(
        "engine", context_, config_, Unit::kIodma,
        std::vector<AddressRange>{{kInner, kInner + kInnerBytes, 0}, {4 * kInner, 4 * kInner + 4096, 1}},
        std::vector<CopySide>{}, decode_bytes_);
    driver_ = std::make_unique<UnitDriver>("driver", context_);
    outer_ = std::make_unique<ScriptedTarget>("outer_memory", context_);
    inner_ = std::make_unique<ScriptedTarget>("inner_memory", context_);
    driver_->command.bind(engine_->command);
    engine_->completion.bind(driver_->completion);
    engine_->outer.socket.bind(outer_->socket);
    engine_->inner.socket.bind(inner_->socket);
  }
  void run(Cycle cycles) {
    sc_core::sc_start(to_sc_time(context_.clock.at(cycles)));
    engine_->read_ledger.settle(cycles);
    engine_->write_ledger.settle(cycles);
  }
  static Copy copy(std::uint64_t source, std::uint64_t destination, std::uint32_t bytes) {
    Copy copy;
    copy.source = source, copy.destination = destination, copy.run_bytes = bytes;
    return copy;
  }
  /// Two blocks of four runs of 32 bytes each, 16 columns together.
  static Copy turned_copy() {
    Copy turned;
    turned.source = 0, turned.destination = kInner;
    turned.run_bytes = 32, turned.inner_count = 4, turned.outer_count = 2;
    turned.source_inner_stride = 1024, turned.source_outer_stride = 4096;
    turned.transposed_columns = 16, turned.destination_inner_stride = 4, turned.transposed_stride = 64;
    turned.destination_outer_stride = 1024;
    return turned;
  }
  /// What the engine says of a copy that is sent to it.
  std::string refusal(const Copy& copy) {
    build();
    driver_->send(kSent, copy);
    return error_of_run(500, kPeriod);
  }

  SimContext context_{ClockDomain(kPeriod)};
  DmaConfig config_;
  int decode_bytes_ = 0;
  std::unique_ptr<CopyEngine> engine_;
  std::unique_ptr<UnitDriver> driver_;
  std::unique_ptr<ScriptedTarget> outer_, inner_;
};

}  // namespace tilebeat::testing
