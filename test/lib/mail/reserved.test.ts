import t from 'tap'
import { isReservedDomain } from '#lib/mail/reserved_domains.ts'

t.test('isReservedDomain matches documentation and test domains and their subdomains', async t => {
  const names = `example.com example.net example.org test invalid localhost example
    a.test a.invalid a.localhost a.example a.b.example mail.example.com a.b.example.org EXAMPLE.COM a.Test`
  for (const domain of names.split(/\s+/)) t.ok(isReservedDomain(domain), domain)
})

t.test('isReservedDomain does not match similar domains', async t => {
  const names = `example.co example.de example.io myexample.com example.com.co my-example.net test.com latest mytest
    notlocalhost test.example.io invalid.org localhost.de xexample b.co simulator.mailbrook.dev`
  for (const domain of names.split(/\s+/)) t.notOk(isReservedDomain(domain), domain)
})
