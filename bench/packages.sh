#!/bin/sh
# packages.sh [PYTHON]: sees to it that the compilers, MPI libraries and tools are there, and that
# PYTHON (3.11 or later; python3 if none is given) can make a virtual environment.  It installs the
# Debian packages that are missing where it may (as root, or with a sudo that asks nothing), and
# otherwise says how.
set -eu

missing=''
need() { # package, programs it is wanted for
  package=$1
  shift
  for program in "$@"; do
    if ! command -v "$program" >/dev/null 2>&1; then
      missing="$missing $package"
      return
    fi
  done
}

PATH=$PATH:/usr/sbin:/sbin
need gfortran gfortran
need openmpi-bin mpirun.openmpi
need libopenmpi-dev mpif90.openmpi
need mpich mpirun.mpich
need libmpich-dev mpif90.mpich
need libsimgrid-dev smpif90 smpiff smpirun
need iproute2 ip tc
need dpkg-dev dpkg-source
need gdb gdb
python=${1:-python3}
if command -v "$python" >/dev/null 2>&1 &&
  ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
  missing="$missing $("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
fi
if [ -z "$missing" ]; then
  echo "setup: compilers, MPI libraries and tools are all there"
  exit 0
fi

install="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null 2>&1; then
  echo "asphalt needs what Debian calls:$missing" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root=''
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root='sudo'
else
  echo "packages are missing; please run (as root)" >&2
  echo "    apt-get update && $install" >&2
  exit 1
fi
echo "setup: installing Debian packages (some minutes):$missing"
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
# shellcheck disable=SC2086
$as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive $install -qq >/dev/null
