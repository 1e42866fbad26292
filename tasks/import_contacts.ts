import type { Task } from './task.ts'

/** Tells the worker's importer that there is a new file. */
export const import_contacts: Task<'import_contacts'> = async ({ import_id }, { importer }) => {
  await importer.offer([import_id])
}
