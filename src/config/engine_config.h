#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// Data that an engine compiles ahead of runs for the layers of a workload and keeps in files (SPEC OT-3).
/// The engine's configuration and all of its copies share one object: planning adds to it and takes from it.
class CompiledAhead {
 public:
  virtual ~CompiledAhead() = default;

  /// Takes the contents `bytes` of the file `name`, all or nothing. Throws UserError, in one line, for a file
  /// that is damaged or of another version.
  virtual void use(const std::vector<std::uint8_t>& bytes, const std::string& name) = 0;
  /// Number of entries from `use` that planning has used since.
  virtual int used() const = 0;
  /// From now on, keeps everything that planning compiles.
  virtual void record() = 0;
  /// A file with everything that was recorded.
  virtual std::vector<std::uint8_t> file() const = 0;
  /// A question about a file: one of its entries, and in it optionally one thread and one k.
  struct Question {
    int entry = 0;
    std::optional<std::int64_t> thread;
    std::optional<int> k;
  };
  /// The text of the answer about the file given to `use`. Throws UserError when there is no such entry,
  /// thread or k.
  virtual std::string text(const Question& question) const = 0;
};

class CompiledAhead;
class Place;
struct HardwareConfig;
struct Instruction;

/// Decoders of weights of four bits: their number, and the weights that all make in a cycle.
struct DecoderSize {
  std::int64_t decoders = 0, lanes = 0;
};

/// The memory cells of an engine that a fault can be injected into (SPEC CY-3): `banks` banks of `bytes`
/// each, of its own or of its core's NRAM.
struct FaultSpace {
  enum class Cells : std::uint8_t { kOwn, kNram };
  int banks = 0;
  std::int64_t bytes = 0;
  Cells cells = Cells::kOwn;
};

/// The part of a hardware file that belongs to one matrix engine. This level knows no engine: it accesses
/// them through this interface, which EngineConfigOf implements for an engine's struct.
class EngineConfig {
 public:
  virtual ~EngineConfig() = default;
  virtual std::unique_ptr<EngineConfig> clone() const = 0;

  /// Sets the fields that `json` names. Throws UserError with the place of an error.
  virtual void read(const nlohmann::json& json, const Place& place) = 0;
  virtual nlohmann::ordered_json write() const = 0;
  virtual nlohmann::ordered_json schema() const = 0;
  /// Checks the rules between fields, including those with the rest of `hardware`; `root` is the place of the
  /// file. Called for every engine, whether or not `hardware` uses it. Throws UserError.
  virtual void check(const HardwareConfig& hardware, const Place& root) const = 0;

  /// The most multiply-accumulates of one engine in a cycle.
  virtual std::int64_t peak_macs_per_clock() const = 0;
  /// The most results that its post-processing takes in a cycle: it has so many result units.
  virtual std::int64_t results_per_clock() const = 0;
  /// The decoders where it reads packed kernels: with `chip.decompress` read, or on a board, whose engine has
  /// them by itself.
  virtual DecoderSize kernel_decoders(const HardwareConfig& hardware) const = 0;
  virtual FaultSpace fault_space(const HardwareConfig& hardware) const = 0;
  /// The registers of its PEs, which are accumulators, or operands that rotate through a PE.
  virtual FaultSpace pe_space() const = 0;
  /// Bytes of the buffers of one engine, without the memories of its core.
  virtual std::int64_t buffer_bytes() const = 0;
  /// The engine's compiled data, shared with all copies made from now on; null: the engine compiles nothing.
  virtual std::shared_ptr<CompiledAhead> compiled_ahead() = 0;
};

/// An engine's struct behind the interface. Its members are defined in config/engine_config_of.h, which the
/// source file of the engine includes; everybody else needs `value` only.
template <class T>
class EngineConfigOf : public EngineConfig {
 public:
  T value;

  std::unique_ptr<EngineConfig> clone() const override;
  void read(const nlohmann::json& json, const Place& place) override;
  nlohmann::ordered_json write() const override;
  nlohmann::ordered_json schema() const override;
  void check(const HardwareConfig& hardware, const Place& root) const override;
  std::int64_t peak_macs_per_clock() const override;
  std::int64_t results_per_clock() const override;
  DecoderSize kernel_decoders(const HardwareConfig& hardware) const override;
  FaultSpace fault_space(const HardwareConfig& hardware) const override;
  FaultSpace pe_space() const override;
  std::int64_t buffer_bytes() const override;
  std::shared_ptr<CompiledAhead> compiled_ahead() override;
};

/// The description of an engine in hardware files.
struct EngineDescription {
  const char* dataflow;                     ///< its name under `dataflow`
  const char* key;                          ///< the object with its sizes
  const char* doc;                          ///< description of that object
  std::unique_ptr<EngineConfig> (*make)();  ///< its configuration, with defaults
  /// Fields of that object that programs choose, not the hardware: a mapping file may set them for a layer.
  std::vector<std::string> layer_choices{};
  /// Ports to the chip's interconnect that it has in a core besides the core's bus (MatrixUnit::dram_ports).
  std::vector<std::string> dram_ports{};
  /// Whether every bank of WRAM holds a contiguous part of it (a region), with a port of its own for the
  /// engine; otherwise words are interleaved over the banks.
  bool wram_regions = false;
  /// Whether its PEs keep their sums in accumulators, which a waveform can show (--vcd-accumulators).
  bool traces_accumulators = false;
  /// Fills in the fields of a program's instructions that were omitted and follow from others; null: there
  /// are none.
  void (*complete)(const HardwareConfig& hardware, std::vector<Instruction>& program) = nullptr;
};

/// The engines that the program was linked with, in the order of the documentation; the first is the default.
/// Defined by the list of engines (engines/list.h), not by this level.
const std::vector<EngineDescription>& engine_descriptions();
/// The description of the engine with this dataflow, which must be in the list.
const EngineDescription& engine_description(const std::string& dataflow);

/// One configuration of each engine of `engine_descriptions`, in their order; copied with its contents.
class EngineConfigs {
 public:
  EngineConfigs();
  EngineConfigs(const EngineConfigs& other);
  EngineConfigs& operator=(const EngineConfigs& other);
  EngineConfigs(EngineConfigs&&) = default;
  EngineConfigs& operator=(EngineConfigs&&) = default;
  ~EngineConfigs() = default;

  std::size_t size() const { return engines_.size(); }
  EngineConfig& operator[](std::size_t index) { return *engines_[index]; }
  const EngineConfig& operator[](std::size_t index) const { return *engines_[index]; }

  /// The configuration of the engine whose struct is T, which is in the list.
  template <class T>
  T& get() {
    return const_cast<T&>(static_cast<const EngineConfigs&>(*this).get<T>());
  }
  template <class T>
  const T& get() const {
    for (const auto& engine : engines_) {
      if (const auto* found = dynamic_cast<const EngineConfigOf<T>*>(engine.get())) return found->value;
    }
    missing();
  }

 private:
  [[noreturn]] static void missing();

  std::vector<std::unique_ptr<EngineConfig>> engines_;
};

}  // namespace tilebeat
