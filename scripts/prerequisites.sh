# Sourced by the scripts that set a machine up: installs what is missing from the system's packages, and says so.

say() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }

# apt_install WHY PACKAGE…
apt_install() {
  say "$1: installing ${*:2}"
  local sudo=()
  if [ "$(id -u)" != 0 ]; then sudo=(sudo); fi
  if ! command -v apt-get >/dev/null; then
    echo "This system has no apt-get: install ${*:2} yourself, then run this again." >&2
    exit 1
  fi
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${@:2}" >/dev/null
}

# What the build and the local sandbox need.
need_build() {
  if ! command -v cargo >/dev/null; then
    echo "Rust is missing: see https://rustup.rs, then run this again." >&2
    exit 1
  fi
  local new_enough='import sys; sys.exit(sys.version_info < (3, 9))'
  python3 -I -c "$new_enough" 2>/dev/null || apt_install "No Python 3.9 or newer" python3
  command -v cc >/dev/null || apt_install "No C compiler, which the TLS library needs" gcc libc6-dev
  command -v git >/dev/null || apt_install "No git" git
}

# What the tests need beside that: environments for Python packages, and Node for the MCP servers written in it.
need_tests() {
  need_build
  python3 -c 'import venv, ensurepip' 2>/dev/null || apt_install "No venv module for Python" python3-venv
  command -v npm >/dev/null || apt_install "No npm" nodejs npm
}
