import type { Test } from 'tap'
import { Load, type Post } from '#test/faults/support/load.ts'
import type { Release } from '#test/faults/support/release.ts'
import type { Sender } from '#test/faults/support/stage.ts'
import type { Api } from '#test/support/api.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { openClient } from '#test/support/smtp/smtp_client.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { at, plain, templated, withFile } from './mail.ts'

const PAUSE_MS = 20
const CALLERS = 2
const EQUAL = 60 // emails, more than one slice

/** Two callers post to these URLs until the load is stopped. `first`: the first number, another million for each load. */
export function startLoad(t: Test, sender: Sender, urls: string[], first = 0): Load {
  const load = new Load(sender, { compose: n => compose(sender, n), first, pause_ms: PAUSE_MS })
  t.teardown(() => load.abandon())
  load.start(urls, CALLERS)
  return load
}

function compose(sender: Sender, n: number): Post {
  const name = `${n}`
  if (n % 4 === 1) return { path: '/api/emails', body: templated(sender, name, at(`ok-${n}`)) }
  if (n % 8 === 2) return { path: '/api/emails', body: withFile(sender, name, at(`ok-file-${n}`)) }
  if (n % 8 === 3) {
    const batch = [plain, templated, plain].map((make, i) => make(sender, `${n}-${i}`, at(`ok-${n}-${i}`)))
    return { path: '/api/emails/batch', body: batch }
  }
  return { path: '/api/emails', body: plain(sender, name, at(`ok-${n}`)) }
}

/** Sends batches whose emails have the same contents: their own, or the template's. Returns their ids. */
export async function sendEqual(sender: Sender, api: Api): Promise<string[]> {
  const batches = Object.entries({ plain, templated }).map(async ([name, make]) => {
    const email = (n: number) => ({ ...make(sender, name, at(`ok-${name}-${n}`)), subject: `Equal ${name}` })
    const batch = Array.from({ length: EQUAL }, (_, n) => email(n))
    const { status, text, body } = await api.request('POST', '/api/emails/batch', { body: batch })
    if (status !== 200) throw new Error(text)
    return body.data.map(({ id }) => id)
  })
  return (await Promise.all(batches)).flat()
}

/** Starts to receive mail; returns the port. */
export async function startReceiving(release: Release): Promise<number> {
  const port = await findFreePort()
  const environment = { SMTP_PORT: String(port), SMTP_GREETING_DELAY_MS: '0', LOG_LEVEL: 'info' }
  await release.start('workers/smtp.ts', environment).says(/mail is received/)
  return port
}

/** Receives an email; resolves with the reply once the email has been read and is listed. */
export async function receive(t: Test, port: number, domain: string, api: Api): Promise<string> {
  const client = await openClient(t, port)
  const to = `desk@${domain}`
  const reply = await client.send(
    to,
    `Message-ID: <a@y.com>\r\nFrom: a@y.com\r\nTo: ${to}\r\nSubject: Hello\r\n\r\nHello`,
  )
  const isListed = async () => (await api.request('GET', '/api/emails/receiving')).text.includes('"Hello"')
  await waitUntil(isListed, `the received email is listed; the reply was ${reply}`)
  return reply
}
