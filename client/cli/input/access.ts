import { MailbrookError } from '../../source/error.ts'
import type { Mailbrook } from '../../source/index.ts'

/** Returns what the key may do. A sending key may not even ask what it is: its refusal says so. */
export async function accessOf(client: Mailbrook, signal: AbortSignal): Promise<'full' | 'sending'> {
  try {
    await client.usage.get({ signal })
    return 'full'
  } catch (error) {
    if (MailbrookError.is(error, 'restricted_api_key')) return 'sending'
    throw error
  }
}
