// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "models/base/config.h"
#include "models/base/error.h"
#include "sim/command.h"

namespace steppe::sim {
namespace {

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      {"compile", "turns a model into a shard package", compile_command},
      {"calibrate", "finds the ranges of a model's activations and the error of each layer",
       calibrate_command},
      {"prune", "measures what pruning costs each layer, and finds ratios under a budget",
       prune_command},
      {"check", "judges a package without running it", check_command},
      {"disasm", "prints the command streams of a package", disasm_command},
      {"asm", "makes a package from such a print", asm_command},
      {"run", "runs a package on a virtual card", run_command},
      {"bench", "measures throughput and latency in simulated time", bench_command},
      {"params", "lists every parameter of a platform", params_command}};
  return all;
}

std::string help() {
  std::string text = "usage: steppe COMMAND [OPTION …]\n\n";
  for (const Command& command : commands()) {
    text += fmt::format("  {:<9} {}\n", command.name, command.summary);
  }
  text +=
      "\n`steppe COMMAND --help` tells the options. Exit codes: 0 as expected, 1 a verdict fell,\n"
      "2 usage or configuration, 3 a package or model that cannot be taken, 4 the machine "
      "faulted, 70 a fault of steppe itself.\n";
  return text;
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::cerr << help();
    return 2;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "help" || name == "-h") {
    std::cout << help();
    return 0;
  }
  if (name == "--version" || name == "version") {
    std::cout << "steppe " STEPPE_VERSION "\n";
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command.run({arguments.begin() + 1, arguments.end()});
    names.push_back(command.name);
  }
  const std::string near = nearest_name(name, names);
  throw ConfigError(
      "there is no command '{}'{}", name,
      near.empty() ? "; `steppe --help` lists all" : fmt::format("; did you mean '{}'?", near));
}

/// The text with what no terminal should get as '?': names come from files. Control characters but
/// for new lines, and bytes that are no UTF-8.
std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    bool good = byte < 0x80 ? byte == '\n' || (byte >= 0x20 && byte != 0x7f)
                            : byte >= 0xc2 && byte <= 0xf4 && at + length <= text.size();
    for (std::size_t i = 1; good && i < length; ++i) {
      good = (static_cast<unsigned char>(text[at + i]) & 0xc0U) == 0x80;
    }
    result += good ? text.substr(at, length) : "?";
    at += good ? length : 1;
  }
  return result;
}

std::vector<std::string> option_names(const options::options_description& described) {
  std::vector<std::string> names;
  for (const auto& option : described.options()) names.push_back("--" + option->long_name());
  return names;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  try {
    const int code = dispatch(arguments);
    std::cout.flush();
    if (!std::cout || std::fflush(stdout) != 0) {
      throw ConfigError("standard output cannot be written");
    }
    return code;
  } catch (const UserError& error) {
    std::cout.flush();
    std::cerr << "steppe: error: " << printable(error.what()) << '\n';
    return error.exit_code();
  } catch (const std::system_error& error) {
    std::cerr << "steppe: error: " << printable(error.what()) << '\n';
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << "steppe: error: the host has no memory left for this; take fewer samples or "
                 "smaller memories\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "steppe: internal error: " << printable(error.what())
              << "\nThis is a fault of steppe itself.\n";
    return 70;
  }
}

void validate(boost::any& value, const std::vector<std::string>& texts, Whole*, int) {
  options::validators::check_first_occurrence(value);
  const std::string& text = options::validators::get_single_string(texts);
  Whole whole;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), whole.value);
  if (error != std::errc{} || rest != text.data() + text.size()) {
    throw options::invalid_option_value(text);
  }
  value = whole;
}

bool parse_arguments(const std::vector<std::string>& arguments, const std::string& usage,
                     options::options_description& described, const std::string& positional,
                     options::variables_map& values) {
  described.add_options()("help,h", "print this");
  options::options_description all;
  all.add(described);
  options::positional_options_description place;
  if (!positional.empty()) {
    all.add_options()(positional.c_str(), options::value<std::string>());
    place.add(positional.c_str(), 1);
  }
  try {
    // No abbreviations: a script that uses one breaks when the next option is added.
    const int style =
        options::command_line_style::unix_style & ~options::command_line_style::allow_guessing;
    options::store(
        options::command_line_parser(arguments).options(all).positional(place).style(style).run(),
        values);
    if (values.count("help") != 0) {
      std::cout << "usage: steppe " << usage << "\n\n" << described;
      return false;
    }
    options::notify(values);
  } catch (const options::unknown_option& error) {
    const std::string near = nearest_name(error.get_option_name(), option_names(described));
    throw ConfigError("there is no option '{}'{}", error.get_option_name(),
                      near.empty() ? "" : "; did you mean '" + near + "'?");
  } catch (const options::error& error) {
    throw ConfigError("{}\nusage: steppe {}", error.what(), usage);
  }
  if (!positional.empty() && values.count(positional) == 0) {
    throw ConfigError("{} is missing\nusage: steppe {}", positional, usage);
  }
  return true;
}

}  // namespace steppe::sim
