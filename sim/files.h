// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace steppe::sim {

/// Files of a result, by path below its folder, with their contents. Written together at the end,
/// so that a run that fails leaves nothing behind.
using Files = std::map<std::string, std::string>;

/// Writes all files whole or none of them (temporary names, then renames), making folders as
/// needed. Throws ConfigError where it cannot.
void write_files(const std::filesystem::path& folder, const Files& files);
void write_file(const std::filesystem::path& path, const std::string& contents);

/// Removes the files with that extension from a folder that are not among `files` by "folder/name":
/// what an earlier run left there.
void remove_others(const std::filesystem::path& folder, const std::string& extension,
                   const Files& files);

/// The folder that a file lies in; "." where its path names none.
std::filesystem::path folder_of(const std::filesystem::path& file);

/// Throws ConfigError where files could not be made in the folder, which need not be there yet: to
/// be asked before long work whose results go there.
void check_writable(const std::filesystem::path& folder);

/// A port's name as a file name: what separates folders becomes '_'.
std::string file_name(const std::string& port);

/// Splits "NAME=VALUE" of an option; throws ConfigError quoting the option where there is no '='.
std::pair<std::string, std::string> split_pair(const std::string& option, const std::string& text);
/// The same of an option that is given several times, each name once.
std::map<std::string, std::string> split_pairs(const std::string& option,
                                               const std::vector<std::string>& texts);

}  // namespace steppe::sim
