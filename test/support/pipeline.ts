import { DeliveryStore } from '#flows/delivery/fence_and_settle.ts'
import { Pipeline } from '#flows/delivery/pipeline.ts'
import { createPlayRecipient } from '#flows/delivery/play_recipient.ts'
import { createFetchFiles } from '#flows/delivery/prepare/fetch_attachments.ts'
import { createPrepareMessage, type PrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import { createTransport } from '#flows/delivery/transports.ts'
import { createBlobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import type { Transport } from '#lib/delivery/transport.ts'

type Parts = { transport?: Transport; onCompose?: (recipient: string) => void; onRoom?: () => void }

/** Opens a pipeline without a sender, which would claim deliveries for it. */
export function openPipeline(
  world: Foundation,
  { transport = createTransport(world), onCompose = () => {}, onRoom = () => {} }: Parts = {},
): Pipeline {
  const { pool, log } = world
  const blobs = createBlobs(world)
  const fetchFiles = createFetchFiles({ ...world, blobs, signal: new AbortController().signal })
  const prepare = createPrepareMessage({ ...world, fetchFiles, readBlob: blobs.read, keys_ms: 1_000 })
  const prepareMessage: PrepareMessage = async (...email) => {
    const { compose, ...prepared } = await prepare(...email)
    return {
      ...prepared,
      compose: recipient => {
        onCompose(recipient.recipient)
        return compose(recipient)
      },
    }
  }
  const playRecipient = createPlayRecipient({ ...world, prepareMessage })
  const store = new DeliveryStore(pool, log, { lease_seconds: 40, slots: 40 })
  return new Pipeline({ ...world, transport, store, prepareMessage, playRecipient, onRoom })
}
