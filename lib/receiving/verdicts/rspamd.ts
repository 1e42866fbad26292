import { BlockList } from 'node:net'
import { z } from 'zod'
import { createResolve } from '#lib/net/fetch/resolve.ts'
import { type FetchPolicy, fetchSafely } from '#lib/net/fetch_safely.ts'
import type { Envelope, Verdict } from './verdict.ts'

const DEADLINE_MS = 10_000
const MAX_ANSWER = 1024 * 1024

/** rspamd's own actions. An operator may define others, which count as GRAY. */
const VERDICTS: Record<string, Verdict> = {
  'no action': 'PASS',
  greylist: 'GRAY',
  'soft reject': 'GRAY',
  'add header': 'FAIL', // marked as spam, but accepted
  'rewrite subject': 'FAIL',
  quarantine: 'FAIL',
  discard: 'FAIL',
  reject: 'FAIL',
}

const Answer = z.object({ action: z.string(), is_skipped: z.boolean().optional() })

/**
 * Asks rspamd whether a message is spam (POST /checkv2). `url` is configured by the operator, such as `http://127.0.0.1:11333`.
 *
 * @throws if rspamd does not respond, or its response cannot be parsed
 */
export async function checkSpam(
  url: string,
  envelope: Envelope,
  raw: Buffer,
  {
    dns_servers,
    deadline_ms = DEADLINE_MS,
  }: { dns_servers?: readonly string[] | undefined; deadline_ms?: number } = {},
): Promise<Verdict> {
  const target = targetOf(url)
  const request = {
    method: 'POST',
    headers: headersOf(envelope),
    body: raw,
    max_bytes: MAX_ANSWER,
    deadline_ms,
  } as const
  const answer = await fetchSafely({ url: target.href, ...request }, policyFor(target, dns_servers))
  const chunks = await Array.fromAsync(answer.body)
  if (answer.status !== 200) throw new Error(`rspamd responded with ${answer.status}`)
  const { action, is_skipped } = Answer.parse(JSON.parse(Buffer.concat(chunks).toString()))
  // rspamd also calls a check skipped if the result was known at once, without further checks.
  return is_skipped && action === 'no action' ? 'GRAY' : (VERDICTS[action] ?? 'GRAY')
}

function targetOf(url: string): URL {
  const target = new URL(`${url.replace(/(?<!\/)\/+$/, '')}/checkv2`)
  // Names are looked up in DNS only, which does not have this one.
  if (target.hostname === 'localhost') target.hostname = '127.0.0.1'
  return target
}

/** Allows any address, since the operator configured it, but only its port. */
function policyFor(target: URL, dns_servers: readonly string[] | undefined): FetchPolicy {
  const allowed = new BlockList()
  allowed.addSubnet('0.0.0.0', 0, 'ipv4')
  allowed.addSubnet('::', 0, 'ipv6')
  const port = Number(target.port || (target.protocol === 'https:' ? 443 : 80))
  return { ports: [port], allowed, resolve: createResolve(dns_servers) }
}

/** Returns headers with only printable ASCII of the sender's text, so that nothing in it can end a header. */
function headersOf({ address, name, helo, mail_from, rcpt_to }: Envelope): Record<string, string> {
  return {
    'content-type': 'application/octet-stream',
    ip: clean(address),
    ...(name ? { hostname: clean(name) } : {}),
    ...(helo ? { helo: clean(helo) } : {}),
    from: clean(mail_from) || '<>',
    rcpt: clean(rcpt_to[0] ?? ''),
  }
}

function clean(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '')
}
