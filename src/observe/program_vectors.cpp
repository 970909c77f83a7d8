#include "observe/program_vectors.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kProcessorBits = 16, kNumberBits = 48, kStageBits = 8;

}  // namespace

int ProgramVectors::add_processor(const std::string& name) {
  processors_.push_back(name);
  if (next_ != nullptr) next_->add_processor(name);
  return to_int(processors_.size()) - 1;
}

void ProgramVectors::begin(int processor, std::uint64_t number, ProgramStage stage, Cycle at) {
  stages_.emplace_back(at, processor, number, static_cast<int>(stage));
  if (next_ != nullptr) next_->begin(processor, number, stage, at);
}

void ProgramVectors::name(int processor, std::uint64_t number, const std::string& text) {
  texts_.emplace_back(processor, number, text);
  if (next_ != nullptr) next_->name(processor, number, text);
}

VectorRecords ProgramVectors::write(VectorPort& port, bool text, const VectorSink& sink) {
  port.name = "instructions", port.kind = PortRecordKind::kChanges;
  port.fields = {{"processor", kProcessorBits}, {"number", kNumberBits}, {"stage", kStageBits}};
  port.texts = {"fetch", "decode", "wait", "execute", "retire", "flush"};
  port.members = processors_;
  VectorRecords records(port.name, port.field_bytes(), text);
  std::sort(stages_.begin(), stages_.end());
  for (const auto& [at, processor, instruction, stage] : stages_) {
    std::string record;
    append_number(record, to_unsigned(processor), port.fields[0].bytes());
    append_number(record, instruction, port.fields[1].bytes());
    append_number(record, to_unsigned(stage), port.fields[2].bytes());
    records.add(at, record);
  }
  records.finish(INT64_MAX, sink);
  std::sort(texts_.begin(), texts_.end());
  std::string names;
  for (const auto& [processor, instruction, name] : texts_)
    names += fmt::format("{} {} {}\n", processor, instruction, name);
  pass_on(sink, "programs.txt", names);
  return records;
}

}  // namespace tilebeat
