import { readdir } from 'node:fs/promises'
import { z } from 'zod'
import { type Queryable, sql } from './pool.ts'

export const migrationsDirectory = new URL('migrations/', import.meta.url)

/** Names of the migrations this code needs, in order. */
export async function listMigrations(): Promise<string[]> {
  const names = await readdir(migrationsDirectory)
  return names.filter(name => name.endsWith('.sql')).sort()
}

/** Those the database does not have yet: all of them while it is empty. */
export async function listPendingMigrations(db: Queryable): Promise<string[]> {
  const Table = z.object({ exists: z.boolean() })
  const { exists } = await db.one(sql.type(Table)`SELECT to_regclass('migrations') IS NOT NULL AS exists`)
  if (!exists) return listMigrations()
  const applied = await db.any(sql.type(z.object({ name: z.string() }))`SELECT name FROM migrations`)
  const names = new Set(applied.map(row => row.name))
  return (await listMigrations()).filter(name => !names.has(name))
}
