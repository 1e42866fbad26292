import { cancelOtherRecipients } from '#flows/campaigns/stop_campaign.ts'
import type { Task } from './task.ts'

export const cancel_recipients: Task<'cancel_recipients'> = ({ account_id, campaign_id }, { pool }) =>
  cancelOtherRecipients(pool, { account_id, id: campaign_id })
