import t from 'tap'
import { FILE_BYTES, measureUploads } from '#test/bench/support/upload_client.ts'

t.test('an upload of 25 MiB is never in memory as a whole', async t => {
  const { grown } = await measureUploads('stream', 1)
  t.ok(grown < FILE_BYTES, `${grown} bytes`) // more than ten times the file when it is parsed whole
})
