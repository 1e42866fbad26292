import { setTimeout as sleep } from 'node:timers/promises'
import type { Campaign, Domain } from '../../source/index.ts'
import type { Call, Command } from '../command.ts'
import { outcomeError } from '../errors.ts'
import { follow } from '../follow.ts'
import { OPERATIONS } from '../generated/operations.ts'
import type { Operation, Option } from '../operation.ts'
import { commandOf } from '../operation_commands.ts'

const POLL_MS = 2_000

/** Email appears in the list once it is parsed, which may be repeated for a while, but with the time at which it was received. */
const PARSING_MS = 60 * 60_000

const WAIT: Option = { name: 'wait', type: 'flag', description: 'Wait until it is done, and show the progress.' }

/** Makes the command of an operation, with an option to wait until it is done. */
function waiting(route: string, run: Command['run'], examples: string[]): Command {
  const plain = commandOf(OPERATIONS.find(operation => operation.route === route) as Operation)
  return {
    ...plain,
    options: [WAIT, ...plain.options],
    examples,
    run: async call => {
      await plain.run(call)
      if (call.values.wait) await run(call)
    },
  }
}

export const watchCommands: Command[] = [
  waiting('POST /domains/{id}/verify', waitForDomain, ['mailbrook domains verify ID --wait']),
  waiting('POST /campaigns/{id}/send', waitForCampaign, [
    'mailbrook campaigns send ID --expected-recipients 1200 --yes',
    'mailbrook campaigns send ID --wait',
  ]),
  {
    words: ['logs', 'tail'],
    summary: 'Print requests to the API as they arrive',
    operands: [],
    options: [{ name: 'failed', type: 'flag', description: 'Only requests that were refused or failed.' }],
    examples: ['mailbrook logs tail', 'mailbrook logs tail --failed --json'],
    run: tailLogs,
  },
  {
    words: ['received', 'listen'],
    summary: 'Print received email as it arrives',
    operands: [],
    options: [{ name: 'domain', type: 'string', description: 'Only email to this domain, by its name or id.' }],
    examples: ['mailbrook received listen', 'mailbrook received listen --domain acme.com --json'],
    run: async ({ client, values, output, signal }) => {
      const query = values.domain === undefined ? {} : { domain: values.domain as string }
      const list = () => client().received.list(query, { signal })
      for await (const email of follow(list, { signal, late_ms: PARSING_MS })) output.items([email])
    },
  },
]

async function tailLogs({ client, values, output, signal }: Call): Promise<void> {
  const api = client()
  for await (const log of follow(() => api.logs.list({}, { signal }), { signal })) {
    // Skips requests that read the log, such as those of this command.
    if (log.method === 'GET' && log.endpoint.endsWith('/logs')) continue
    if (!values.failed || log.response_status >= 400) output.items([log])
  }
}

async function waitForDomain({ client, operands, output, signal }: Call): Promise<void> {
  const api = client()
  const isDone = ({ status }: Domain) => status !== 'pending' && status !== 'not_started'
  const domain = await pollUntil(() => api.domains.get(operands[0] as string, { signal }), isDone, signal)
  output.items(domain.records)
  if (domain.status !== 'verified') throw outcomeError('not_verified', `The domain is \`${domain.status}\`.`)
}

async function waitForCampaign({ client, operands, output, signal }: Call): Promise<void> {
  const api = client()
  const id = operands[0] as string
  const isDone = ({ status }: Campaign) => ['sent', 'canceled', 'failed', 'paused', 'scheduled'].includes(status)
  const read = async () => {
    const stats = await api.campaigns.stats(id, {}, { signal })
    output.progress('Done:', stats.recipients - stats.pending, stats.recipients)
    return api.campaigns.get(id, { signal })
  }
  const { status } = await pollUntil(read, isDone, signal)
  output.record(await api.campaigns.stats(id, {}, { signal }))
  if (status !== 'sent') throw outcomeError('not_sent', `The campaign is \`${status}\`.`)
}

async function pollUntil<Value>(
  read: () => Promise<Value>,
  isDone: (value: Value) => boolean,
  signal: AbortSignal,
): Promise<Value> {
  for (;;) {
    const value = await read()
    if (isDone(value)) return value
    await sleep(POLL_MS, undefined, { signal })
  }
}
