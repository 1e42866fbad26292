import t from 'tap'
import { classifyHit, type HitRequest } from '#lib/tracking/classify.ts'
import { CLICKING_MACHINES, MACHINES, MAIL_APPS, PEOPLE, PROXIES } from './user_agents.ts'

const BROWSER = PEOPLE[0] as string
const TYPES = ['open', 'click'] as const

const classify = (fields: Partial<HitRequest>): string => {
  const request = { type: 'open', method: 'GET', user_agent: BROWSER, purpose: '', ip: '192.0.2.7', ...fields } as const
  const { class: name, rule } = classifyHit(request)
  return `${name} ${rule}`
}

t.test('browsers are human, for opens and clicks', async t => {
  for (const type of TYPES) for (const user_agent of PEOPLE) t.equal(classify({ type, user_agent }), 'human default')
})

t.test('mail apps are human', async t => {
  for (const user_agent of MAIL_APPS) t.equal(classify({ user_agent }), 'human default')
})

t.test('image proxies are proxies', async t => {
  for (const [rule, user_agent] of PROXIES) t.equal(classify({ user_agent }), `proxy ${rule}`)
})

t.test('Apple Mail Privacy Protection is mpp', async t => {
  t.equal(classify({ user_agent: 'Mozilla/5.0' }), 'mpp apple_mpp')
  t.equal(classify({ user_agent: 'Mozilla/5.0', method: 'HEAD' }), 'machine head')
})

t.test('known bots are machines, for opens and clicks', async t => {
  for (const type of TYPES) {
    for (const [rule, user_agent] of MACHINES) t.equal(classify({ type, user_agent }), `machine ${rule}`, user_agent)
  }
})

t.test('robots known only to isbot are machines when they click', async t => {
  for (const user_agent of CLICKING_MACHINES) {
    t.equal(classify({ type: 'click', user_agent }), 'machine isbot', user_agent)
  }
})

t.test('HEAD and prefetch requests are machines', async t => {
  for (const type of TYPES) {
    t.equal(classify({ type, method: 'HEAD' }), 'machine head')
    for (const purpose of ['prefetch', 'Prefetch;prerender', 'preview', 'prerender']) {
      t.equal(classify({ type, purpose }), 'machine prefetch', purpose)
    }
  }
})

t.test('networks of mail filters are machines', async t => {
  const filters = ['40.92.1.1', '40.93.255.255', '40.107.3.4', '52.103.9.9', '104.47.127.255', '2a01:111:f403:c1::9']
  for (const ip of [...filters, '209.222.82.1']) t.equal(classify({ ip }), 'machine filter_network', ip)
  for (const ip of ['40.94.0.1', '104.47.128.0', '2a01:111:f402::1', '52.104.0.1', '209.222.88.1', null]) {
    t.equal(classify({ ip }), 'human default', `${ip}`)
  }
})
