import { newId } from '#lib/ids.ts'
import type { EventDraft } from '#sql/events/contact_events.ts'
import type { TestAccount } from './world.ts'

/** An event of a contact in the domain of an account, without an idempotency key. */
export function eventDraft(
  { id: account_id, domain_id }: Pick<TestAccount, 'id' | 'domain_id'>,
  contact_id: string,
  name: string,
  payload: Record<string, unknown> = {},
): EventDraft {
  return {
    ...{ account_id, domain_id, contact_id, email: null, name, payload },
    ...{ tail: newId().replaceAll('-', '').slice(-16), is_refused: false, route: null, key: null, fingerprint: null },
  }
}
