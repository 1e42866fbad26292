#!/usr/bin/env bash
# Sends with a real client, swaks, to the SMTP ports of a running Mailbrook.
#
#   apt-get install swaks libnet-ssleay-perl     # the second one for TLS
#   npm start
#   test/faults/swaks.sh                          # [SERVER=localhost:2525] [TO=anna@sandbox.internal]
#   SUBMISSION=localhost:587 KEY=mb_... test/faults/swaks.sh
set -euo pipefail
server=${SERVER:-localhost:2525}
to=${TO:-anna@sandbox.internal}
command -v swaks >/dev/null || { echo 'swaks is missing: apt-get install swaks libnet-ssleay-perl' >&2; exit 2; }

failed=0
# expect NAME EXIT PATTERN OPTIONS...: a pattern of the transcript, and the exit code of swaks (0: accepted, 24: RCPT, 26: DATA)
expect() {
  local name=$1 code=$2 pattern=$3 transcript ended=0
  shift 3
  transcript=$(swaks --server "$server" --from bob@y.com --to "$to" "$@" 2>&1) || ended=$?
  if [ "$ended" = "$code" ] && grep -qE "$pattern" <<<"$transcript"; then
    echo "ok     $name"
  else
    echo "WRONG  $name: ended with $ended"
    echo "$transcript"
    failed=1
  fi
}

attachment=$(mktemp)
trap 'rm -f "$attachment"' EXIT
head -c 3000000 /dev/urandom >"$attachment"

expect 'a message is stored' 0 '250 2\.0\.0 Stored' --header 'Subject: by swaks' --body 'Hello'
expect 'the null sender is welcome' 0 '250 2\.0\.0 Stored' --from '<>'
expect 'a message with a file of 3 MB' 0 '250 2\.0\.0 Stored' --attach "@$attachment"
expect 'pipelined' 0 '250 2\.0\.0 Stored' --pipeline
expect 'another domain is refused' 24 '550 5\.7\.1' --to somebody@foreign.com
expect 'a route through us is refused' 24 '550 5\.7\.1' --to "somebody%foreign.com@${to#*@}"
if [ -n "${TLS:-}" ]; then expect 'by TLS' 0 '250 2\.0\.0 Stored' --tls; fi
if [ -n "${SUBMISSION:-}" ]; then
  server=$SUBMISSION
  from=hello@${to#*@}
  expect 'mail to send is taken with a key' 0 'Accepted as' --tls --auth LOGIN --auth-user me --auth-password "$KEY" --from "$from"
  expect 'not with another one' 28 '535 5\.7\.8' --tls --auth PLAIN --auth-user me --auth-password mb_wrong --from "$from"
fi
exit $failed
