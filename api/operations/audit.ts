import { clientAddress } from '#api/client_address.ts'
import type { Context } from '#api/context.ts'
import { writeAudit } from '#flows/members/write_audit.ts'

/**
 * Writes a change by the caller of a request to the audit log. `path` contains the names of its parameters:
 * `/emails/:id`. The log must not keep addresses of people: one in the path is replaced by the id in the answer.
 */
export async function auditChange(ctx: Context, action: string, path: string, answer?: unknown): Promise<void> {
  const { account_id, id, name, role } = ctx.state.caller
  const { id: changed_id = '' } = (answer ?? {}) as { id?: string }
  const target = path.replace(/:(\w+)/g, (_, param: string) => {
    const value: string = ctx.params[param] ?? ''
    return value.includes('@') ? changed_id : value
  })
  await writeAudit(ctx.pool, {
    ...{ account_id, actor: role ? 'member' : 'api_key', actor_id: id, actor_name: name, action, target },
    client_address: clientAddress(ctx) || null,
  }).catch(err => ctx.log.error({ err, action }, 'a change is missing from the audit log')) // the change itself is already committed
}
