// The process-wide thread pool. A caller of parallel_for works too: it claims chunks like any worker, finishes what
// nobody took, and waits only for chunks that a worker has already begun. So a descheduled worker costs one chunk,
// never the job. Workers start with the first job, look for work for about 20 us after the last one (300 us while a
// sequence of phases runs), then sleep; an idle process uses no CPU. Several threads may call at once; a task may
// itself call parallel_for. After fork() the child starts workers of its own. Hot path: parallel_for allocates nothing
// and takes no lock once the workers exist.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tilewright::vm::cpu {

// The threads a job may use, its caller included. At least 1. The default is default_num_threads().
void set_num_threads(int count);
int num_threads();

// TILEWRIGHT_NUM_THREADS if it is a positive number, else the CPUs that this process may run on.
int default_num_threads();

using ParallelBody = void (*)(void* context, std::int64_t first, std::int64_t last);

// Calls body(context, first, last) for disjoint ranges that cover 0 .. tasks - 1, on several threads, and returns when
// all are done. `chunk` is the length of a range; 0 leaves the choice to the pool: at most 1/16 of a thread's share.
void parallel_for(std::int64_t tasks, std::int64_t chunk, ParallelBody body, void* context);

// Jobs of one caller that follow each other without its help: the thread that ends the last task of a phase asks for
// the next phase and goes on with it, so a phase costs neither a wake-up of the caller nor a new job, and nobody waits
// for a thread that has no task of the phase. next() sets how many tasks the phase has, at most 2^17; body is called
// for ranges of them as by parallel_for, a range being one task. next() is called by one thread at a time, may do work
// itself and returns false at the end.
using NextPhase = bool (*)(void* context, std::int64_t& tasks);
void run_phases(NextPhase next, ParallelBody body, void* context);

// Whether a worker is looking for work now: a job reaches it in less than a microsecond.
bool workers_are_awake();

// The same as parallel_for for a callable f(first, last).
template <typename F>
void parallel_for(std::int64_t tasks, F&& f) {
  auto call = [](void* context, std::int64_t first, std::int64_t last) {
    (*static_cast<std::remove_reference_t<F>*>(context))(first, last);
  };
  parallel_for(tasks, 0, call, const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace tilewright::vm::cpu
