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
  const char* type;     /* "int8", "uint8", "int16", "int32", "int64" or "float32" */
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

/* ---- Clock by clock. -------------------------------------------------------------------------------------
 *
 * A session is a run that stops between clocks. Each has a process of its own, so that there may be several;
 * one session is for one thread at a time. Its ports are those of `tilebeat run --vectors`, with their names,
 * fields and bits, without those of texts ("states") and of instructions, which are told late. Clock t lies
 * between the edges t and t + 1; a session begins in front of clock 0, at clock -1. Functions that fail say
 * why in tilebeat_session_error. */

typedef struct tilebeat_session tilebeat_session;

/* A field of a port. Values are little-endian, ceil(bits / 8) bytes. */
typedef struct tilebeat_field {
  const char* name;
  int bits;
} tilebeat_field;

/* A port. Of `kind` "valid" it carries something in some clocks; of "bank" its registers hold their values
 * until the next ones; of "change" each register for itself. The last field of the first two, `known`, has a
 * bit for each before it. */
typedef struct tilebeat_port {
  const char* name; /* "soc.engine.banks.b0" */
  const char* kind; /* "valid", "bank" or "change" */
  int64_t clock_ps; /* its clock: where it is not the session's, a value is that of the clock that is there as
                       the session's clock begins */
  size_t field_count;
  const tilebeat_field* fields;
} tilebeat_port;

/* Begins a session on a job, whose options may choose ports, "--vectors-ports", "soc.engine.*", and makes a
 * run that is checked only at its end. `ahead`: so many clocks may the simulation run ahead of the session,
 * which saves a change of process a clock; with 0 or 1 it stands between two clocks with the session. The
 * job's progress function is not called. *session is 0 where there is no memory for one; tilebeat_close takes
 * all others back, failed ones, too. */
TILEBEAT_API tilebeat_status tilebeat_open(const tilebeat_job* job, size_t ahead, tilebeat_session** session);
/* Ends the session, wherever it is; 0 is ignored. */
TILEBEAT_API void tilebeat_close(tilebeat_session* session);
/* Why the last call failed; empty: it did not. */
TILEBEAT_API const char* tilebeat_session_error(const tilebeat_session* session);

TILEBEAT_API size_t tilebeat_port_count(const tilebeat_session* session);
/* Number `index` of the ports; 0 beyond the last one. It lives as long as the session. */
TILEBEAT_API const tilebeat_port* tilebeat_port_at(const tilebeat_session* session, size_t index);
/* Numbers of a port and of a field by name; -1: there is none. */
TILEBEAT_API int64_t tilebeat_port_named(const tilebeat_session* session, const char* name);
TILEBEAT_API int64_t tilebeat_field_named(const tilebeat_session* session, int64_t port, const char* name);

/* Goes so many clocks on, or fewer where the run is over: then the session is behind the last clock. */
TILEBEAT_API tilebeat_status tilebeat_step(tilebeat_session* session, uint64_t clocks);
/* Goes on to this clock, which lies ahead. */
TILEBEAT_API tilebeat_status tilebeat_step_to(tilebeat_session* session, int64_t clock);
/* The clock that the session is in; -1: before the first one. */
TILEBEAT_API int64_t tilebeat_clock(const tilebeat_session* session);
/* 1 behind the last clock of the run. */
TILEBEAT_API int tilebeat_is_over(const tilebeat_session* session);

/* What a field has in this clock. *valid is 0, and the value 0, where the port carries nothing or the field
 * is not known. `bytes` is the room for the value, which must suffice. */
TILEBEAT_API tilebeat_status tilebeat_get(tilebeat_session* session, int64_t port, int64_t field, void* value,
                                          size_t bytes, int* valid);
/* TILEBEAT_OK where the field has this value, of as many bytes as its bits take; `value` 0: where it has
 * none. TILEBEAT_FAILED otherwise: the error names clock, port, field and both values. */
TILEBEAT_API tilebeat_status tilebeat_expect(tilebeat_session* session, int64_t port, int64_t field,
                                             const void* value);

/* Bytes of DRAM, and elements of a tensor of the run by its name, in the order of its shape, between this
 * clock and the next one, without time passing. Refused where the simulation is ahead. Only what lies in DRAM
 * by then is read; what no bus has carried yet, or has already carried, is not there, or not read again. A
 * map that is stored in an order of its own can be read alone. Results that then differ from the reference
 * fail the run unless its options say "--check", "off". */
TILEBEAT_API tilebeat_status tilebeat_read_memory(tilebeat_session* session, uint64_t address, void* bytes,
                                                  size_t count);
TILEBEAT_API tilebeat_status tilebeat_write_memory(tilebeat_session* session, uint64_t address,
                                                   const void* bytes, size_t count);
/* The tensors, as those of a result but without elements. */
TILEBEAT_API size_t tilebeat_session_tensor_count(const tilebeat_session* session);
TILEBEAT_API const tilebeat_tensor* tilebeat_session_tensor_at(const tilebeat_session* session, size_t index);
TILEBEAT_API tilebeat_status tilebeat_read_tensor(tilebeat_session* session, const char* name, void* elements,
                                                  size_t bytes);
TILEBEAT_API tilebeat_status tilebeat_write_tensor(tilebeat_session* session, const char* name,
                                                   const void* elements, size_t bytes);

/* Goes on to the end of the run and makes what tilebeat_run makes of it. Only tilebeat_close can follow. */
TILEBEAT_API tilebeat_status tilebeat_finish(tilebeat_session* session, tilebeat_result** result);

/* NOLINTEND(readability-identifier-naming,modernize-use-using,modernize-redundant-void-arg) */

#ifdef __cplusplus
}
#endif

#endif
