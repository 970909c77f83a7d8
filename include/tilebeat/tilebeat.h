/* The simulator for programs in C, and for whatever calls C (docs/c_api.md).
 *
 * Every call that simulates or plans starts the command `tilebeat` as a process of its own, so that calls
 * share nothing, may come from several threads at once, can be cancelled, and survive whatever happens in the
 * other process. Texts are UTF-8 and end with 0. What a result hands out lives as long as the result. No
 * function throws; the only state of the library is that of its results. */
#ifndef TILEBEAT_TILEBEAT_H
#define TILEBEAT_TILEBEAT_H

#include <stddef.h>
#include <stdint.h>

#define TILEBEAT_API __attribute__((visibility("default")))

/* The version of this interface. It grows when something is taken away or means something else; what is only
 * added leaves it as it is. */
#define TILEBEAT_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using,modernize-redundant-void-arg): it is C. */

/* The TILEBEAT_ABI that the library was built with: whoever has another one must not call anything else. */
TILEBEAT_API int tilebeat_abi(void);
/* The version of the library, such as "0.1.0". */
TILEBEAT_API const char* tilebeat_version(void);

/* How a call ended. The first three are the exit statuses of the command. */
typedef enum tilebeat_status {
  TILEBEAT_OK = 0,      /* everything ran, every check passed */
  TILEBEAT_FAILED = 1,  /* it ran, and something failed: outputs that differ, a deadlock; there are results */
  TILEBEAT_INVALID = 2, /* an input or an argument is wrong; tilebeat_error says which, nothing was made */
  TILEBEAT_CANCELLED = 3, /* the progress function asked for it; nothing was made */
  TILEBEAT_BROKEN = 4     /* the command could not be started, ended by a signal, or made no results */
} tilebeat_status;

/* Elements of a tensor in C order, little-endian. */
typedef struct tilebeat_tensor {
  const char* name;     /* of an input, or of the layer whose output it is */
  const char* type;     /* "int8", "uint8", "int32" or "float32" */
  size_t axes;          /* number of entries of shape */
  const int64_t* shape; /* feature maps: N, H, W, C */
  const void* elements;
  size_t bytes;
} tilebeat_tensor;

/* Called while a call works: ten times a second with null, and with each line that the command says on
 * standard error, without its end. Anything but 0 as an answer cancels the call. */
typedef int (*tilebeat_progress)(void* user, const char* line);

/* Within a progress function: how far the call is. The share, 0 to 1, of what is under way, and what that is:
 * "planning 54 layers", "clock 81920, 3 of 17 layers complete", whose share is that of the estimated cycles,
 * "checking outputs, 16 of 17 layers", "12 of 50 points done". 0 and an empty text before the command has
 * said so, and outside of such a function. The text lives until the function returns. */
TILEBEAT_API double tilebeat_share(void);
TILEBEAT_API const char* tilebeat_state(void);

/* What a call works on. Fields that are 0 are not there; a job that is all 0 but for `size` is a beginning.
 */
typedef struct tilebeat_job {
  size_t size;          /* sizeof(tilebeat_job): later versions add fields at the end */
  const char* hardware; /* the text of a hardware file, if its first character is {, or the file's path */
  const char* workload; /* likewise of a workload */
  const char* mapping;  /* likewise of a mapping; 0: the planner chooses */
  const char* folder;   /* where relative file names in texts begin; 0: the current folder */
  const tilebeat_tensor* inputs; /* elements of inputs, in place of those that the workload names */
  size_t input_count;
  const char* const* options; /* further arguments of the command, such as "--granularity", "clock" */
  size_t option_count;
  tilebeat_progress progress; /* 0: none */
  void* user;                 /* handed to `progress` */
} tilebeat_job;

/* What a call came to. */
typedef struct tilebeat_result tilebeat_result;

/* Runs a workload: `tilebeat run`. Documents: "report.json"; tensors: its outputs. */
TILEBEAT_API tilebeat_status tilebeat_run(const tilebeat_job* job, tilebeat_result** result);
/* Plans it without running it: `tilebeat plan`. Documents: "mapping.json". */
TILEBEAT_API tilebeat_status tilebeat_plan(const tilebeat_job* job, tilebeat_result** result);
/* Measures what changes of the hardware bring: `tilebeat whatif`. Documents: "whatif.json", "whatif.csv",
 * "whatif.html". */
TILEBEAT_API tilebeat_status tilebeat_whatif(const tilebeat_job* job, tilebeat_result** result);
/* Runs any command with these arguments, without the name of the program. */
TILEBEAT_API tilebeat_status tilebeat_command(const char* const* arguments, size_t count,
                                              tilebeat_progress progress, void* user,
                                              tilebeat_result** result);
/* A call leaves a result behind in every case, unless there is no memory for it (then *result is 0), which
 * tilebeat_free takes back; 0 is ignored. */
TILEBEAT_API void tilebeat_free(tilebeat_result* result);

TILEBEAT_API tilebeat_status tilebeat_status_of(const tilebeat_result* result);
/* What the command printed: tables for people, or what was asked for. */
TILEBEAT_API const char* tilebeat_text(const tilebeat_result* result);
/* Why it is not TILEBEAT_OK; empty otherwise. One line an error: FILE: PATH: what is wrong and allowed. */
TILEBEAT_API const char* tilebeat_error(const tilebeat_result* result);
/* The JSON path in the first of these lines, such as "/chip/clusters"; empty: it has none. */
TILEBEAT_API const char* tilebeat_error_path(const tilebeat_result* result);
/* The text of a document by its name; 0: the call made none of that name. */
TILEBEAT_API const char* tilebeat_document(const tilebeat_result* result, const char* name);
/* The tensors, in the order of their names. */
TILEBEAT_API size_t tilebeat_tensor_count(const tilebeat_result* result);
/* Number `index` of them; 0 beyond the last one. */
TILEBEAT_API const tilebeat_tensor* tilebeat_tensor_at(const tilebeat_result* result, size_t index);

/* NOLINTEND(readability-identifier-naming,modernize-use-using,modernize-redundant-void-arg) */

#ifdef __cplusplus
}
#endif

#endif
