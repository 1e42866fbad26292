import { removeCampaignsOfDomain } from '#flows/campaigns/remove_campaigns.ts'
import { removeLeftovers } from '#flows/contacts/remove_leftovers.ts'
import type { Task } from './task.ts'

export const remove_leftovers: Task<'remove_leftovers'> = async (deleted, { pool }) => {
  if (deleted.of === 'domain') await removeCampaignsOfDomain(pool, deleted)
  await removeLeftovers(pool, deleted)
}
