import { refuseUsed } from '#flows/domains/removal/refuse_used.ts'
import { announce } from '#flows/webhooks/announce.ts'
import { notFound, orNotFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { refuseDeletedDomain, refuseDuplicate } from '#sql/retry.ts'
import {
  deleteTopic,
  insertTopic,
  lockTopic,
  type NewTopicRow,
  type Topic,
  type TopicFields,
  updateTopic,
} from '#sql/topics/topics.ts'

const NAME_TAKEN = '`name` is used by another topic.'

/** Adds a topic. @throws {ApiError} 404 for the domain; 409 if the account has a topic of this name */
export async function createTopic(pool: Pool, topic: Omit<NewTopicRow, 'id'>): Promise<Topic> {
  const { account_id } = topic
  const created = pool.transaction(async tx => {
    const row = await insertTopic(tx, { ...topic, id: newId() })
    await announceTopic(tx, account_id, 'topic.created', row)
    return row
  })
  return created.catch(refuseDeletedDomain).catch(refuseDuplicate(NAME_TAKEN))
}

/** Changes the given fields of a topic. @throws {ApiError} 404; 409 if the account has another topic of this name */
export async function changeTopic(pool: Pool, account_id: string, id: string, fields: TopicFields): Promise<void> {
  const changed = pool.transaction(async tx => {
    const row = orNotFound('Topic', await updateTopic(tx, account_id, id, fields))
    await announceTopic(tx, account_id, 'topic.updated', row)
  })
  await changed.catch(refuseDuplicate(NAME_TAKEN))
}

/** Deletes a topic at once; a job removes the choices of contacts about it. @throws {ApiError} 404; 422 if a campaign or an enabled automation uses it */
export async function removeTopic(pool: Pool, account_id: string, id: string): Promise<void> {
  await pool.transaction(async tx => {
    await lockTopic(tx, account_id, id)
    await refuseUsed(tx, account_id, 'topic', id)
    const row = await deleteTopic(tx, account_id, id)
    if (!row) throw notFound('Topic')
    await addJob(tx, 'remove_leftovers', { account_id, of: 'topic', id })
    await announceTopic(tx, account_id, 'topic.deleted', row)
  })
}

type TopicEventType = 'topic.created' | 'topic.updated' | 'topic.deleted'

async function announceTopic(tx: Tx, account_id: string, type: TopicEventType, topic: Topic): Promise<void> {
  // `deleted`: as in Resend's topic events.
  await announce(tx, [{ account_id, type, data: () => ({ ...topic, deleted: type === 'topic.deleted' }) }])
}
