import { isWeb } from '../../source/calls/url.ts'
import { crypto } from '../builtins.ts'
import type { Call, Command } from '../command.ts'
import { cliError } from '../errors.ts'
import { follow } from '../follow.ts'
import { readInput } from '../input/read_text.ts'

const ANSWER_MS = 15_000

export const listenCommands: Command[] = [
  {
    words: ['webhooks', 'listen'],
    summary: 'Also send the events of a webhook to a server on this machine',
    description:
      'Reads new events of the webhook and posts each to the address. Requests are signed as those of the webhook, but with a separate secret. The webhook itself still works, whatever its endpoint is.',
    operands: [{ name: 'webhook-id', description: 'Id of the webhook.' }],
    options: [
      {
        name: 'forward',
        type: 'string',
        description: 'Address that gets the events, such as http://localhost:4000/hook.',
      },
      { name: 'secret', type: 'string', description: 'Signing secret. Default: a new secret, which is printed.' },
    ],
    examples: ['mailbrook webhooks listen 17 --forward http://localhost:4000/hook'],
    run: listen,
  },
  {
    words: ['webhooks', 'verify'],
    summary: 'Verify the signature of a request to a webhook',
    description: 'Reads the body from the standard input, and prints the event.',
    operands: [],
    options: [
      { name: 'secret', type: 'string', description: 'The signing secret.', required: true },
      { name: 'header', type: 'list', description: 'A header of the request: `name: value`.', required: true },
      { name: 'tolerance', type: 'number', description: 'Greatest age of the request, in seconds. Default: 300.' },
    ],
    examples: [
      'mailbrook webhooks verify --secret whsec_... --header "webhook-id: msg_1" --header "webhook-timestamp: 1795532469" --header "webhook-signature: v1,..." < body.json',
    ],
    run: verify,
  },
]

async function listen({ client, operands, values, output, signal }: Call): Promise<void> {
  const { forward, secret = `whsec_${crypto().randomBytes(24).toString('base64')}` } = values as Record<
    string,
    string | undefined
  >
  if (forward === undefined || !isWeb(forward))
    throw cliError('`--forward` must be the address of a server: `http://localhost:4000/hook`.')
  const id = operands[0] as string
  const { events } = client().webhooks
  output.note(`Signing secret: ${secret}`)
  output.note(`Waiting for events, to post them to ${forward}`)
  for await (const { id: event_id } of follow(() => events.list(id, {}, { signal }), { signal })) {
    const { payload, type } = await events.get(id, event_id, { signal })
    output.items([{ id: event_id, type, ...(await post(forward, secret, payload, signal)) }])
  }
}

/** Posts an event as a webhook would (docs/webhooks.md), once. */
async function post(url: string, secret: string, payload: unknown, signal: AbortSignal) {
  const body = JSON.stringify(payload)
  const timestamp = `${Math.floor(Date.now() / 1000)}`
  const id = `msg_${(payload as { id: string }).id}`
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const headers = {
    'content-type': 'application/json',
    'x-service-timestamp': timestamp,
    'x-service-signature': crypto().createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex'),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${crypto().createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  }
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  try {
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: limit })
    await response.body?.cancel()
    return { status: response.status, error: null }
  } catch (error) {
    signal.throwIfAborted()
    const { cause, message } = error as Error & { cause?: { code?: string } }
    return { status: null, error: cause?.code ?? message }
  }
}

async function verify({ values, output }: Call): Promise<void> {
  const { secret, header: given = [], tolerance } = values as { secret?: string; header?: string[]; tolerance?: number }
  if (!secret) throw cliError('`--secret` is needed.')
  const headers = Object.fromEntries(
    given.map(line => {
      const [, name, value] = /^([^:]+):\s*(.*)/s.exec(line) ?? []
      if (name === undefined || value === undefined)
        throw cliError(`\`--header\` must be "name: value", not ${JSON.stringify(line)}.`)
      return [name.trim(), value.trim()]
    }),
  )
  const { verifyWebhook } = await import('../../source/verify_webhook.ts')
  output.record(await verifyWebhook(readInput(), headers, secret, tolerance === undefined ? {} : { tolerance }))
}
