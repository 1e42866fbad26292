import { z } from 'zod'
import { listOf } from '#api/operations/answers.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { requireDomain } from '#flows/contacts/contact_domain.ts'
import { orNotFound } from '#lib/errors.ts'
import { ListedPoll, Poll } from '#sql/polls/poll_records.ts'
import { findPoll, listPolls } from '#sql/polls/polls.ts'

const filters = {
  campaign_id: z.guid().toLowerCase().optional().describe('Only the poll of this campaign, by its id.'),
  automation_id: z.guid().toLowerCase().optional().describe('Only polls of the steps of this automation, by its id.'),
  domain: z.string().optional().describe('Only polls in mail from this domain, by its name or id.'),
}

export const polls = [
  operation('GET /polls', {
    id: 'listPolls',
    access: 'full',
    summary: 'List polls, newest first',
    description:
      'A poll is created together with the email, campaign or step of an automation that asks it. Polls of test emails are left out.',
    query: wholeQuery(filters),
    answers: { 200: listOf(ListedPoll) },
  }).handle(async (ctx, { account_id, query }) => {
    const { position, filters } = query()
    const { domain, campaign_id, automation_id } = filters
    const domain_id =
      domain === undefined ? undefined : await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    return listPolls(ctx.pool, account_id, { campaign_id, automation_id, domain_id }, position)
  }),

  operation('GET /polls/:id', {
    id: 'getPoll',
    access: 'full',
    params: { id: uuidParam('Poll') },
    summary: 'Get a poll with its answers',
    description: 'The id is that of the poll, or of the email or campaign that asks it.',
    answers: { 200: Poll },
  }).handle(async (ctx, { account_id, params: { id } }) =>
    orNotFound('Poll', await findPoll(ctx.pool, account_id, id)),
  ),
]
