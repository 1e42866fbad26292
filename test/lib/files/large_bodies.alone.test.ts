import t from 'tap'
import { FILE_BYTES, measureUploads } from '#test/bench/support/upload_client.ts'

t.test('a body with a file of 25 MiB arrives unchanged and never lies in memory, not even once', async t => {
  const { grown } = await measureUploads('stream', 1)
  t.ok(grown < FILE_BYTES, `${grown} bytes`) // more than ten times the file when it is parsed whole
})
