import { retryConflicts } from '#sql/retry.ts'
import { judgeEarlyClicks } from '#sql/tracking/hits.ts'
import type { Task } from './task.ts'

export const judge_early_clicks: Task<'judge_early_clicks'> = ({ deliveries }, { pool }) =>
  retryConflicts(() => judgeEarlyClicks(pool, deliveries))
