import { validate as isUuid } from 'uuid'
import { DOUBT_ACTIONS, decideDoubts } from '#flows/delivery/decide_doubts.ts'
import { findAccountOfCampaign } from '#sql/campaigns/sending/runs.ts'
import { type Command, changes, UsageError } from './values.ts'

export const campaignCommands: Record<string, Command> = {
  'campaign in-doubt': changes(2, [], async ({ pool }, _values, [campaign_id, word]) => {
    if (!campaign_id || !isUuid(campaign_id)) throw new UsageError('Which campaign? It is given by its id.')
    const action = DOUBT_ACTIONS.find(known => known === word)
    if (!action) throw new UsageError(`Which action: ${DOUBT_ACTIONS.join(', ')}?`)
    const account_id = await findAccountOfCampaign(pool, campaign_id)
    if (!account_id) throw new UsageError(`There is no campaign ${campaign_id}.`)
    console.log(await decideDoubts(pool, { account_id, campaign_id }, action))
    return { account_id, target: `${campaign_id} ${action}` }
  }),
}
