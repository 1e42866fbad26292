import { MailbrookError } from '../../source/error.ts'
import type { Mailbrook } from '../../source/index.ts'

/** Returns the access of the key. A sending key may not read anything: the error that it gets shows its access. */
export async function accessOf(client: Mailbrook, signal: AbortSignal): Promise<'full' | 'sending'> {
  try {
    await client.usage.get({ signal })
    return 'full'
  } catch (error) {
    if (MailbrookError.is(error, 'restricted_api_key')) return 'sending'
    throw error
  }
}
