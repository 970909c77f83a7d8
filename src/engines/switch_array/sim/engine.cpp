#include "tilebeat/engines/switch_array/sim/engine.h"

#include "tilebeat/engines/switch_array/config.h"

#include <fmt/format.h>

namespace tilebeat {

SwitchArrayEngine::SwitchArrayEngine(sc_core::sc_module_name name, const SimContext& context,
                                     const SwitchArrayConfig& config, int bytes_per_clock,
                                     Granularity granularity, bool trace_accumulators, BuildOrder& order)
    : sc_module(name),
      input_banks(static_cast<std::size_t>(config.rows)),
      parameter_banks(static_cast<std::size_t>(config.columns)) {
  const int p = config.port_channels;
  std::vector<std::function<void()>> steps;
  steps.emplace_back([&] {
    arrangement = std::make_unique<InputArrangement>("arrangement", context, config, bytes_per_clock);
  });
  steps.emplace_back(
      [&] { switch_network = std::make_unique<SwitchNetwork>("switch", context, config, granularity); });
  steps.emplace_back(
      [&] { pe_array = std::make_unique<PeArray>("pe", context, config, trace_accumulators); });
  steps.emplace_back([&] {
    parameter_loader =
        std::make_unique<ParameterLoader>("parameter_loader", context, config, bytes_per_clock);
  });
  steps.emplace_back([&] { post_processor = std::make_unique<PostProcessor>("post", context, config); });
  steps.emplace_back([&] {
    output_buffer =
        std::make_unique<SramBank>("output_buffer", context, config.output_buffer_bytes, config.groups + 1);
    for (int g = 0; g < config.groups; ++g)
      output_buffer->trace_port(this->name(), fmt::format("out{}", g), g, 8);
  });
  for (int i = 0; i < config.rows; ++i) {
    steps.emplace_back([&, i] {
      const std::string bank = fmt::format("b{}", i);
      auto& slot = input_banks[static_cast<std::size_t>(i)];
      slot = std::make_unique<SramBank>(bank.c_str(), context, std::int64_t{2} * config.bank_depth_words * p,
                                        2, 2);
      slot->trace_port(fmt::format("{}.banks", this->name()), bank, kReadPort, p);
      slot->trace_port(fmt::format("{}.banks", this->name()), bank + "_write", kWritePort, p);
    });
  }
  for (int i = 0; i < config.columns; ++i) {
    steps.emplace_back([&, i] {
      const std::string bank = fmt::format("w{}", i);
      auto& slot = parameter_banks[static_cast<std::size_t>(i)];
      slot = std::make_unique<SramBank>(bank.c_str(), context, std::int64_t{config.parameter_depth_words} * p,
                                        2);
      slot->trace_port(fmt::format("{}.parameters", this->name()), bank, kReadPort, p);
    });
  }
  order.run(std::move(steps));

  arrangement->holds = switch_network->holds = &holds;
  parameter_loader->holds = post_processor->holds = &holds;
  for (std::size_t i = 0; i < input_banks.size(); ++i) {
    arrangement->bank_write[i].bind(input_banks[i]->ports[kWritePort]);
    switch_network->bank_read[i].bind(input_banks[i]->ports[kReadPort]);
  }
  for (std::size_t i = 0; i < parameter_banks.size(); ++i) {
    parameter_loader->bank_write[i].bind(parameter_banks[i]->ports[kWritePort]);
    pe_array->parameter_read[i].bind(parameter_banks[i]->ports[kReadPort]);
  }
  switch_network->to_array.bind(pe_array->operands);
  pe_array->drain.bind(post_processor->drain);
  parameter_loader->post_write.bind(post_processor->parameters);
  for (int g = 0; g < config.groups; ++g) {
    post_processor->output[static_cast<std::size_t>(g)].bind(
        output_buffer->ports[static_cast<std::size_t>(g)]);
  }
}

}  // namespace tilebeat
