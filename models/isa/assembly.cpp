// SPDX-License-Identifier: Apache-2.0
#include "models/isa/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "models/base/config.h"
#include "models/base/error.h"

namespace steppe::isa {
namespace {

// visit_fields(part, visit) calls visit(field, value) for each field, in the order of the table.
#define STEPPE_VISIT(kind, name, bits, doc) \
  visit(FieldInfo{#name, doc, bits, #kind[0]}, value.name);
#define STEPPE_VISITORS(Type, FIELDS)                                                         \
  void visit_fields([[maybe_unused]] const Type& value, [[maybe_unused]] const auto& visit) { \
    FIELDS(STEPPE_VISIT)                                                                      \
  }                                                                                           \
  void visit_fields([[maybe_unused]] Type& value, [[maybe_unused]] const auto& visit) {       \
    FIELDS(STEPPE_VISIT)                                                                      \
  }
#define STEPPE_VISIT_ROW(Type, mnemonic, opcode, queues, FIELDS, doc) STEPPE_VISITORS(Type, FIELDS)
STEPPE_VISITORS(Header, STEPPE_HEADER_FIELDS)
STEPPE_INSTRUCTIONS(STEPPE_VISIT_ROW)
#undef STEPPE_VISIT_ROW
#undef STEPPE_VISITORS
#undef STEPPE_VISIT

constexpr std::string_view base_suffix = "_base";
constexpr std::string_view offset_suffix = "_offset";

/// The name that a field has in text: an address is written under the name before its suffix.
std::string_view text_name(const FieldInfo& field) {
  std::string_view name = field.name;
  for (const std::string_view suffix : {base_suffix, offset_suffix}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return name;
}
bool is_base(const FieldInfo& field) { return field.name.ends_with(base_suffix); }
bool is_offset(const FieldInfo& field) { return field.name.ends_with(offset_suffix); }

std::string number_text(const FieldInfo& /*field*/, float value) {
  // Not-a-number keeps its bits; of other values the shortest decimal that gives them back.
  if (std::isnan(value)) return fmt::format("nan:{:#x}", std::bit_cast<std::uint32_t>(value));
  return fmt::format("{}", value);
}
std::string number_text(const FieldInfo& field, auto value) {
  // Only addresses are that wide.
  return fmt::format(fmt::runtime(field.kind == 'u' && field.bits >= 40 ? "{:#x}" : "{}"), value);
}

bool is_zero(float value) { return std::bit_cast<std::uint32_t>(value) == 0; }  // -0 is not
bool is_zero(auto value) { return value == 0; }

std::string slot_text(std::string_view word, std::uint32_t semaphore, std::uint32_t count) {
  return count == 1 ? fmt::format(" {} {}", word, semaphore)
                    : fmt::format(" {} {}*{}", word, semaphore, count);
}

/// The two slots of `wait` or of `signal`. What the short form has no word for, such as tokens
/// without a semaphore, is spelt by field names.
std::string slots_text(std::string_view word, std::uint32_t semaphore0, std::uint32_t count0,
                       std::uint32_t semaphore1, std::uint32_t count1) {
  std::string text;
  if (semaphore0 != no_semaphore) {
    text += slot_text(word, semaphore0, count0);
  } else if (count0 != 0) {
    text += fmt::format(" {}0_count={}", word, count0);
  }
  if (semaphore1 != no_semaphore && semaphore0 != no_semaphore) {
    return text + slot_text(word, semaphore1, count1);
  }
  if (semaphore1 != no_semaphore) text += fmt::format(" {}1={}", word, semaphore1);
  if (count1 != 0) text += fmt::format(" {}1_count={}", word, count1);
  return text;
}

std::string header_text(const Header& header) {
  std::string text =
      slots_text("wait", header.wait0, header.wait0_count, header.wait1, header.wait1_count) +
      slots_text("signal", header.signal0, header.signal0_count, header.signal1,
                 header.signal1_count);
  if (header.tag != 0) text += fmt::format(" tag {}", header.tag);
  if (header.reserved != 0) text += fmt::format(" reserved={}", header.reserved);
  return text;
}

template <typename Type>
constexpr const char* mnemonic_of = nullptr;
#define STEPPE_MNEMONIC(Type, mnemonic, opcode, queues, FIELDS, doc) \
  template <>                                                        \
  constexpr const char* mnemonic_of<Type> = mnemonic;
STEPPE_INSTRUCTIONS(STEPPE_MNEMONIC)
#undef STEPPE_MNEMONIC

struct Word {
  std::string_view key;
  std::string_view value;
  bool used = false;
};

/// Parses one line; `words` are what stands between blanks.
class LineParser {
 public:
  LineParser(const std::string& file, std::size_t line) : file_(file), line_(line) {}

  Instruction parse(std::vector<std::string_view> words) {
    Instruction instruction;
    const std::string_view mnemonic = words.front();
    instruction.operation = operation(mnemonic);
    split(std::span(words).subspan(1));
    std::vector<std::string> names;
    const auto take = [&](const FieldInfo& field, auto& value) {
      if (!is_offset(field)) names.emplace_back(text_name(field));
      set(field, value);
    };
    std::visit(
        [&](auto& parsed) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(parsed)>, std::monostate>) {
            visit_fields(parsed, take);
          }
        },
        instruction.operation);
    visit_fields(instruction.header, [&](const FieldInfo& field, auto& value) {
      if (field.name != "opcode") take(field, value);
    });
    for (const Word& word : words_) {
      if (word.used) continue;
      const std::string near = nearest_name(word.key, names);
      fail("'{}' has no field '{}'{}", mnemonic, word.key,
           near.empty() ? "" : "; did you mean '" + near + "'?");
    }
    return instruction;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw ConfigError("{}:{}: {}", file_, line_, fmt::format(format, std::forward<Args>(args)...));
  }

  Operation operation(std::string_view mnemonic) const {
    std::vector<std::string> names;
#define STEPPE_CHOOSE(Type, text, opcode, queues, FIELDS, doc) \
  if (mnemonic == text) return Type();                         \
  names.emplace_back(text);
    STEPPE_INSTRUCTIONS(STEPPE_CHOOSE)
#undef STEPPE_CHOOSE
    const std::string near = nearest_name(mnemonic, names);
    fail("there is no instruction '{}'{}", mnemonic,
         near.empty() ? "" : "; did you mean '" + near + "'?");
  }

  /// Sorts the words behind the mnemonic into assignments; `wait`, `signal` and `tag`
  /// become those of header fields.
  void split(std::span<const std::string_view> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals != std::string_view::npos) {
        add({words[i].substr(0, equals), words[i].substr(equals + 1)});
        continue;
      }
      const std::string_view word = words[i];
      if (word != "wait" && word != "signal" && word != "tag") {
        fail("'{}' is neither FIELD=VALUE nor wait, signal, tag", word);
      }
      if (++i == words.size()) fail("'{}' needs a number behind it", word);
      if (word == "tag") {
        add({"tag", words[i]});
      } else {
        add_slot(word, words[i], word == "wait" ? waits_ : signals_);
      }
    }
  }

  void add(Word word) {
    const auto same = [&](const Word& other) { return other.key == word.key; };
    if (std::ranges::any_of(words_, same)) fail("'{}' is given twice", word.key);
    words_.push_back(word);
  }

  /// "5" or "5*2" as the next free slot of two.
  void add_slot(std::string_view word, std::string_view value, unsigned& slots) {
    static constexpr std::string_view fields[2][2][2] = {
        {{"wait0", "wait0_count"}, {"wait1", "wait1_count"}},
        {{"signal0", "signal0_count"}, {"signal1", "signal1_count"}}};
    if (slots == 2) fail("more than two of '{}'", word);
    const auto& [semaphore, count] = fields[word == "wait" ? 0 : 1][slots++];
    const std::size_t star = value.find('*');
    add({semaphore, value.substr(0, star)});
    add({count, star == std::string_view::npos ? "1" : value.substr(star + 1)});
  }

  void set(const FieldInfo& field, auto& value) {
    const std::string_view name = text_name(field);
    const auto word = std::ranges::find(words_, name, &Word::key);
    if (word == words_.end()) return;
    word->used = true;
    std::string_view text = word->value;
    if (is_base(field) || is_offset(field)) text = part_of_address(field, text);
    value = number(field, text, value);
  }

  /// Of "b3+0x40" the base's "3" or the offset's "0x40"; either may be missing.
  static std::string_view part_of_address(const FieldInfo& field, std::string_view text) {
    const bool has_base = text.starts_with('b');
    const std::size_t plus = text.find('+');
    if (is_base(field)) return has_base ? text.substr(1, plus - 1) : "0";
    if (!has_base) return text;
    return plus == std::string_view::npos ? "0" : text.substr(plus + 1);
  }

  float number(const FieldInfo& field, std::string_view text, float) const {
    constexpr std::string_view nan = "nan:";
    if (text.starts_with(nan)) {
      const FieldInfo bits{field.name, field.doc, 32, 'u'};
      return std::bit_cast<float>(number(bits, text.substr(nan.size()), std::uint32_t{}));
    }
    const bool negative = text.starts_with('-');
    std::string_view digits = text.substr(negative ? 1 : 0);
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    float value = 0;
    const auto [rest, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value,
                        hex ? std::chars_format::hex : std::chars_format::general);
    if (error != std::errc{} || rest != digits.data() + digits.size() || digits.starts_with('-')) {
      fail("{}: '{}' is no number that fp32 holds", text_name(field), text);
    }
    return negative ? -value : value;
  }

  template <typename T>
  T number(const FieldInfo& field, std::string_view text, T) const {
    const bool negative = text.starts_with('-');
    std::string_view digits = text.substr(negative ? 1 : 0);
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::uint64_t magnitude = 0;
    const auto [rest, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, hex ? 16 : 10);
    const bool whole = rest == digits.data() + digits.size() && !digits.empty();
    if (!whole || error == std::errc::invalid_argument) {
      fail("{}: '{}' is no whole number", text_name(field), text);
    }
    const std::uint64_t half = std::uint64_t{1} << (field.bits - 1);
    const std::uint64_t below = field.kind == 's' ? half : 0;  // the largest magnitude below zero
    const std::uint64_t above = field.kind == 's' ? half - 1 : half - 1 + half;
    if (error != std::errc{} || magnitude > (negative ? below : above)) {
      fail("{}: '{}' does not fit; {}{} to {} are right", text_name(field), text,
           below == 0 ? "" : "-", below, above);
    }
    return static_cast<T>(negative ? 0 - magnitude : magnitude);
  }

  const std::string& file_;
  std::size_t line_;
  std::vector<Word> words_;
  unsigned waits_ = 0;
  unsigned signals_ = 0;
};

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t start = line.find_first_not_of(blanks);
    if (start == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(blanks, start), line.size());
    words.push_back(line.substr(start, end - start));
    line.remove_prefix(end);
  }
}

const char* reason(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::truncated:
      return "the instruction is cut off";
    case DecodeStatus::unknown_opcode:
      return "unknown opcode";
    case DecodeStatus::nonzero_padding:
      return "padding that is not zero";
    case DecodeStatus::ok:
      break;
  }
  return "";
}

}  // namespace

std::string disassemble(const Instruction& instruction) {
  std::string text;
  const auto write = [&](const auto& operation) {
    using Type = std::decay_t<decltype(operation)>;
    if constexpr (std::is_same_v<Type, std::monostate>) {
      STEPPE_CHECK(false, "an empty instruction has no text");
    } else {
      text = mnemonic_of<Type>;
      std::uint64_t base = 0;
      visit_fields(operation, [&](const FieldInfo& field, const auto& value) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, float>) {
          if (is_base(field)) {
            base = static_cast<std::uint64_t>(value);
            return;
          }
        }
        if (is_offset(field)) {
          if (base == 0 && is_zero(value)) return;
          text += fmt::format(" {}=b{}+{}", text_name(field), base, number_text(field, value));
        } else if (!is_zero(value)) {
          text += fmt::format(" {}={}", field.name, number_text(field, value));
        }
      });
    }
  };
  std::visit(write, instruction.operation);
  return text + header_text(instruction.header);
}

std::string disassemble(std::span<const std::uint8_t> stream, bool offsets) {
  std::string text;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < stream.size();) {
    const Decoded decoded = decode(stream.subspan(at));
    if (decoded.status != DecodeStatus::ok) {
      throw PackageError("stream, byte {:#x}: {}", at, reason(decoded.status));
    }
    const Operation& operation = decoded.instruction.operation;
    if (std::holds_alternative<EndLoop>(operation) && depth > 0) --depth;
    if (offsets) text += fmt::format("{:#08x}:  ", at);
    text += std::string(2 * depth, ' ') + disassemble(decoded.instruction) + '\n';
    // A stream that nests too deep is not made wider for it.
    if (std::holds_alternative<Loop>(operation) && depth < max_loop_depth) ++depth;
    at += decoded.bytes;
  }
  return text;
}

std::vector<std::uint8_t> assemble(std::string_view text, const std::string& name) {
  std::vector<std::uint8_t> stream;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    std::vector<std::string_view> words = words_of(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    // The offset that disassemble writes; where an instruction lies follows from those before it.
    if (!words.empty() && words[0].starts_with("0x") && words[0].ends_with(':')) {
      words.erase(words.begin());
    }
    if (!words.empty()) encode(LineParser(name, line).parse(std::move(words)), stream);
  }
  return stream;
}

}  // namespace steppe::isa
