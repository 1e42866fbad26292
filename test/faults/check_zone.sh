#!/usr/bin/env bash
# What is exported as a zone file, read by a real name server's own tools (BIND's): that each is a sound zone, and that
# its canonical form has every record with its value, byte for byte.
#
#     test/faults/check_zone.sh
set -euo pipefail

for tool in named-checkzone named-compilezone; do
  command -v "$tool" >/dev/null || PATH=$PATH:/usr/sbin
  if ! command -v "$tool" >/dev/null; then
    echo "There is no $tool; install it first: apt-get install bind9-utils" >&2
    exit 1
  fi
done
cd "$(dirname "$0")/../.."
PATH=$PWD/node_modules/.bin:$PATH exec node test/faults/check_zone.ts
