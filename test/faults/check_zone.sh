#!/usr/bin/env bash
# Reads exported zone files with the tools of a real name server (BIND): each must be a valid zone, and its canonical form must
# have every record with its value, byte for byte.
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
