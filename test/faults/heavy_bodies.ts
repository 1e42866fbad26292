const MEGABYTE = 1024 * 1024
const MOST = 10 * MEGABYTE - 2_000
const OTHER = MEGABYTE - 2_000

/** A request that takes as much time or memory as its kind can. */
export type HeavyBody = { kind: string; method?: 'POST' | 'PATCH'; path: string; text: () => string; key?: true }

const fill = (piece: string, bytes: number) => piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)))
const list = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n))
const members = (bytes: number, key: (n: number) => string) => {
  let text = ''
  for (let n = 0; text.length < bytes; n++) text += `${text && ','}"${key(n)}":1`
  return text
}

/** Kinds of bodies for an account that sends from this domain. */
export function heavyBodies(domain: string): HeavyBody[] {
  const head = `"from":"a@${domain}","to":["delivered@simulator.internal"],"subject":"Hi"`
  const email = (field: string, value: string) => () => `{${head},"${field}":${value}}`
  const html = (piece: string) => email('html', `"${fill(piece, MOST)}"`)
  const batch = (count: number, fields: (n: number) => string) => () =>
    `[${list(count, n => `{${head},${fields(n)}}`)}]`
  const send = (kind: string, text: () => string): HeavyBody => ({ kind, path: '/api/emails', text })
  const address = (field: string, name: string) =>
    `"${field}":${JSON.stringify(list(50, n => `${name} <${field}${n}@b.com>`))}`
  const full = ['cc', 'bcc', 'reply_to'].map(field => address(field, 'N'.repeat(200)))
  const headers = `"headers":{${list(100, n => `"X-H-${n}":"${'v'.repeat(50)}"`)}}`
  const tags = `"tags":[${list(50, n => `{"name":"n${n}","value":"v"}`)}]`
  const variables = `"variables":{${list(50, n => `"v${n}":"${'x'.repeat(500)}"`)}}`
  return [
    send('long html', html('x')),
    { ...send('long html with a key', html('x')), key: true },
    { ...send('long html with a key, two bytes a character', html('€')), key: true },
    send('html of line ends', html('\\n')),
    send('html of escapes', html('\\u20ac')),
    { ...send('html of pairs of escapes', html('\\ud83d\\ude00')), key: true },
    send('html of emoji', html('😀')),
    send('html of accents', html('é')),
    send('html of placeholders', html('{{v1}}')),
    send('html that begins placeholders', email('html', `"${fill('{{a|', MOST)}","variables":{"a":1}`)),
    send('html of long fallbacks', email('html', `"${fill(`{{a|${'x'.repeat(1_990)}`, MOST)}","variables":{"a":1}`)),
    send('20,000 placeholders', email('html', `"${fill('{{v1}} <&>', 200_000)}",${variables}`)),
    send('deep lists', email('x', `${'['.repeat(MOST / 2)}${']'.repeat(MOST / 2)}`)),
    send('deep objects', email('x', fill('{"a":', MOST))),
    send('many numbers', email('x', `[${fill('1,', MOST)}1]`)),
    send('many small strings', email('x', `[${fill('"a",', MOST)}1]`)),
    send('many objects', email('x', `[${fill('{},', MOST)}1]`)),
    send('many keys', () => `{${members(MOST, n => `k${n}`)}}`),
    send('long keys', () => `{${members(MOST, n => `${n}${'k'.repeat(1_000)}`)}}`),
    send('one key', () => `{"${'k'.repeat(MOST)}":1}`),
    send('one number', email('x', '9'.repeat(MOST))),
    send('many fractions', email('x', `[${fill('1.2345678901234567e-300,', MOST)}1]`)),
    send('blanks', () => `{${' '.repeat(MOST)}${head}}`),
    send('recipients that nearly are', email('cc', JSON.stringify(list(50, () => `"${'\\" '.repeat(330)}<a@b`)))),
    send('long words of an address', email('cc', JSON.stringify(list(50, () => `${'a.'.repeat(499)}@b.com`)))),
    send('a long phrase for a moment', email('scheduled_at', `"${fill('in 2 hours ', 200_000)}"`)),
    {
      kind: 'batch of long html',
      path: '/api/emails/batch',
      text: batch(100, () => `"html":"${'x'.repeat(102_000)}"`),
      key: true,
    },
    {
      kind: 'batch of all that there is',
      path: '/api/emails/batch',
      text: batch(100, () => [...full, headers, tags, variables, '"html":"{{v1}}"'].join()),
      key: true,
    },
    {
      kind: 'batch of values',
      path: '/api/emails/batch',
      text: batch(100, () => `"x":[${fill('{},', 10_000)}1]`),
      key: true,
    },
    { kind: 'batch of items', path: '/api/emails/batch', text: () => `[${fill('{},', MOST)}{}]` },
    {
      kind: 'template',
      path: '/api/templates',
      text: () => `{"name":"T","html":"${fill('€<p>', 4_900_000)}","text":"${fill('€', 4_900_000)}"}`,
    },
    {
      kind: 'template of placeholders',
      path: '/api/templates',
      text: () => `{"name":"T","html":"${fill('{{v1}} ', 130_000)}${fill('{{', 4_800_000)}"}`,
    },
    {
      kind: 'template of reply_to',
      path: '/api/templates',
      text: () => `{"name":"T","html":"","reply_to":"${fill('",', 4_990)}"}`,
    },
    {
      kind: 'webhook',
      path: '/api/webhooks',
      text: () => `{"endpoint":"https://a.com/${'x'.repeat(OTHER)}","events":[]}`,
    },
    {
      kind: 'webhook of events',
      path: '/api/webhooks',
      text: () => `{"endpoint":"https://a.com","events":[${fill('"x",', 70_000)}"x"]}`,
    },
    { kind: 'suppression', path: '/api/suppressions', text: () => `{"email":"${fill('a.', OTHER)}@b.com"}` },
    { kind: 'domain', path: '/api/domains', text: () => `{"name":"${fill('a.', OTHER)}com"}` },
    { kind: 'domain beyond ASCII', path: '/api/domains', text: () => `{"name":"${fill('ü', OTHER)}.com"}` },
  ]
}
