// The file form of a program, little endian:
//   "TWP1" | version u32 | checksum u64 of all that follows | scratch bytes i64 | buffers u64 | words u64
//   | per buffer: kind u64, bytes i64 | words u64 each
// The file ends there. Everything is checked before memory for it is taken; verify_program checks the meaning.
#include <bit>
#include <cstring>

#include "tilewright/isa/program.h"

namespace tilewright::isa {
namespace {

static_assert(std::endian::native == std::endian::little, "words are stored as they lie in memory");

constexpr std::uint32_t kMagic = 'T' | 'W' << 8 | 'P' << 16 | '1' << 24;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 40;
constexpr std::size_t kChecksumEnd = 16;

std::uint64_t read_u64(const std::uint8_t* from) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Each step maps the state one to one for a given word and each word one to one for a given state, so any single
// changed word changes the sum.
std::uint64_t checksum(std::span<const std::uint8_t> bytes) {
  std::uint64_t state = bytes.size() * 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    state = (state ^ read_u64(bytes.data() + i)) * 0xff51afd7ed558ccdu;
    state ^= state >> 32;
  }
  return state;
}

void append(std::vector<std::uint8_t>& out, std::uint64_t value, std::size_t bytes = 8) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), from, from + bytes);
}

}  // namespace

std::vector<std::uint8_t> encode_file(const Program& program) {
  std::vector<std::uint8_t> out;
  out.reserve(kHeadBytes + 16 * program.buffers.size() + 8 * program.words.size());
  append(out, kMagic, 4);
  append(out, kVersion, 4);
  append(out, 0);
  append(out, static_cast<std::uint64_t>(program.scratch_bytes));
  append(out, program.buffers.size());
  append(out, program.words.size());
  for (const Buffer& buffer : program.buffers) {
    append(out, static_cast<std::uint64_t>(buffer.kind));
    append(out, static_cast<std::uint64_t>(buffer.bytes));
  }
  for (const Word word : program.words) append(out, word);
  const std::uint64_t sum = checksum(std::span(out).subspan(kChecksumEnd));
  std::memcpy(out.data() + 8, &sum, sizeof sum);
  return out;
}

Result<Program> decode_file(std::span<const std::uint8_t> bytes) {
  const auto corrupt = []<typename... Args>(fmt::format_string<Args...> text, Args&&... args) {
    return fail(ErrorKind::kCorrupt, text, std::forward<Args>(args)...);
  };
  if (bytes.size() < kHeadBytes) return corrupt("{} bytes, a program file has at least {}", bytes.size(), kHeadBytes);
  const auto magic = static_cast<std::uint32_t>(read_u64(bytes.data()));
  const auto version = static_cast<std::uint32_t>(read_u64(bytes.data()) >> 32);
  if (magic != kMagic) return corrupt("not a program file: it begins with {:#010x}", magic);
  if (version != kVersion)
    return fail(ErrorKind::kUnsupported, "program file of version {}, known is {}", version, kVersion);
  const std::uint64_t buffers = read_u64(bytes.data() + 24);
  const std::uint64_t words = read_u64(bytes.data() + 32);
  const std::uint64_t available = bytes.size() - kHeadBytes;
  if (buffers > available / 16 || words > available / 8 || buffers * 16 + words * 8 != available) {
    return corrupt("{} buffers and {} words do not fill the {} bytes after the head", buffers, words, available);
  }
  const std::uint64_t stored = read_u64(bytes.data() + 8);
  const std::uint64_t sum = checksum(bytes.subspan(kChecksumEnd));
  if (stored != sum) return corrupt("checksum {:#018x}, its contents have {:#018x}", stored, sum);
  const std::uint8_t* from = bytes.data() + kHeadBytes;
  for (std::uint64_t i = 0; i < buffers; ++i) {
    const std::uint64_t kind = read_u64(from + 16 * i);
    if (kind > static_cast<std::uint64_t>(BufferKind::kPacked)) return corrupt("buffer {}: unknown kind {}", i, kind);
  }
  Program program;
  program.scratch_bytes = static_cast<std::int64_t>(read_u64(bytes.data() + 16));
  program.buffers.reserve(buffers);
  for (std::uint64_t i = 0; i < buffers; ++i, from += 16) {
    program.buffers.push_back({static_cast<BufferKind>(read_u64(from)), static_cast<std::int64_t>(read_u64(from + 8))});
  }
  program.words.resize(words);
  if (words != 0) std::memcpy(program.words.data(), from, words * 8);
  return program;
}

}  // namespace tilewright::isa
