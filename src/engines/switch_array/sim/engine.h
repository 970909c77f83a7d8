#pragma once

#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/input_arrangement.h"
#include "engines/switch_array/sim/parameter_loader.h"
#include "engines/switch_array/sim/pe_array.h"
#include "engines/switch_array/sim/post_processor.h"
#include "engines/switch_array/sim/switch_network.h"
#include "fabric/sram_bank.h"
#include "sim/context.h"

#include <memory>
#include <vector>

#include <systemc>

namespace tilebeat::switch_array {

/// The switch-array engine of document 000 figure 3: arrangement, R input banks, switch network, PE array,
/// parameter buffer of C banks, post-processor, output buffer, joined by sockets. Its outward sockets are
/// those of its parts: the two streams, the matrix command, the output buffer's read port and the two
/// completions.
class SwitchArrayEngine : public sc_core::sc_module {
 public:
  static constexpr int kReadPort = 0, kWritePort = 1;  ///< of input and parameter banks

  SwitchArrayEngine(sc_core::sc_module_name name, const SimContext& context, const SwitchArrayConfig& config,
                    int bytes_per_clock, Granularity granularity, bool trace_accumulators, BuildOrder& order);

  std::unique_ptr<InputArrangement> arrangement;
  std::vector<std::unique_ptr<SramBank>> input_banks;  ///< b0..b(R-1), two copies each
  std::unique_ptr<SwitchNetwork> switch_network;
  std::unique_ptr<PeArray> pe_array;
  std::unique_ptr<ParameterLoader> parameter_loader;
  std::vector<std::unique_ptr<SramBank>> parameter_banks;  ///< one a column
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<SramBank> output_buffer;  ///< ports 0..G-1 write, port G reads
};

}  // namespace tilebeat::switch_array
