import { countSegment } from '#flows/segments/count_segment.ts'
import type { Task } from './task.ts'

export const count_segment: Task<'count_segment'> = ({ account_id, id }, { pool }) => countSegment(pool, account_id, id)
