import t from 'tap'
import { now } from '#lib/clock.ts'
import { readEndpoint } from '#lib/webhooks/new_webhook.ts'
import { parseRetryAfter, RETRY_SECONDS, retryWebhook } from '#lib/webhooks/retry.ts'
import { createSignEvent, newSigningSecret } from '#lib/webhooks/signature.ts'
import { policyOf } from '#test/support/http/fetching.ts'
import { ELSEWHERE, HERE, LOCAL_NAMES } from '#test/support/http/hostile_hosts.ts'

t.test('a webhook is retried six times, with these delays varied by a fifth', async t => {
  t.strictSame(RETRY_SECONDS, [5, 300, 1_800, 7_200, 18_000, 36_000])
  for (const [n, seconds] of RETRY_SECONDS.entries()) {
    for (const [random, factor] of [
      [0, 0.8],
      [0.5, 1],
      [1, 1.2],
    ] as const) {
      const delay = retryWebhook(n + 1, 0, RETRY_SECONDS, () => random)
      t.ok(Math.abs(Number(delay) - seconds * factor) < 1e-6, `${n + 1}: ${delay}`)
    }
  }
  t.equal(retryWebhook(7), null)
  t.equal(retryWebhook(7, 3_600), null, 'whatever it asks for')
})

t.test('a Retry-After extends the delay, but does not shorten it', async t => {
  t.equal(retryWebhook(1, 3_600), 3_600)
  t.ok(Number(retryWebhook(2, 1)) >= 240)
})

t.test('Retry-After is parsed as seconds or a date', async t => {
  for (const [field, seconds] of [
    [undefined, 0],
    ['', 0],
    ['0', 0],
    ['120', 120],
    ['36001', 36_000],
    ['9999999999', 36_000],
    ['9'.repeat(400), 36_000],
    ['-1', 0],
    ['1.5', 0],
    ['soon', 0],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['Fri, 31 Dec 2999 23:59:59 GMT', 36_000],
  ] as const) {
    t.equal(parseRetryAfter(field), seconds, String(field))
  }
  const soon = parseRetryAfter(new Date(now().getTime() + 90_000).toUTCString())
  t.ok(soon > 85 && soon <= 90, `${soon} s`)
})

t.test('signatures equal those of openssl', async t => {
  // printf '1700000000.{"a":"ü"}' | openssl dgst -sha256 -hmac 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3'
  // printf 'msg_1.1700000000.{"a":"ü"}' | openssl dgst -sha256 -hmac '0123456789abcdef01234567' -binary | base64
  const sign = createSignEvent('whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3')
  const at = new Date(1_700_000_000_999)
  t.strictSame(sign({ id: '1', body: Buffer.from('{"a":"ü"}') }, at), {
    'x-service-timestamp': '1700000000',
    'x-service-signature': '273d214097448f475abb2d204ca983ad07fedac9b59dfdb63e95ff1836530320',
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1700000000',
    'webhook-signature': 'v1,aNudXE8EUZ3U7xF3GSzgWqzP4BmFeVyAIQOwSXPi/as=',
  })
  t.match(newSigningSecret(), /^whsec_[A-Za-z0-9+/]{32}$/)
  t.not(newSigningSecret(), newSigningSecret())
})

t.test('readEndpoint refuses URLs that are visibly forbidden', async t => {
  const policy = policyOf([80, 443, 8080, 8443])
  const refused = { name: 'validation_error', message: /^`endpoint` must / }
  const urls = [...HERE, ...ELSEWHERE, ...LOCAL_NAMES].map(host => `http://${host}/`)
  const others = ['file:///etc/passwd', 'gopher://acme.com/', 'data:text/plain,x', 'https://a:b@acme.com/', 'acme.com']
  const ports = [22, 25, 5432, 6379].map(port => `https://acme.com:${port}/`)
  for (const url of [...urls, ...others, ...ports]) t.throws(() => readEndpoint(url, policy), refused, url)
  for (const url of ['https://acme.com/hook?a=b', 'http://8.8.8.8:8080/']) t.equal(readEndpoint(url, policy), url)
})
