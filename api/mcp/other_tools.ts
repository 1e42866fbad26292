import { OFFSET } from './shown_result.ts'
import { type Tool, toolOf, type Values } from './tool.ts'

const reads = { readOnlyHint: true }

const create = toolOf({
  name: 'save_template',
  operation: 'createTemplate',
  title: 'Save a template as a draft',
  description:
    'Creates a template, or changes the template of `id`. Emails use the change only once a person publishes it.',
  hints: { destructiveHint: false },
  more: { id: { type: 'string', description: 'Id or alias of the template to change.' } },
})

const change = toolOf({ name: 'change', operation: 'updateTemplate', title: '', hints: {} })

const saveTemplate: Tool = {
  ...create,
  input: { ...create.input, required: [] },
  run: (ctx, values: Values) => ((values.id ?? null) === null ? create : change).run(ctx, values),
}

export const otherTools: Tool[] = [
  toolOf({
    name: 'list_domains',
    operation: 'listDomains',
    title: 'List domains',
    hints: reads,
    only: ['limit', 'after'],
  }),
  toolOf({ name: 'get_domain', operation: 'getDomain', title: 'Get a domain with its DNS records', hints: reads }),
  toolOf({
    name: 'list_templates',
    operation: 'listTemplates',
    title: 'List templates',
    hints: reads,
    only: ['limit', 'after', 'status', 'q'],
  }),
  toolOf({
    name: 'render_template',
    operation: 'renderTemplate',
    title: 'Render a template',
    hints: reads,
    more: OFFSET,
  }),
  saveTemplate,
  toolOf({
    name: 'find_contacts',
    operation: 'listContacts',
    title: 'Find contacts',
    hints: reads,
  }),
  toolOf({
    name: 'save_contact',
    operation: 'createContact',
    title: 'Save a contact',
    hints: { destructiveHint: false, idempotentHint: true },
  }),
  toolOf({
    name: 'list_segments',
    operation: 'listSegments',
    title: 'List segments',
    hints: reads,
    only: ['limit', 'after', 'domain'],
  }),
  toolOf({
    name: 'create_campaign',
    operation: 'createCampaign',
    title: 'Create a campaign as a draft',
    description: 'Creates a draft. A person sends it.',
    hints: { destructiveHint: false },
    only: 'name from subject preview_text html text template_id audience_id segment_id topic_id reply_to domain'.split(
      ' ',
    ),
  }),
  toolOf({
    name: 'get_campaign_report',
    operation: 'getCampaignStats',
    title: 'Get the report of a campaign',
    hints: reads,
    only: ['id'],
  }),
  toolOf({
    name: 'send_event',
    operation: 'sendEvent',
    title: 'Send an event for a contact',
    description: 'Records something that a contact did. This may start automations, which send email.',
    hints: { destructiveHint: true },
  }),
]
