import Router from '@koa/router'
import Koa from 'koa'
import { readBody } from '#api/bodies/read_body.ts'
import type { Services, State } from '#api/context.ts'
import { authenticate, sendingAccess } from '#api/middleware/auth.ts'
import { answerErrors } from '#api/middleware/errors.ts'
import { createFindCaller } from '#flows/accounts/find_caller.ts'
import { createFindSession } from '#flows/members/sessions.ts'
import { startOnFoundation, superviseProcess } from '#flows/process/run_process.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { parse } from '#lib/json/parse.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { type Pool, sql } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'

/** The baseline of `accept`: the same server and checks, but a transaction with INSERTs and add_job per request. */
await superviseProcess(() =>
  startOnFoundation(async foundation => {
    const app = new Koa<State, Services>()
    Object.assign(app.context, foundation)
    const router = new Router<State, Services>({ prefix: '/api' })
    router.post('/emails', sendingAccess, readBody, async ctx => {
      const email = parse(CompleteEmail, ctx.state.body)
      const draft = toDraft(ctx.state.caller, email, null, ctx.config.SIMULATOR_DOMAIN)
      await acceptNaively(ctx.pool, draft)
      ctx.body = { id: draft.id }
    })
    app.use(answerErrors(() => []) as Koa.Middleware)
    const findCaller = createFindCaller(foundation.pool, foundation.secrets.pepper)
    app.use(authenticate(findCaller, createFindSession(foundation)) as Koa.Middleware)
    app.use(router.routes() as unknown as Koa.Middleware)
    const server = app.listen(foundation.config.PORT)
    console.log('listening')
    return {
      async stop() {
        server.close()
        server.closeAllConnections()
      },
    }
  }),
)

async function acceptNaively(pool: Pool, draft: Draft): Promise<void> {
  const { account_id, id } = draft
  await pool.transaction(async tx => {
    await tx.run(sql.unsafe`
      INSERT INTO emails (account_id, id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status, last_event)
      VALUES (${account_id}, ${id}, ${draft.message_id}, ${draft.sender}, ${sql.array(draft.to, 'text')}, '{}', '{}', '{}',
        ${draft.subject}, '[]', 'queued', 'queued')
    `)
    await tx.run(sql.unsafe`
      INSERT INTO email_contents (account_id, email_id, headers, html) VALUES (${account_id}, ${id}, '{}', ${draft.html})
    `)
    for (const { id: delivery_id, recipient, destination } of draft.recipients) {
      await tx.run(sql.unsafe`
        INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state, next_at)
        VALUES (${account_id}, ${delivery_id}, ${id}, ${recipient}, ${destination}, 'queued', now())
      `)
    }
    await tx.run(
      sql.unsafe`SELECT graphile_worker.add_job('send_emails', json_build_object('email_ids', json_build_array(${id}::uuid)))`,
    )
  })
}
