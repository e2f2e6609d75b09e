// Processor features by CPUID, which also says whether the system saves the wide registers, and cache sizes from sysfs.
#include "tilewright/vm/cpu/machine_levels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm::cpu {
namespace {

#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
}
// AVX-VNNI, which is not AVX512-VNNI: leaf 7, sub-leaf 1.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1u) != 0;
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bf16");
}
#endif

// Bytes of the data cache of a level (1 or 2) of the first processor; `otherwise` where the system does not say.
std::int64_t cache_bytes(int level, std::int64_t otherwise) {
  for (int index = 0; index < 8; ++index) {
    const auto read = [index](const char* name, char(&text)[32]) {
      char path[96];
      std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
      std::FILE* const file = std::fopen(path, "re");
      if (file == nullptr) return false;
      const bool good = std::fgets(text, sizeof text, file) != nullptr;
      std::fclose(file);
      return good;
    };
    char number[32], type[32], size[32];
    if (!read("level", number) || !read("type", type) || !read("size", size)) return otherwise;
    if (std::atoi(number) != level || std::strncmp(type, "Instruction", 11) == 0) continue;
    char* unit = nullptr;
    const std::int64_t value = std::strtoll(size, &unit, 10);
    const std::int64_t bytes = *unit == 'K' ? value << 10 : *unit == 'M' ? value << 20 : value;
    return bytes >= 4096 && bytes <= (std::int64_t{1} << 30) ? bytes : otherwise;
  }
  return otherwise;
}

struct Rates {
  std::int64_t flops_per_us, bytes_per_us;
};

Rates rates_of(const LevelTable& level) {
  switch (level.vector_floats) {
    case 16:
      return {250000, 40000};
    case 8:
      return {100000, 20000};
    default:
      return {20000, 15000};
  }
}

}  // namespace

std::span<const LevelTable* const> available_levels() {
  struct List {
    const LevelTable* tables[4] = {&portable::level_table()};
    std::size_t count = 1;
    List() {
#if defined(__x86_64__)
      __builtin_cpu_init();
      if (has_avx2()) tables[count++] = &avx2::level_table();
      if (has_avx_vnni()) tables[count++] = &avx2::vnni_level_table();
      if (has_avx512()) tables[count++] = &avx512::level_table();
#endif
    }
  };
  static const List list;
  return {list.tables, list.count};
}

BackendTraits traits_of(const LevelTable& level) {
  const std::int64_t l1_bytes = cache_bytes(1, 32 << 10);
  BackendTraits traits;
  traits.name = level.name;
  traits.threads = num_threads();
  traits.l2_bytes = cache_bytes(2, 512 << 10);
  traits.fast_bytes = l1_bytes + traits.l2_bytes / 4;
  traits.strip_elements = 8 * level.vector_floats;
  traits.vector_floats = level.vector_floats;
  traits.matmul_rows = level.matmul_rows;
  traits.matmul_panel = level.matmul_panel;
  traits.flops_per_us = rates_of(level).flops_per_us;
  traits.bytes_per_us = rates_of(level).bytes_per_us;
  return traits;
}

}  // namespace tilewright::vm::cpu
