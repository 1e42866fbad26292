import t from 'tap'
import { findClient, networkOf, parseNetworks } from '#lib/net/client_address.ts'

const proxies = parseNetworks('10.0.0.0/8, 192.0.2.7,fd00::/8 ,2001:DB8:0:0::1')

t.test('findClient returns the peer when there are no trusted proxies', async t => {
  t.equal(findClient('10.0.0.1', '1.2.3.4', undefined), '10.0.0.1')
  t.equal(findClient('::ffff:10.0.0.1', '1.2.3.4', undefined), '10.0.0.1')
})

t.test('findClient returns a peer that is not trusted', async t => {
  for (const peer of ['11.0.0.1', '192.0.2.8', 'fe80::1', '2001:db8::2']) {
    t.equal(findClient(peer, '1.2.3.4', proxies), peer)
  }
})

t.test('findClient returns the address that a trusted proxy saw', async t => {
  for (const peer of ['10.0.0.1', '::ffff:10.0.0.1', '::FFFF:a00:1', '192.0.2.7', 'fdff::9', '2001:db8:0::0:1']) {
    t.equal(findClient(peer, '1.2.3.4', proxies), '1.2.3.4', peer)
    t.equal(findClient(peer, '2001:db8:5::1', proxies), '2001:db8:5::1', peer)
  }
})

t.test('forged addresses to the left of the real one are ignored', async t => {
  t.equal(findClient('10.0.0.1', '9.9.9.9, 1.2.3.4', proxies), '1.2.3.4')
  t.equal(findClient('10.0.0.1', '9.9.9.9,10.0.0.5,1.2.3.4 , fd00::1,10.9.9.9', proxies), '1.2.3.4')
  t.equal(findClient('10.0.0.1', 'nonsense, 1.2.3.4', proxies), '1.2.3.4')
})

t.test('findClient returns the leftmost address if all of them are trusted proxies', async t => {
  t.equal(findClient('10.0.0.1', '10.0.0.3, 10.0.0.2', proxies), '10.0.0.3')
})

t.test('findClient ignores what is left of text that is not an address', async t => {
  for (const nothing of [
    '',
    ' ',
    ',',
    'unknown',
    '_hidden',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    ':80',
    '[1.2.3.4',
    '1.2.3.4/32',
  ]) {
    t.equal(findClient('10.0.0.1', nothing, proxies), '10.0.0.1', nothing)
    t.equal(findClient('10.0.0.1', `1.2.3.4, ${nothing}, 10.0.0.2`, proxies), '10.0.0.2', nothing)
  }
})

t.test('an address may have a port, a zone or an IPv4-mapped form', async t => {
  for (const [hop, client] of [
    ['1.2.3.4:5000', '1.2.3.4'],
    ['[2001:db8:5::1]:5000', '2001:db8:5::1'],
    ['[2001:db8:5::1]', '2001:db8:5::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['[::ffff:102:304]:80', '1.2.3.4'],
  ] as const) {
    t.equal(findClient('10.0.0.1', hop, proxies), client, hop)
  }
})

t.test('networkOf returns an empty text for a closed socket', async t => {
  t.equal(networkOf(findClient('', '1.2.3.4', proxies)), '')
})

t.test('networkOf returns the /64 of IPv6 and the address of IPv4', async t => {
  for (const [address, network] of [
    ['1.2.3.4', '1.2.3.4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['64:ff9b::1.2.3.4', '64:ff9b:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ] as const) {
    t.equal(networkOf(address), network, address)
  }
})

t.test('parseNetworks accepts 0.0.0.0/0 and ::/0', async t => {
  t.equal(findClient('8.8.8.8', '1.2.3.4', parseNetworks('0.0.0.0/0')), '1.2.3.4')
  t.equal(findClient('2001:db8::1', '1.2.3.4', parseNetworks('::/0')), '1.2.3.4')
})

t.test('parseNetworks names the invalid entry', async t => {
  t.throws(() => parseNetworks('10.0.0.1, proxy.acme.com'), { name: 'RangeError', message: /^"proxy\.acme\.com" is / })
})
