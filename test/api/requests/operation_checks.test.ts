import t from 'tap'
import type { Operation } from '#api/operations/operation.ts'
import { routesOf } from '#api/operations/router.ts'
import { operations } from '#api/routes/index.ts'
import { newId } from '#lib/ids.ts'
import { type RequestOptions, startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { SENDS_PER_MINUTE: '1', TRUSTED_PROXIES: '127.0.0.1' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const limited = { 'x-forwarded-for': '192.0.2.1' }

let addresses = 0

t.before(() => api.request('POST', '/api/emails', { headers: limited }))

type Asked = RequestOptions & { headers: Record<string, string>; query: string }
type Fault = { answer: string; put(asked: Asked): Asked }

const withHeader = (name: string, value: string) => (asked: Asked) => ({
  ...asked,
  headers: { ...asked.headers, [name]: value },
})

/** The faults that a request can have, in the order in which they are reported. */
function faultsOf({ access, isSend, params, query, body }: Operation): Fault[] {
  return [
    { answer: '403 validation_error', put: withHeader('user-agent', '') },
    { answer: '401 missing_api_key', put: asked => ({ ...asked, key: null }) },
    { answer: '403 invalid_api_key', put: asked => ({ ...asked, key: 'mb_nonsense' }) },
    ...(access === 'full'
      ? [{ answer: '401 restricted_api_key', put: (asked: Asked) => ({ ...asked, key: account.sending_key }) }]
      : []),
    ...(isSend ? [{ answer: '429 rate_limit_exceeded', put: withHeader('x-forwarded-for', '192.0.2.1') }] : []),
    ...(params ? [{ answer: '404 not_found', put: (asked: Asked) => asked }] : []),
    ...(query ? [{ answer: '422 validation_error', put: (asked: Asked) => ({ ...asked, query: WRONG_QUERY }) }] : []),
    ...(body ? [{ answer: '422 validation_error', put: (asked: Asked) => ({ ...asked, body: 42 }) }] : []),
  ]
}

/** Invalid for every operation with a query. */
const WRONG_QUERY = '?limit=0&name=a..b&format=pdf&run=0&granularity=never'

function pathOf({ path, params = {} }: Operation): string {
  const unknown = Object.entries(params).map(([name, { read }]) => {
    const uuid = newId()
    return [name, read(uuid) === null ? '999999999' : uuid] as const
  })
  return unknown.reduce((path, [name, id]) => path.replace(`:${name}`, id), path)
}

for (const operation of routesOf(operations).filter(({ access }) => access !== 'dashboard')) {
  const { method, path, params } = operation
  t.test(`${method} ${path} reports the first of its faults, in the order of checks`, async t => {
    const faults = faultsOf(operation)
    // No id in the path exists, so that later faults are not reported.
    const last = params ? faults.findIndex(({ answer }) => answer === '404 not_found') : faults.length - 1
    for (const [n, { answer }] of faults.slice(0, last + 1).entries()) {
      // Each request has a new client address, which has not sent yet.
      const start: Asked = { headers: { 'x-forwarded-for': `2001:db8:${(++addresses).toString(16)}::1` }, query: '' }
      const { query, ...asked } = faults.slice(n).reduceRight((asked, fault) => fault.put(asked), start)
      const { status, body } = await api.request(method, `/api${pathOf(operation)}${query}`, asked)
      t.equal(`${status} ${body.name}`, answer)
    }
  })
}
