#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every include goes the one way that the folders allow, and that the top level holds only the
# agreed folders. Usage: include_directions.sh ROOT | --self-test
set -euo pipefail

# For each folder, the longest prefix first: what its quoted includes may begin with.
rules='
models/base|models/base/
models/isa|models/base/ models/isa/
models/numerics|models/base/ models/numerics/
models|models/
platform|platform/ models/ generated/
workloads|workloads/ models/base/ models/isa/ models/numerics/
firmware|registers.h
sim|sim/ platform/ workloads/ models/
tests|tests/ sim/ platform/ workloads/ models/
'
# Folders that know nothing of SystemC.
plain='^(models/(base|isa|numerics)|workloads|firmware)/'

allowed_for() {  # FILE: the prefixes that it may include
  local line
  while IFS='|' read -r folder prefixes; do
    [ -n "$folder" ] || continue
    case "$1" in "$folder"/*) echo "$prefixes"; return ;; esac
  done <<<"$rules"
}

check_tree() {  # ROOT: prints each offence; fails if there is any
  local root=$1 bad=0 file included prefix fits
  while IFS=: read -r file included; do
    case "$included" in */*|registers.h) ;; *) continue ;; esac  # generated beside the source
    fits=no
    for prefix in $(allowed_for "$file"); do
      case "$included" in "$prefix"*) fits=yes ;; esac
    done
    if [ $fits = no ]; then
      echo "$file includes \"$included\", which its folder may not use"
      bad=1
    fi
  done < <(cd "$root" && grep -rE --include='*.h' --include='*.cpp' --include='*.c' '^#include "' \
             models platform firmware sim workloads tests | sed -E 's/^([^:]+):#include "([^"]+)".*/\1:\2/' | sort)
  while read -r file; do
    if [[ $file =~ $plain ]]; then
      echo "$file includes SystemC, which its folder may not use"
      bad=1
    fi
  done < <(cd "$root" && grep -rlE --include='*.h' --include='*.cpp' --include='*.c' \
             '^#include <(systemc|tlm|tlm_utils)' models platform firmware sim workloads tests | sort)
  while read -r entry; do
    case "$entry" in
      models|platform|firmware|sim|workloads|tests|scripts|CMakeLists.txt|CMakePresets.json|README.md|LICENSE|build|out|.*) ;;
      *) echo "$entry does not belong on the top level"; bad=1 ;;
    esac
  done < <(ls -A "$root")
  return $bad
}

if [ "${1:-}" = --self-test ]; then
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  mkdir -p "$tree"/{models/noc,platform,firmware,sim,workloads/net,tests}
  echo '#include "models/base/error.h"' >"$tree/models/noc/good.h"
  check_tree "$tree" || { echo "a good tree was refused"; exit 1; }
  for offence in 'models/noc/a.h:#include "platform/card.h"' 'workloads/net/a.h:#include <systemc>' \
                 'workloads/net/a.h:#include "models/noc/noc.h"' 'platform/a.h:#include "sim/run.h"'; do
    file=${offence%%:*}
    echo "${offence#*:}" >"$tree/$file"
    if check_tree "$tree" >/dev/null; then
      echo "not noticed: $offence"
      exit 1
    fi
    rm "$tree/$file"
  done
  mkdir "$tree/misc"
  if check_tree "$tree" >/dev/null; then echo "not noticed: a folder too many"; exit 1; fi
  echo "self-test passed"
  exit 0
fi
check_tree "${1:?usage: include_directions.sh ROOT | --self-test}"
