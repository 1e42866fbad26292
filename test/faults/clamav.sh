#!/usr/bin/env bash
# Checks mail with the real clamd through its socket and TCP, with a database of a single signature: EICAR, the test file that
# every virus scanner knows. clamd listens on loopback and is stopped at the end.
#
#     test/faults/clamav.sh
set -euo pipefail

PATH=$PATH:/usr/sbin
if ! command -v clamd >/dev/null; then
  echo "There is no clamd; install it first: apt-get install clamav-daemon" >&2
  exit 1
fi
cd "$(dirname "$0")/../.."
export PATH=$PWD/node_modules/.bin:$PATH
port=${PORT:-23310}
work=$(mktemp -d)
mkdir "$work/db"
# Anywhere in a file of any type (0): Name:TargetType:Offset:HexSignature.
eicar='EICAR-STANDARD-ANTIVIRUS-TEST-FILE!'
echo "Eicar-Test:0:*:$(printf '%s' "$eicar" | od -An -tx1 | tr -d ' \n')" >"$work/db/eicar.ndb"
cat >"$work/clamd.conf" <<EOF
DatabaseDirectory $work/db
LocalSocket $work/clamd.ctl
TCPSocket $port
TCPAddr 127.0.0.1
Foreground yes
LogFile $work/log
PidFile $work/pid
StreamMaxLength 5M
EOF
if [ "$(id -u)" = 0 ]; then
  echo 'User clamav' >>"$work/clamd.conf"
  chown -R clamav "$work"
fi

clamd --config-file="$work/clamd.conf" >"$work/out" 2>&1 &
clamd=$!
stop() {
  kill "$clamd" 2>/dev/null && wait "$clamd" 2>/dev/null
  rm -rf "$work"
}
trap stop EXIT

for _ in $(seq 100); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  if ! kill -0 "$clamd" 2>/dev/null; then
    cat "$work/out" >&2
    exit 1
  fi
  sleep 0.2
done
clamd --version
node test/faults/clamav.ts "unix:$work/clamd.ctl"
node test/faults/clamav.ts "tcp:127.0.0.1:$port"
