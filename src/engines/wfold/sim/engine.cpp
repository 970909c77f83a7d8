#include "tilebeat/engines/wfold/sim/engine.h"

#include "tilebeat/engines/wfold/config.h"

#include <fmt/format.h>

namespace tilebeat {

WfoldEngine::WfoldEngine(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
                         int max_outstanding, std::uint64_t nram, std::int64_t region_bytes,
                         Granularity granularity, BuildOrder& order)
    : sc_module(name), slaves(static_cast<std::size_t>(config.slaves)) {
  std::vector<std::function<void()>> steps;
  steps.emplace_back([&] {
    master = std::make_unique<WfoldMaster>("master", context, config, max_outstanding, nram, region_bytes,
                                           granularity);
  });
  steps.emplace_back([&] {
    writer = std::make_unique<WfoldWriter>("writer", context, config, max_outstanding, nram, granularity);
  });
  for (int i = 0; i < config.slaves; ++i) {
    steps.emplace_back([&, i] {
      slaves[static_cast<std::size_t>(i)] =
          std::make_unique<WfoldSlave>(fmt::format("sl{}", i).c_str(), context, config);
    });
  }
  order.run(std::move(steps));

  for (std::size_t i = 0; i < slaves.size(); ++i) {
    master->slave_control[i].bind(slaves[i]->control);
    master->slave_chunks[i].bind(slaves[i]->chunks);
    writer->results[i].bind(slaves[i]->results);
  }
  master->to_writer.bind(writer->tiles);
  writer->drained.bind(master->drained);
}

}  // namespace tilebeat
