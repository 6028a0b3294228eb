// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace steppe::sim {

namespace options = boost::program_options;

/// A whole number of an option: digits alone, and no less than 0.
struct Whole {
  std::uint64_t value = 0;
};
void validate(boost::any& value, const std::vector<std::string>& texts, Whole*, int);

/// One subcommand: `run` returns the exit code and throws UserError for mistakes.
struct Command {
  std::string name;
  std::string summary;
  int (*run)(const std::vector<std::string>& arguments);
};

int compile_command(const std::vector<std::string>& arguments);
int calibrate_command(const std::vector<std::string>& arguments);
int prune_command(const std::vector<std::string>& arguments);
int check_command(const std::vector<std::string>& arguments);
int disasm_command(const std::vector<std::string>& arguments);
int asm_command(const std::vector<std::string>& arguments);
int run_command(const std::vector<std::string>& arguments);
int bench_command(const std::vector<std::string>& arguments);
int params_command(const std::vector<std::string>& arguments);

/// The whole program: picks the subcommand, reports errors on standard error, returns the exit code
/// of DESIGN: 0 as expected, 1 a verdict fell, 2 usage or configuration, 3 package or model, 4
/// machine.
int run_program(const std::vector<std::string>& arguments);

/// Parses a subcommand's arguments. `usage` is its first line of help, without "steppe";
/// `positional` the name of the one positional option, empty for none. Prints the help and returns
/// false where --help was asked for. Throws ConfigError naming the nearest option.
bool parse_arguments(const std::vector<std::string>& arguments, const std::string& usage,
                     options::options_description& described, const std::string& positional,
                     options::variables_map& values);

}  // namespace steppe::sim
