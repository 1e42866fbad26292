import t from 'tap'
import { request } from 'undici'
import { startApi } from '#test/support/api.ts'
import { compose, receive, withoutTrace } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
const path = '/api/emails/receiving'

async function download(url: string, key: string = account.key) {
  const { statusCode, headers, body } = await request(api.url + url, {
    headers: { 'user-agent': 'test', authorization: `Bearer ${key}` },
  })
  return { statusCode, headers, text: await body.text() }
}

/** Headers that keep a browser from running the file on our origin. */
const SAFE = {
  'content-security-policy': "sandbox; default-src 'none'",
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
}

type Listed = { id: string; filename: string; url: string }

t.test('received attachments are listed in pages and downloaded unchanged', async t => {
  const files = ['a', 'b', 'c'].map(name => ({ filename: `${name}.html`, content: `<script>${name}</script>` }))
  const id = await receive(work, account, await compose({ text: 'x', attachments: files }))
  const list = async (query = '') => {
    const { body } = await api.request('GET', `${path}/${id}/attachments${query}`)
    return body as unknown as { has_more: boolean; data: Listed[] }
  }
  const { data } = await list()
  const url = `${path}/${id}/attachments/${data[0]?.id}`
  t.strictSame(data[0], {
    object: 'attachment',
    id: data[0]?.id,
    filename: 'a.html',
    content_type: 'text/html',
    content_disposition: 'attachment',
    content_id: null,
    size: 18,
    downloadable: true,
    download_url: `${world.config.BASE_URL}${url}`,
    url,
  })
  const names = ({ has_more, data }: { has_more: boolean; data: Listed[] }) => [
    data.map(({ filename }) => filename[0]).join(''),
    has_more,
  ]
  t.strictSame(names(await list()), ['abc', false])
  t.strictSame(names(await list('?limit=2')), ['ab', true])
  t.strictSame(names(await list(`?limit=1&after=${data[0]?.id}`)), ['b', true])
  t.strictSame(names(await list(`?limit=1&before=${data[2]?.id}`)), ['b', true])
  t.match(await api.request('GET', `${path}/${id}/attachments?limit=0`), { status: 422 })

  const { statusCode, headers, text } = await download(url)
  t.strictSame([statusCode, text], [200, '<script>a</script>'])
  t.match(headers, { ...SAFE, 'content-type': 'text/html', 'content-disposition': 'attachment; filename="a.html"' })
  t.match(await download(url, (await newAccount(world)).key), { statusCode: 404 })
  t.match(await api.request('GET', url, { key: null }), { status: 401 })
})

t.test('a text is downloaded in its charset', async t => {
  const part = 'Content-Type: text/plain; charset=iso-8859-1\r\nContent-Disposition: attachment; filename=t.txt'
  const raw = `From: ann@y.com\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${part}\r\n\r\nx\r\n--b--\r\n`
  const id = await receive(work, account, raw)
  const { body } = await api.request('GET', `${path}/${id}/attachments`)
  const [file] = body.data as unknown as Listed[]
  t.match(file, { content_type: 'text/plain' })
  t.match((await download(file?.url ?? '')).headers, { 'content-type': 'text/plain; charset=iso-8859-1' })
})

t.test('hostile filenames and types of attachments are harmless in headers', async t => {
  const names = [
    'a"b;c.svg',
    'a\r\nSet-Cookie: x=1.html',
    '\u202egpj.exe',
    '../../etc/passwd',
    'é\u2028\0',
    '..',
    'a\\b',
  ]
  const id = await receive(work, account, await compose({ text: 'x', attachments: [{ filename: 'a', content: 'x' }] }))
  const { body } = await api.request('GET', `${path}/${id}/attachments`)
  const url = `${path}/${id}/attachments/${body.data[0]?.id}`
  for (const filename of names) {
    for (const content_type of ['text/html; charset="x\r\ny"', 'image/svg+xml', 'é', '']) {
      await world.pool.pg.query('UPDATE received_attachments SET filename = $1, content_type = $2', [
        filename.replace('\0', ''),
        content_type,
      ])
      const { statusCode, headers } = await download(url)
      t.match({ statusCode, ...headers }, { statusCode: 200, ...SAFE }, encodeURIComponent(filename))
      t.equal(headers['content-type'], content_type === 'image/svg+xml' ? content_type : 'application/octet-stream')
      t.equal(headers['set-cookie'], undefined)
      const disposition = String(headers['content-disposition'])
      t.match(disposition, /^attachment; filename="/)
      t.notMatch(decodeURIComponent(disposition), /[\u202e\u2028\r\n/]/, encodeURIComponent(filename))
    }
  }
  await world.pool.pg.query('UPDATE received_attachments SET blob_id = NULL WHERE received_email_id = $1', [id])
  t.match(await download(url), { statusCode: 404 })
  const { body: email } = await api.request('GET', `${path}/${id}`)
  const [attachment] = (email as unknown as { attachments: object[] }).attachments
  t.match(attachment, { object: 'attachment', downloadable: false })
  for (const field of ['download_url', 'url']) t.notHas(attachment, field)
})

t.test('GET /emails/receiving/:id/raw returns the exact bytes while they are kept', async t => {
  const raw = await compose({ text: 'Hällo' })
  const id = await receive(work, account, raw)
  const { statusCode, headers, text } = await download(`${path}/${id}/raw`)
  t.strictSame([statusCode, withoutTrace(Buffer.from(text)).toString()], [200, raw.toString()])
  const disposition = `attachment; filename="${id}.eml"`
  t.match(headers, { ...SAFE, 'content-type': 'message/rfc822', 'content-disposition': disposition })
  await world.pool.pg.query('UPDATE received_emails SET raw_blob_id = NULL WHERE id = $1', [id])
  t.match(await download(`${path}/${id}/raw`), { statusCode: 404 })
  const { body } = await api.request('GET', `${path}/${id}`)
  t.match(body, { raw_available: false })
  for (const field of ['raw', 'raw_url']) t.notHas(body, field)
})
