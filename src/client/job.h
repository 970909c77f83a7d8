#pragma once

#include "client/workplace.h"
#include "tilebeat/tilebeat.h"

#include <string>
#include <vector>

namespace tilebeat {

/// A job as this version knows it: fields that the caller's version has not are 0. Throws JobError.
tilebeat_job known_job(const tilebeat_job* given);
/// The command with the job's hardware and workload, as names of files in the workplace.
std::vector<std::string> arguments_of(const char* command, const tilebeat_job& job, const Workplace& place);
/// Adds the job's inputs and options.
void add_rest(const tilebeat_job& job, const Workplace& place, std::vector<std::string>& arguments);
/// Adds the job's mapping, if it has one.
void add_mapping(const tilebeat_job& job, const Workplace& place, std::vector<std::string>& arguments);

}  // namespace tilebeat
