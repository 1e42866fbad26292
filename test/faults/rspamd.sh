#!/usr/bin/env bash
# Checks mail with the real rspamd in Debian's configuration: clean mail, headers that a sender adds, and variants of GTUBE, the
# test text that every spam filter knows, for each action. It listens on loopback, uses no DNS and no other service, and is
# stopped at the end.
#
#     test/faults/rspamd.sh
set -euo pipefail

if ! command -v rspamd >/dev/null; then
  echo "There is no rspamd; install it first: apt-get install rspamd" >&2
  exit 1
fi
cd "$(dirname "$0")/../.."
export PATH=$PWD/node_modules/.bin:$PATH
port=${PORT:-21333}
work=$(mktemp -d)
mkdir -p "$work/local.d" "$work/db" "$work/log" "$work/run"
echo "bind_socket = \"127.0.0.1:$port\"; count = 1;" >"$work/local.d/worker-normal.inc"
for worker in controller proxy fuzzy; do echo 'enabled = false;' >"$work/local.d/worker-$worker.inc"; done
cat >"$work/local.d/options.inc" <<'EOF'
dns { nameserver = ["127.0.0.1:1"]; timeout = 0.1s; retransmits = 1; }
local_addrs = [];
enable_test_patterns = true;
EOF
for module in hfilter rbl fuzzy_check asn surbl phishing; do echo 'enabled = false;' >"$work/local.d/$module.conf"; done
chmod -R a+rX "$work"
user=()
if [ "$(id -u)" = 0 ]; then
  chown -R _rspamd:_rspamd "$work"
  user=(-u _rspamd -g _rspamd)
fi

rspamd -f "${user[@]}" -c /etc/rspamd/rspamd.conf --var=LOCAL_CONFDIR="$work" --var=DBDIR="$work/db" \
  --var=LOGDIR="$work/log" --var=RUNDIR="$work/run" >"$work/log/out" 2>&1 &
rspamd=$!
stop() {
  kill "$rspamd" 2>/dev/null && wait "$rspamd" 2>/dev/null
  rm -rf "$work"
}
trap stop EXIT

for _ in $(seq 100); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  if ! kill -0 "$rspamd" 2>/dev/null; then
    tail -n 20 "$work/log/out" "$work"/log/*.log >&2
    exit 1
  fi
  sleep 0.2
done
echo "rspamd $(rspamd --version 2>&1 | head -n 1 | grep -o '[0-9][0-9.]*' | head -n 1) on 127.0.0.1:$port"
node test/faults/rspamd.ts "http://localhost:$port"
