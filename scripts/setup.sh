# Sourced by the other scripts: the Debian packages that Tilebeat needs, and how it is built.
# Messages go to stderr, so that the output of a program that is started afterwards stays alone on stdout.

root=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
readonly root

# The packages, by purpose. A new dependency is added here and nowhere else.
readonly run_packages=(g++ cmake ninja-build pkg-config libsystemc-dev libfmt-dev nlohmann-json3-dev libcli11-dev)
readonly test_packages=(libgtest-dev libgmock-dev librapidcheck-dev libvalijson-dev libdnnl-dev libbenchmark-dev)
readonly lint_packages=(clang-format clang-tidy)

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

# build FOLDER TARGETS CMAKE_OPTION...: brings FOLDER (below the checkout) up to date. TARGETS is a list separated by
# blanks. CMake is only called when the folder is new, was moved, or was configured with other options.
build() {
  local folder=$root/$1 targets=$2 options log
  shift 2
  mkdir -p -- "$folder"
  log=$folder/build.log
  options=("$@")
  exec 9>"$folder/.lock"
  flock 9  # two callers at a time would disturb one another
  if [[ ! -f $folder/build.ninja || $(cat -- "$folder/.configured" 2>/dev/null) != "$root ${options[*]}" ]]; then
    echo "${0##*/}: configuring and building in ${folder#"$root/"}/ (this takes minutes, once)" >&2
    if ! cmake --fresh -S "$root" -B "$folder" -G Ninja "${options[@]}" >"$log" 2>&1 </dev/null; then
      cat -- "$log" >&2
      fail "CMake failed; its output is above and in $log"
    fi
    echo "$root ${options[*]}" >"$folder/.configured"
  fi
  # shellcheck disable=SC2086
  if ! cmake --build "$folder" -j 2 --target $targets >"$log" 2>&1 </dev/null 9>&-; then
    cat -- "$log" >&2
    fail "the build failed; its output is above and in $log"
  fi
  exec 9>&-
}
