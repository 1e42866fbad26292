import { readRequestKey } from '#api/middleware/idempotency.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import type { Context } from './context.ts'

/** Accepts the email that a request asks for. Answers its id, of the first such request if it is one with the same key. */
export async function sendEmail(ctx: Context, email: NewEmail, route: string): Promise<string> {
  const key = await readRequestKey(ctx, route)
  const [draft] = await ctx.prepareDrafts(ctx.state.caller, [email], key)
  const { id, replayed } = await ctx.acceptEmail(draft as Draft)
  if (replayed) ctx.set('idempotent-replayed', 'true')
  return id
}
