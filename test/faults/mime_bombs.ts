import { monitorEventLoopDelay } from 'node:perf_hooks'
import { EndedThreadError } from '#lib/async/threads.ts'
import { parseMessage } from '#lib/receiving/parse/parse_message.ts'
import { MIME_BOMBS } from '#test/support/mail/mime_bombs.ts'

/** Parses every kind of MIME bomb at ten times its size: each within 5 s, and the main thread is never blocked for 250 ms. */
const MAX_MS = 5_500
const MAX_LAG_MS = 250
const scale = Number(process.argv[2] ?? 10)

let failures = 0
for (const [name, make] of Object.entries(MIME_BOMBS)) {
  const raw = new Uint8Array(make(scale))
  const lag = monitorEventLoopDelay({ resolution: 10 })
  const size = raw.length
  lag.enable()
  const start = performance.now()
  const outcome = await parseMessage(raw).then(
    parsed => ('refused' in parsed ? `unreadable: ${parsed.refused}` : (parsed.message.cut ?? 'read')),
    error => {
      if (!(error instanceof EndedThreadError)) throw error
      return `ended: ${error.message}`
    },
  )
  const ms = Math.round(performance.now() - start)
  lag.disable()
  const lag_ms = Math.round(lag.max / 1e6)
  const isFailed = ms > MAX_MS || lag_ms > MAX_LAG_MS
  if (isFailed) failures++
  console.log(
    isFailed ? 'FAIL' : 'ok',
    name.padEnd(46),
    `${(size / 1e6).toFixed(1)} MB`,
    `${ms} ms`,
    `lag ${lag_ms} ms`,
    outcome,
  )
}
const rss = Math.round(process.resourceUsage().maxRSS / 1024)
console.log(`${Object.keys(MIME_BOMBS).length} kinds, ${failures} failed, peak RSS ${rss} MB`)
process.exitCode = failures > 0 ? 1 : 0
