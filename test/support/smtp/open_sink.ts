import type { Test } from 'tap'
import { type Sink, type SinkOptions, startSink } from '#test/faults/support/sink.ts'

/** Starts a mail server, which ends with the test. */
export async function openSink(t: Pick<Test, 'teardown'>, options: SinkOptions = {}): Promise<Sink> {
  const sink = await startSink(options)
  t.teardown(() => sink.close())
  return sink
}
