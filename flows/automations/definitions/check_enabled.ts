import { type CampaignConfig, requirePublicUrl, requireSender } from '#flows/campaigns/check_campaign.ts'
import type { Graph, GraphStep } from '#lib/automations/graph.ts'
import type { Purpose } from '#lib/automations/new_automation.ts'
import { ApiError } from '#lib/errors.ts'
import { listPollKeys, pollOfContent } from '#lib/polls/poll_of_content.ts'
import { findSender } from '#sql/campaigns/start/judge_sender.ts'
import type { Tx } from '#sql/pool.ts'
import { type References, requireSenderAt, stepError } from './check_references.ts'

type Enabled = { account_id: string; domain_id: string; purpose: Purpose; graph: Graph; references: References }
type SendEmail = GraphStep & { type: 'send_email' }

/**
 * Checks that an automation can be enabled. Its references must have been checked before.
 *
 * @throws {ApiError} 422 with the key of the first step whose email could not be sent
 */
export async function requireEnabled(
  tx: Tx,
  config: CampaignConfig,
  { purpose, graph, references, ...place }: Enabled,
): Promise<void> {
  if (graph.steps.length < 2) {
    throw new ApiError(
      'validation_error',
      'To be enabled, an automation must have a trigger and at least one more step.',
    )
  }
  const mails = graph.steps.filter(step => step.type === 'send_email')
  for (const step of mails) {
    requireContent(step, references)
    await inStep(step, async () => requireOptions(step))
  }
  const [first] = mails
  if (first) await inStep(first, () => requireMail(tx, config, { ...place, domain: references.domain, purpose }))
}

/** Checks that an email has all it needs. @throws {ApiError} 422 */
function requireContent(step: SendEmail, { domain, templates }: References): void {
  const { template: named, from, subject, html, text } = step.config
  const template = named && (templates.get(named.id) ?? null)
  if (template && !template.is_published) throw stepError(step, 'Its template is not published.')
  if (!template && !html && !text) throw stepError(step, 'It has no content: give it a `template`, `html` or `text`.')
  if ((subject ?? template?.subject ?? null) === null) {
    throw stepError(step, `It has no \`subject\`${template ? ', and neither has its template' : ''}.`)
  }
  const sender = from ?? template?.sender ?? null
  if (sender === null) throw stepError(step, `It has no \`from\`${template ? ', and neither has its template' : ''}.`)
  requireSenderAt(step, sender, domain)
}

/** Checks that poll links in the content match the options of the poll. @throws {ApiError} 422 */
function requireOptions({ config: { html, text, poll } }: SendEmail): void {
  pollOfContent(poll, listPollKeys(html, text), () => '')
}

type Mail = { account_id: string; domain_id: string; domain: string; purpose: Purpose }

async function requireMail(tx: Tx, config: CampaignConfig, mail: Mail): Promise<void> {
  const { account_id, domain_id, domain, purpose } = mail
  await requireSender(tx, { account_id, domain }, 'pauses')
  if (purpose === 'transactional') return
  const { transport } = await findSender(tx, account_id, domain_id)
  requirePublicUrl(config, transport)
}

/** Adds the key of the step to an error. */
async function inStep(step: SendEmail, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    throw error instanceof ApiError ? stepError(step, error.message) : error
  }
}
