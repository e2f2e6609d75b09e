/* Tilewright for C and for languages that call C. Functions that can fail return 0, or the exit code of the kind of
 * error (the table of base/error_kinds.def); tw_last_error() has its text. A model may be used by several threads at
 * once. Strings and arrays that a function returns live as long as the model, those of tw_last_error() until the next
 * call of the same thread. */
#ifndef TILEWRIGHT_C_API_H
#define TILEWRIGHT_C_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_MAX_RANK = 12 };

typedef enum tw_dtype {
  TW_F32 = 0,
  TW_F64 = 1,
  TW_F16 = 2,
  TW_BF16 = 3,
  TW_I8 = 4,
  TW_U8 = 5,
  TW_I16 = 6,
  TW_I32 = 7,
  TW_I64 = 8,
  TW_BOOL = 9
} tw_dtype;

typedef struct tw_tensor {
  int32_t dtype; /* tw_dtype */
  int32_t rank;
  int64_t sizes[TW_MAX_RANK];
  int64_t strides[TW_MAX_RANK]; /* in elements */
  void* data;
  void* owner; /* of results: what tw_tensor_free frees; null in tensors that the caller makes */
} tw_tensor;

typedef struct tw_tensor_info {
  const char* name;
  int32_t dtype;
  int32_t rank;
  const char* dims[TW_MAX_RANK]; /* a number, or an expression: "B", "2*S + 1" */
} tw_tensor_info;

typedef struct tw_scalar {
  int64_t integer; /* of an integer scalar */
  double real;     /* of a float scalar */
} tw_scalar;

typedef struct tw_stats {
  int64_t calls, launches, programs_encoded, cache_hits, guards_failed, host_calls, weights_packed;
  int64_t packed_bytes, cached_program_bytes, arena_bytes, resident_bytes;
  int64_t encode_p50_ns, encode_p99_ns, encode_max_ns;
} tw_stats;

typedef struct tw_model tw_model;

TW_API tw_model* tw_model_load(const char* path);                      /* null: an error */
TW_API tw_model* tw_model_load_bytes(const void* bytes, size_t count); /* the bytes are copied */
TW_API void tw_model_free(tw_model* model);

TW_API size_t tw_model_num_inputs(const tw_model* model);
TW_API size_t tw_model_num_outputs(const tw_model* model);
TW_API size_t tw_model_num_scalars(const tw_model* model);
TW_API int tw_model_input(const tw_model* model, size_t index, tw_tensor_info* info);
TW_API int tw_model_output(const tw_model* model, size_t index, tw_tensor_info* info);

/* Inputs and scalars by position. `outputs` gets num_outputs tensors, each to be given to tw_tensor_free. */
TW_API int tw_model_run(tw_model* model, const tw_tensor* inputs, size_t num_inputs, const tw_scalar* scalars,
                        size_t num_scalars, tw_tensor* outputs, size_t num_outputs);
TW_API void tw_tensor_free(tw_tensor* tensor);

/* The same with memory of the caller: returns the address of the first element of result `output`, of which everything
 * but `data` is known. Null: the call fails. */
typedef void* (*tw_allocate)(void* state, size_t output, const tw_tensor* tensor);
TW_API int tw_model_run_into(tw_model* model, const tw_tensor* inputs, size_t num_inputs, const tw_scalar* scalars,
                             size_t num_scalars, tw_allocate allocate, void* state);

TW_API int tw_model_set_weight(tw_model* model, const char* name,
                               const tw_tensor* value); /* for calls that begin later */
TW_API void tw_model_trim(tw_model* model);

TW_API const char* tw_last_error(void);
TW_API void tw_set_num_threads(int count);
TW_API int tw_num_threads(void);
TW_API void tw_get_stats(tw_stats* stats);

#ifdef __cplusplus
}
#endif

#endif
