import { type CampaignConfig, requirePublicUrl, requireSender } from '#flows/campaigns/check_campaign.ts'
import type { Graph, GraphStep } from '#lib/automations/graph.ts'
import type { Purpose } from '#lib/automations/new_automation.ts'
import { ApiError } from '#lib/errors.ts'
import { type Address, parseAddress } from '#lib/mail/address.ts'
import type { NamedTemplate } from '#sql/automations/definitions/references.ts'
import { findSender } from '#sql/campaigns/start/judge_sender.ts'
import { findOwnDomain } from '#sql/domains/own_domains.ts'
import type { Tx } from '#sql/pool.ts'
import { type References, stepError } from './check_references.ts'

type Enabled = { account_id: string; purpose: Purpose; graph: Graph; references: References }
type SendEmail = GraphStep & { type: 'send_email' }

/**
 * Checks that contacts may enter an automation whose references were checked.
 *
 * @throws {ApiError} 422 with the key of the first step whose email could not be sent
 */
export async function requireEnabled(
  tx: Tx,
  config: CampaignConfig,
  { account_id, purpose, graph, references }: Enabled,
): Promise<void> {
  if (graph.steps.length < 2) {
    throw new ApiError(
      'validation_error',
      'To be enabled, an automation must have a trigger and at least one more step.',
    )
  }
  const checked = new Set<string>()
  for (const step of graph.steps) {
    if (step.type !== 'send_email') continue
    const { domain } = requireContent(step, references.templates)
    if (checked.has(domain)) continue
    checked.add(domain)
    await inStep(step, () => requireMail(tx, config, { account_id, domain, purpose }))
  }
}

/** Returns the sender of an email that has all it needs. @throws {ApiError} 422 */
function requireContent(step: SendEmail, templates: Map<string, NamedTemplate>): Address {
  const { template: named, from, subject, html, text } = step.config
  const template = named && (templates.get(named.id) ?? null)
  if (template && !template.is_published) throw stepError(step, 'Its template is not published.')
  if (!template && !html && !text) throw stepError(step, 'It has no content: give it a `template`, `html` or `text`.')
  if ((subject ?? template?.subject ?? null) === null) {
    throw stepError(step, `It has no \`subject\`${template ? ', and neither has its template' : ''}.`)
  }
  const sender = parseAddress(from ?? template?.sender ?? '')
  if (!sender) throw stepError(step, `It has no \`from\`${template ? ', and neither has its template' : ''}.`)
  return sender
}

type Mail = { account_id: string; domain: string; purpose: Purpose }

async function requireMail(tx: Tx, config: CampaignConfig, { account_id, domain, purpose }: Mail): Promise<void> {
  await requireSender(tx, { account_id, domain }, true)
  const id = await findOwnDomain(tx, account_id, { name: domain })
  if (id === null || purpose === 'transactional') return
  const { transport } = await findSender(tx, account_id, id)
  requirePublicUrl(config, transport)
}

/** Says with an error of which step it is. */
async function inStep(step: SendEmail, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    throw error instanceof ApiError ? stepError(step, error.message) : error
  }
}
