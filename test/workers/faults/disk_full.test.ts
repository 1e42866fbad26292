import t from 'tap'
import { DISK_SETTINGS, fillDisk, openSmallDisk } from '#test/faults/disk_full.ts'
import type { SmallDisk } from '#test/faults/small_disk.ts'
import { Postgres } from '#test/faults/support/postgres.ts'
import { openStage } from '#test/faults/support/stage.ts'
import { passes } from '#test/faults/support/test_stage.ts'

const disk = openSmallDisk()
const skip = disk ? false : 'nothing may be mounted here'

t.test('a full disk loses nothing, and work continues once there is space', { skip }, async t => {
  const { directory, close } = disk as SmallDisk
  t.teardown(close)
  const postgres = await Postgres.create(DISK_SETTINGS, directory)
  t.teardown(() => postgres.close())
  const stage = await openStage(postgres.url)
  t.teardown(() => stage.close())
  passes(t, await fillDisk(stage, postgres, disk as SmallDisk, { fills: 2, seconds: 0.5, connections: 4 }))
})
