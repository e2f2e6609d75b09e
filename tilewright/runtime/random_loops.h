// Random programs of loops and branches in each other, as text: vectors f32[S] and counters i64[] go through scan,
// while, if and updates. Magnitudes stay small, S is at least 2.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

namespace tilewright::runtime {

class RandomLoops {
 public:
  explicit RandomLoops(std::uint64_t seed) : random_(seed) {
    Scope scope{{"x", "y"}, {"n"}, 0};
    text_ = "x: f32[S]\ny: f32[S]\nn: i64[]\nfact few in [-1, 9]\nitem(n) symbol=few\n";
    fill(scope, 2 + below(5), 3);
    const bool assigns = below(3) == 0;
    if (assigns) text_ += fmt::format("assign(y, {})\n", any(scope.vectors));
    text_ += fmt::format("return {}, {}, {}\n", scope.vectors.back(), any(scope.vectors), any(scope.counters));
  }
  const std::string& text() const { return text_; }

 private:
  struct Scope {
    std::vector<std::string> vectors, counters;
    int indent;
  };

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  const std::string& any(const std::vector<std::string>& names) {
    return names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
  }
  std::string fresh() { return fmt::format("v{}", next_++); }

  template <typename... Args>
  void line(const Scope& scope, fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(static_cast<std::size_t>(scope.indent), ' ') +
             fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void fill(Scope& scope, int statements, int depth) {
    for (int i = 0; i < statements; ++i) {
      const int kind = below(depth > 0 ? 9 : 6);
      if (kind < 4) elementwise(scope);
      if (kind == 4) update(scope);
      if (kind == 5) count(scope);
      if (kind == 6) branch(scope, depth - 1);
      if (kind == 7) scan(scope, depth - 1);
      if (kind == 8) loop(scope, depth - 1);
    }
  }

  void elementwise(Scope& scope) {
    static constexpr const char* kBinary[] = {"max", "min", "sub"};
    const std::string name = fresh(), half = fresh(), scaled = fresh();
    line(scope, "{} = {}({}, {})", name, kBinary[below(3)], any(scope.vectors), any(scope.vectors));
    line(scope, "{} = scalar() dtype=f32 value=0.5", half);
    line(scope, "{} = mul({}, {})", scaled, name, half);
    scope.vectors.push_back(scaled);
  }

  // One element of one vector into another.
  void update(Scope& scope) {
    const std::string part = fresh(), whole = fresh();
    line(scope, "{} = slice({}) start=[{}] stop=[{}] step=[1]", part, any(scope.vectors), 1, 2);
    if (below(2) == 0) {
      line(scope, "{} = update_slice({}, {}) start=[0] step=[1]", whole, any(scope.vectors), part);
    } else {
      const std::string bit = odd(scope), at = fresh();
      line(scope, "{} = reshape({}) shape=[1]", at, bit);
      line(scope, "{} = index_put({}, {}, {}) axes=[0]", whole, any(scope.vectors), part, at);
    }
    scope.vectors.push_back(whole);
  }

  std::string odd(Scope& scope) {
    const std::string two = fresh(), bit = fresh();
    line(scope, "{} = scalar() dtype=i64 value=2", two);
    line(scope, "{} = mod({}, {})", bit, any(scope.counters), two);
    return bit;
  }

  void count(Scope& scope) {
    const std::string one = fresh(), next = fresh();
    line(scope, "{} = scalar() dtype=i64 value={}", one, 1 + below(2));
    line(scope, "{} = add({}, {})", next, any(scope.counters), one);
    scope.counters.push_back(next);
  }

  // Names that a region sees: its own inputs are added by the caller.
  Scope enter(const Scope& outer) {
    Scope inner{{}, {}, outer.indent + 2};
    const std::string vector = fresh(), counter = fresh();
    line(inner, "capture {} = {}", vector, any(outer.vectors));
    line(inner, "capture {} = {}", counter, any(outer.counters));
    inner.vectors = {vector};
    inner.counters = {counter};
    return inner;
  }

  void branch(Scope& scope, int depth) {
    const std::string bit = odd(scope), taken = fresh(), a = fresh(), b = fresh();
    line(scope, "{} = cast({}) dtype=bool", taken, bit);
    line(scope, "{}, {} = if({}) {{", a, b, taken);
    for (int i = 0; i < 2; ++i) {
      if (i == 1) line(scope, "}} {{");
      Scope inner = enter(scope);
      fill(inner, 1 + below(3), depth);
      line(inner, "return {}, {}", inner.vectors.back(), any(inner.counters));
    }
    line(scope, "}}");
    scope.vectors.push_back(a);
    scope.counters.push_back(b);
  }

  void scan(Scope& scope, int depth) {
    const int carried = 1 + below(2), stacked = below(3);
    const bool conditional = below(2) == 0;
    std::string names, inputs;
    std::vector<std::string> results;
    if (conditional) {
      const std::string bit = odd(scope), go = fresh();
      line(scope, "{} = cast({}) dtype=bool", go, bit);
      inputs = go;
    }
    for (int i = 0; i < carried + stacked; ++i) {
      results.push_back(fresh());
      names += (i == 0 ? "" : ", ") + results.back();
      if (i < carried) inputs += (inputs.empty() ? "" : ", ") + any(scope.vectors);
    }
    const std::string trips = below(3) == 0 ? "few" : fmt::format("{}", below(5));
    line(scope, "{} = scan({}) carried={} trips={}{} {{", names, inputs, carried, trips,
         conditional ? fmt::format(" conditional=1 count=[c{}]", next_++) : "");
    std::vector<std::string> given{fresh()};
    Scope inner{{}, {given[0]}, scope.indent + 2};
    line(inner, "{}: i64[]", given[0]);
    for (int i = 0; i < carried; ++i) {
      inner.vectors.push_back(fresh());
      line(inner, "{}: f32[S]", inner.vectors.back());
    }
    const Scope seen = enter(scope);
    inner.vectors.push_back(seen.vectors[0]);
    inner.counters.push_back(seen.counters[0]);
    fill(inner, 1 + below(4), depth);
    std::string out;
    if (conditional) {
      const std::string bit = odd(inner), go = fresh();
      line(inner, "{} = cast({}) dtype=bool", go, bit);
      out = go;
    }
    for (int i = 0; i < carried + stacked; ++i) out += (out.empty() ? "" : ", ") + any(inner.vectors);
    line(inner, "return {}", out);
    line(scope, "}}");
    for (int i = 0; i < carried; ++i) scope.vectors.push_back(results[static_cast<std::size_t>(i)]);
    for (int i = carried; i < carried + stacked; ++i) {
      const std::string largest = fresh(), some = fresh(), zero = fresh();
      line(scope, "{} = reduce_max({}) axes=[0]", largest, results[static_cast<std::size_t>(i)]);
      line(scope, "{} = scalar() dtype=f32 value=-4", zero);
      line(scope, "{} = max({}, {})", some, largest, zero);
      scope.vectors.push_back(some);
    }
  }

  void loop(Scope& scope, int depth) {
    const std::string bit = odd(scope), i = fresh(), last = fresh(), a = fresh(), b = fresh();
    line(scope, "{}, {}, {} = while({}, {}, {}) {{", last, a, b, bit, any(scope.vectors), any(scope.vectors));
    Scope test{{}, {}, scope.indent + 2};
    line(test, "{}: i64[]\n{}: f32[S]\n{}: f32[S]", i, fresh(), fresh());
    const std::string end = fresh(), go = fresh();
    line(test, "{} = scalar() dtype=i64 value={}", end, 1 + below(5));
    line(test, "{} = lt({}, {})", go, i, end);
    line(test, "return {}", go);
    line(scope, "}} {{");
    const std::string k = fresh(), v = fresh(), w = fresh(), one = fresh(), next = fresh();
    Scope inner{{v, w}, {k}, scope.indent + 2};
    line(inner, "{}: i64[]\n{}: f32[S]\n{}: f32[S]", k, v, w);
    const Scope seen = enter(scope);
    inner.vectors.push_back(seen.vectors[0]);
    fill(inner, 1 + below(4), depth);
    line(inner, "{} = scalar() dtype=i64 value=1", one);
    line(inner, "{} = add({}, {})", next, k, one);
    line(inner, "return {}, {}, {}", next, any(inner.vectors), any(inner.vectors));
    line(scope, "}}");
    scope.vectors.push_back(a);
    scope.vectors.push_back(b);
    scope.counters.push_back(last);
  }

  std::mt19937_64 random_;
  int next_ = 0;
  std::string text_;
};

}  // namespace tilewright::runtime
