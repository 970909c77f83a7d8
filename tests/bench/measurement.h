#pragma once

#include "config/hardware_config.h"
#include "planner/program/planner.h"
#include "program/plan.h"
#include "system/simulation.h"

#include <functional>
#include <string>
#include <vector>

namespace tilebeat {

/// What one measurement took.
struct Measurement {
  double seconds = 0;     ///< of processor time
  double amount = 0;      ///< cycles or multiply-accumulates
  double megabytes = 0;   ///< peak of the process
  double dram_bytes = 0;  ///< that a simulation moved
};

/// Runs `measure` in a process of its own; ends the program when it fails.
Measurement in_child(const std::function<Measurement()>& measure);
/// A program from start to exit: its path and its arguments. Its user and system time.
Measurement process(const std::vector<std::string>& arguments);

/// The ticks of an empty `sc_clock`.
Measurement empty_clock();
/// The cycles of a plan, simulated.
Measurement simulation(const HardwareConfig& hardware, const Plan& plan, Granularity granularity);
/// The multiply-accumulates of oneDNN's int8 convolution or product of a layer, limited to AVX2.
Measurement onednn(const Workload& workload, const Layer& layer);

double median(std::vector<double> values);

/// First of all in `main`: starts the program again where OpenMP, which reads its settings when a program is
/// loaded, would use more threads than one.
void one_thread(char** arguments);

}  // namespace tilebeat
