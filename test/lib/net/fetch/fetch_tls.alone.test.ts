import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { fetchSafely } from '#lib/net/fetch_safely.ts'
import { ALLOWED, failureOf, policyOf } from '#test/support/http/fetching.ts'

/** Self-signed, for files.acme.com and 127.0.0.3, until 2120. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg1Yui8CyWce3yEUR5
BUCnkY/sLEo/SyY8hn+JIKkanVahRANCAASvQGI0W6Y5LGWSyGMlbixiNLj0LM57
OkHm28HuMJYCmYdLYn4IGj+jU7u1zgmTZH0o+zJ8aRh3hPd6mmHcaaGm
-----END PRIVATE KEY-----`
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBdjCCARygAwIBAgIBATAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5maWxlcy5h
Y21lLmNvbTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGTEXMBUG
A1UEAwwOZmlsZXMuYWNtZS5jb20wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASv
QGI0W6Y5LGWSyGMlbixiNLj0LM57OkHm28HuMJYCmYdLYn4IGj+jU7u1zgmTZH0o
+zJ8aRh3hPd6mmHcaaGmo1MwUTAPBgNVHRMBAf8EBTADAQH/MB8GA1UdEQQYMBaC
DmZpbGVzLmFjbWUuY29thwR/AAADMB0GA1UdDgQWBBSyC8o4aO2dflkT7gwro0Gz
rpqudDAKBggqhkjOPQQDAgNIADBFAiEAhLOifDxtmwA1zUj0rVo3t9ZWgACecdoZ
JGCp/N6csS4CIFGLT721GS1BOEdz02PWoGykKUZgfdOMAX005+CJhCSe
-----END CERTIFICATE-----`

async function startTlsServer(t: Test): Promise<{ port: number; names: (string | false | null)[] }> {
  const names: (string | false | null)[] = []
  const server = createServer({ key: KEY, cert: CERTIFICATE }, ({ socket, headers }, response) => {
    names.push((socket as TLSSocket).servername)
    response.end(headers.host)
  }).listen(0, ALLOWED)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, names }
}

async function read(t: Test, host: string): Promise<string> {
  const { port, names } = await startTlsServer(t)
  const policy = policyOf([port], { resolve: async () => [ALLOWED] })
  const url = `https://${host}:${port}/`
  const { body } = await fetchSafely({ url, max_bytes: 1000, deadline_ms: 20_000 }, policy)
  return `${String(await buffer(body)).replace(/:\d+$/, '')} ${names}`
}

t.test('a self-signed certificate is refused, even with NODE_TLS_REJECT_UNAUTHORIZED=0', async t => {
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  t.teardown(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  })
  for (const value of ['', '0']) {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = value
    const failure = await failureOf(read(t, 'files.acme.com'))
    t.match(failure, {
      reason: 'The URL could not be fetched: its host does not respond, or is not public and not in FETCH_ALLOW.',
      detail: /CERT/,
      is_permanent: false,
    })
  }
})

t.test('the certificate must match the host of the URL, which is sent by SNI', async t => {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, CERTIFICATE])
  t.teardown(() => setDefaultCACertificates(before))

  t.equal(await read(t, 'files.acme.com'), 'files.acme.com files.acme.com')
  t.equal(await read(t, 'files.acme.com.'), 'files.acme.com. files.acme.com')
  t.equal(await read(t, ALLOWED), `${ALLOWED} false`)
  for (const host of ['acme.com', 'x.files.acme.com']) {
    t.match(await failureOf(read(t, host)), { detail: /ERR_TLS_CERT_ALTNAME_INVALID/ }, host)
  }
})

t.test('plain HTTP on an https URL is unreachable', async t => {
  const { port } = await startTlsServer(t)
  const request = { url: `http://${ALLOWED}:${port}/`, max_bytes: 1000, deadline_ms: 20_000 }
  t.match(await failureOf(fetchSafely(request, policyOf([port]))), {
    reason: 'The URL could not be fetched: its host does not respond, or is not public and not in FETCH_ALLOW.',
  })
})
