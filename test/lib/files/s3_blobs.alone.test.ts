import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createS3Blobs } from '#lib/files/s3_blobs.ts'
import { startS3Server } from '#test/support/http/s3_server.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const MB = 1024 * 1024

function openBlobs(t: Test, url: string) {
  const blobs = createS3Blobs(url)
  t.teardown(() => blobs.close())
  return blobs
}

/** In chunks of 64,000 bytes, of which no part is a multiple. */
async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += 64_000) yield bytes.subarray(start, start + 64_000)
}

async function* brokenAfter(bytes: Buffer, error: Error): AsyncGenerator<Buffer> {
  yield* chunksOf(bytes)
  throw error
}

t.test('the AWS SDK is loaded by the first call, not by the import', async t => {
  const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some(path => path.includes('@aws-sdk'))
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url)
  t.notOk(isLoaded())
  await blobs.delete([])
  t.ok(isLoaded())
})

t.test('blobs are read back unchanged: empty, small, and in parts', async t => {
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url)
  for (const size of [0, 1, 5 * MB, 12 * MB]) {
    const bytes = randomBytes(size)
    await blobs.write(`blob-${size}`, chunksOf(bytes))
    t.ok((await buffer(blobs.read(`blob-${size}`))).equals(bytes), `${size} bytes`)
  }
  t.equal(s3.uploads.size, 0)
  const large = s3.requests.filter(request => request.includes(`blob-${12 * MB}`))
  t.match(large.join('\n'), /^POST \S+\?uploads\n(PUT \S+\?partNumber&uploadId\n){3}POST \S+\?uploadId\nGET \S+$/)
  t.equal(
    s3.requests.filter(request => request === `PUT blob-${5 * MB}`).length,
    1,
    'a single part is not a multipart upload',
  )
})

t.test('any key is stored under the prefix', async t => {
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url.replace('@blobs', '@blobs/mail/dev'))
  for (const key of ['a', 'a/b c', 'ü+%&=?#', "it's (one)*"]) {
    await blobs.write(key, chunksOf(Buffer.from(key)))
    t.equal(String(s3.objects.get(`mail/dev/${key}`)), key)
    t.equal(String(await buffer(blobs.read(key))), key)
  }
})

t.test('a source that fails leaves nothing behind, and its error is passed on', async t => {
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url)
  const isCut = new Error('the sender hung up')
  for (const size of [0, 1000, 6 * MB]) {
    await t.rejects(blobs.write('cut', brokenAfter(Buffer.alloc(size), isCut)), isCut)
  }
  t.ok(s3.requests.includes('DELETE cut?uploadId'), 'the upload was aborted')
  t.equal(s3.objects.size + s3.uploads.size, 0)
})

t.test('a refused part leaves nothing behind', async t => {
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url)
  for (const request of [/PUT .*partNumber/, /POST .*uploadId/]) {
    s3.refuse(request, 403, 'QuotaExceeded')
    await t.rejects(blobs.write('large', chunksOf(Buffer.alloc(6 * MB))), { message: /QuotaExceeded/ })
    t.equal(s3.objects.size + s3.uploads.size, 0)
  }
})

t.test('a request that fails once is retried', async t => {
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url)
  s3.refuse(/PUT/, 503, 'SlowDown')
  const written = blobs.write('key', chunksOf(Buffer.from('x')))
  await waitUntil(() => s3.requests.length > 0, 'the server is asked')
  s3.refuse(/never/, 503, 'SlowDown')
  await written
  t.equal(String(s3.objects.get('key')), 'x')
})

t.test('a missing key cannot be read but can be deleted', async t => {
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url)
  await t.rejects(buffer(blobs.read('none')), { message: 'Bucket blobs, none: NoSuchKey: It is refused' })
  await blobs.delete(['none'])
  await blobs.delete([])
})

t.test('delete removes only the given keys', async t => {
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url)
  for (let n = 0; n < 50; n++) s3.objects.set(`key-${n}`, Buffer.from('x'))
  await blobs.delete(Array.from({ length: 45 }, (_, n) => `key-${n}`))
  t.strictSame([...s3.objects.keys()], ['key-45', 'key-46', 'key-47', 'key-48', 'key-49'])
  s3.refuse(/DELETE key-46/, 403, 'AccessDenied')
  await t.rejects(blobs.delete([...s3.objects.keys()]), { message: /^Bucket blobs, key-46: AccessDenied/ })
})

t.test('a wrong key, secret or bucket is named in the error, without the secret', async t => {
  const s3 = await startS3Server(t)
  for (const [url, code] of [
    [s3.url.replace('AKIATEST', 'AKIAOTHER'), 'InvalidAccessKeyId'],
    [s3.url.replace('se%2Fcr%2Bet', 'canary'), 'SignatureDoesNotMatch'],
    [s3.url.replace('@blobs', '@others'), 'NoSuchBucket'],
  ] as const) {
    const blobs = openBlobs(t, url)
    for (const action of [
      () => blobs.write('key', chunksOf(Buffer.from('x'))),
      () => blobs.write('key', chunksOf(Buffer.alloc(6 * MB))),
      () => buffer(blobs.read('key')),
      () => blobs.delete(['key']),
    ]) {
      const error = await action().then(
        () => new Error('nothing was refused'),
        (error: Error) => error,
      )
      t.match(error.message, `: ${code}: `)
      t.notMatch(JSON.stringify(error) + String(error.cause), 'canary')
    }
  }
  t.equal(s3.objects.size + s3.uploads.size, 0)
})

t.test('an unreachable server is an error', async t => {
  const blobs = openBlobs(t, 's3://key:secret@bucket?endpoint=http://127.0.0.1:1')
  await t.rejects(blobs.write('key', chunksOf(Buffer.from('x'))), { message: /ECONNREFUSED/ })
})

t.test('a reader that stops early does not block', async t => {
  const s3 = await startS3Server(t)
  const blobs = openBlobs(t, s3.url)
  await blobs.write('key', chunksOf(Buffer.alloc(4 * MB)))
  for await (const chunk of blobs.read('key')) {
    t.ok(chunk.length < MB)
    break
  }
  t.equal((await buffer(blobs.read('key'))).length, 4 * MB)
})
