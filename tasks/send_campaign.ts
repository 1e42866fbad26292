import { sendCampaign } from '#flows/campaigns/sending/send_campaign.ts'
import type { Task } from './task.ts'

export const send_campaign: Task<'send_campaign'> = (campaign, work) => sendCampaign(work, campaign)
