# Sourced by the other scripts: the Debian packages that Tilebeat needs, and how it is built.
# Messages go to stderr, so that the output of a program that is started afterwards stays alone on stdout.

root=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
readonly root

# The packages, by purpose. A new dependency is added here and nowhere else.
readonly run_packages=(g++ cmake ninja-build pkg-config libsystemc-dev libfmt-dev nlohmann-json3-dev libcli11-dev libssl-dev liblz4-dev libyaml-dev
  libprotobuf-dev protobuf-compiler libflatbuffers-dev flatbuffers-compiler)
readonly test_packages=(libgtest-dev libgmock-dev librapidcheck-dev libvalijson-dev libdnnl-dev libbenchmark-dev
  libxml2-utils gtkwave xvfb xauth python3 python3-numpy python3-pandas python3-matplotlib python3-pytest python3-jsonschema
  python3-nbclient python3-nbformat python3-ipykernel mypy)
readonly rtl_packages=(verilator yosys z3)  # scripts/lockstep, rtl/proofs/run
readonly lint_packages=(clang-format clang-tidy)
readonly fuzz_packages=(clang)
readonly package_packages=(dpkg-dev file debootstrap patchelf python3 python3-setuptools python3-wheel python3-pip python3-venv)
readonly cluster_packages=(munge slurm-client slurmctld slurmd snakemake)

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# install_packages PACKAGE...: installs those that are missing; silent when none is.
install_packages() {
  local package missing=() as_root=()
  local -A installed=()
  command -v apt-get >/dev/null || return 0  # not Debian: CMake names what it does not find
  while read -r package; do
    installed[$package]=1
  done < <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p')
  for package in "$@"; do
    [[ ${installed[$package]:-} ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  echo "${0##*/}: installing Debian packages: ${missing[*]}" >&2
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "these packages are missing and only root may install them (sudo is not there either): ${missing[*]}"
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  local log
  log=$(mktemp)
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    cat -- "$log" >&2
    rm -f -- "$log"
    fail "the packages could not be installed: ${missing[*]}"
  fi
  rm -f -- "$log"
}

# configured FOLDER: FOLDER (below the checkout) was configured by CMake, and for this checkout.
configured() {
  [[ -f $root/$1/build.ninja ]] && grep -qxF -- "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$root/$1/CMakeCache.txt"
}

# show_progress LOG: passes what ninja says to LOG, and tells on stderr how far it is: on a terminal in one line that is rewritten every
# second, otherwise in a line at each quarter of a build of some length.
show_progress() {
  local line="" part="" status done=0 all=0 quarter=0 shown="" begin=$SECONDS
  while true; do
    status=0
    IFS= read -r -t 1 part || status=$?
    line+=$part
    if ((status == 0)); then
      printf '%s\n' "$line" >>"$1"
      if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] && $line != *"globbed directories"* && $line != *"Re-running CMake"* ]]; then
        done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
      fi
      line=""
    elif ((status <= 128)); then  # the end; above it, a second has passed
      break
    fi
    ((all > 0)) || continue
    shown="${0##*/}: building, $done of $all steps, $((SECONDS - begin)) s"
    if [[ -t 2 ]]; then
      printf '\r\033[K%s' "$shown" >&2
    elif ((all >= 8 && done * 4 / all > quarter)); then
      quarter=$((done * 4 / all))
      printf '%s\n' "$shown" >&2
    fi
  done
  [[ -z $line ]] || printf '%s\n' "$line" >>"$1"
  if [[ -t 2 && $shown ]]; then printf '\r\033[K' >&2; fi
}

# build FOLDER TARGETS NAME=VALUE...: brings TARGETS (separated by blanks) in FOLDER up to date. CMake is called when the
# folder is not configured yet or has other values in its cache.
build() {
  local folder=$root/$1 targets=$2 log=$root/$1/build.log configure=() option
  shift 2
  mkdir -p -- "$folder"
  exec 9>"$folder/.lock"
  flock 9  # two callers at a time would disturb one another
  if ! configured "${folder##*/}"; then
    configure=(--fresh)
  else
    for option in "$@"; do
      grep -qE -- "^${option%%=*}:[A-Z]+=${option#*=}\$" "$folder/CMakeCache.txt" || configure=(-Wno-dev)
    done
  fi
  if ((${#configure[@]})); then
    echo "${0##*/}: configuring and building in ${folder##*/}/, which takes minutes once (log: ${folder##*/}/build.log)" >&2
    if ! cmake "${configure[@]}" -S "$root" -B "$folder" -G Ninja "${@/#/-D}" >"$log" 2>&1 </dev/null; then
      cat -- "$log" >&2
      fail "CMake failed; its output is above and in $log"
    fi
  fi
  # shellcheck disable=SC2086
  : >"$log"
  # The last part of a pipe would hold the lock, too, if it kept the descriptor.
  if ! cmake --build "$folder" -j 2 --target $targets 2>&1 </dev/null 9>&- | show_progress "$log" 9>&-; then
    cat -- "$log" >&2
    fail "the build failed; its output is above and in $log"
  fi
  exec 9>&-
}

# build_sanitized TARGETS SANITIZERS: in build-sanitize/, of the thread sanitizer in build-threads/. Line numbers and little optimisation: half
# the time to build. The vptr sanitizer pulls libsystemc into every program, and libsystemc wants an sc_main, which nobody calls and only
# programs that simulate have.
build_sanitized() {
  local folder=build-sanitize
  [[ $2 != thread ]] || folder=build-threads
  build "$folder" "$1" CMAKE_BUILD_TYPE=RelWithDebInfo \
    CMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g1' CMAKE_EXE_LINKER_FLAGS=-Wl,--defsym=sc_main=0 \
    TILEBEAT_SANITIZE="$2" TILEBEAT_TESTS=ON TILEBEAT_BENCHMARKS=OFF
}
