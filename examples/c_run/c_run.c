/* Runs a workload on some hardware and prints what it came to: c_run HARDWARE.json WORKLOAD.json */
#include <tilebeat/tilebeat.h>

#include <stdio.h>

static int show(void* user, const char* line) {
  (void)user;
  if (line != NULL) fprintf(stderr, "%s\n", line);
  return 0; /* go on */
}

int main(int argc, char** argv) {
  if (argc != 3 || tilebeat_abi() != TILEBEAT_ABI) return 2;
  tilebeat_job job = {.size = sizeof job, .hardware = argv[1], .workload = argv[2], .progress = show};
  tilebeat_result* result = NULL;
  const tilebeat_status status = tilebeat_run(&job, &result);
  if (status > TILEBEAT_FAILED) {
    fprintf(stderr, "c_run: %s\n", result != NULL ? tilebeat_error(result) : "no memory");
  } else {
    fputs(tilebeat_text(result), stdout);
    for (size_t i = 0; i < tilebeat_tensor_count(result); ++i) {
      const tilebeat_tensor* output = tilebeat_tensor_at(result, i);
      printf("output %s: %s, %zu bytes\n", output->name, output->type, output->bytes);
    }
  }
  tilebeat_free(result);
  return (int)status;
}
