import t from 'tap'
import { generateApiKey } from '#lib/api_key.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

t.test('a path without /api is a 404 that names the right path', async t => {
  for (const [method, path] of [
    ['POST', '/emails'],
    ['GET', '/emails/receiving'],
    ['GET', '/nothing'],
    ['POST', '//emails'],
  ] as const) {
    for (const key of [account.key, account.sending_key]) {
      const { status, body } = await api.request(method, path, { key })
      t.same([status, body.name], [404, 'not_found'])
      const message = `Route not found: the base URL ends in /api. Use ${method} /api${path.replace('//', '/')}.`
      t.equal(body.message, message)
    }
    for (const key of [null, 'mb_nonsense', generateApiKey()]) {
      t.match(await api.request(method, path, { key }), { status: 404, body: { message: /^Route not found$/ } })
    }
  }
})

t.test('/ shows browsers the dashboard, and is 404 for other clients', async t => {
  const ask = (accept: string) => fetch(`${api.url}/`, { headers: { accept } })
  const page = await ask('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  const text = await page.text()
  for (const [, path = ''] of text.matchAll(/href="(\/[^"]+)"/g))
    t.equal((await fetch(api.url + path)).status, 200, path)
  for (const accept of ['*/*', 'application/json']) t.equal((await ask(accept)).status, 404, accept)
})

t.test('an unknown address shows browsers a page, and is JSON for other clients and under /api', async t => {
  const ask = (path: string, headers: Record<string, string>) => fetch(api.url + path, { headers })
  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  for (const path of ['/nothing', '/emails/1/2/3', '/assets/nothing.js']) {
    const response = await ask(path, browser)
    t.strictSame([response.status, response.headers.get('content-type')], [404, 'text/html; charset=utf-8'], path)
    t.match(await response.text(), /<h1>Not found<\/h1>.*<a href="\/">/s)
  }
  const clients: [path: string, headers: Record<string, string>][] = [
    ['/nothing', { accept: '*/*' }],
    ['/nothing', { accept: 'application/json' }],
    ['/nothing', { ...browser, authorization: `Bearer ${account.key}` }],
    ['/api/nothing', { ...browser, authorization: `Bearer ${account.key}` }],
  ]
  for (const [path, headers] of clients) {
    const response = await ask(path, headers)
    t.strictSame([response.status, response.headers.get('content-type')], [404, 'application/json; charset=utf-8'])
  }
})
